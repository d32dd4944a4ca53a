package jetstream

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/fxamacker/cbor/v2"

	"github.com/bellwether-compute/bellwether/jobs/internal/record"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// The first byte of a stored value is the format of the remaining bytes.
const (
	valueInline  = 1 // the remaining bytes are the value
	valuePointer = 2 // the remaining bytes are a pointer in CBOR
)

// pointer contains the name and the sizes of the chunks of a large value.
type pointer struct {
	Name   string            `cbor:"1,keyasint"` // name in the subjects of the chunks
	Size   uint64            `cbor:"2,keyasint"` // size of the value in bytes
	Chunk  uint64            `cbor:"3,keyasint"` // size in bytes of each chunk except the last
	SHA256 [sha256.Size]byte `cbor:"4,keyasint"`
}

func (p pointer) chunks() int { return int((p.Size + p.Chunk - 1) / p.Chunk) }

func (p pointer) bounds(i int) (lo, hi uint64) {
	lo = uint64(i) * p.Chunk
	return lo, min(lo+p.Chunk, p.Size)
}

// maxLarge is the largest size of a value in bytes. maxLarge bounds the memory that a reader
// allocates because of a damaged pointer.
const maxLarge = 16 << 30

var chunkName = regexp.MustCompile(`^[0-9A-Za-z]{22}$`)

// appendInline appends the stored form of a small value.
func appendInline(b, value []byte) []byte { return append(append(b, valueInline), value...) }

// pointerFormat encodes pointers.
var pointerFormat = record.New(valuePointer, cbor.CoreDetEncOptions(), record.Strict(32, 32))

func encodePointer(p pointer) []byte { return pointerFormat.Encode(p) }

func decodeValue(data []byte) ([]byte, *pointer, error) {
	if len(data) == 0 {
		return nil, nil, fmt.Errorf("%w: it is empty", store.ErrCorrupt)
	}
	switch data[0] {
	case valueInline:
		return data[1:], nil, nil
	case valuePointer:
		var p pointer
		if err := pointerFormat.Decode(data, &p); err != nil {
			return nil, nil, fmt.Errorf("%w: pointer: %w", store.ErrCorrupt, err)
		}
		if !chunkName.MatchString(p.Name) || p.Chunk == 0 || p.Size == 0 || p.Size > maxLarge || p.Chunk > p.Size {
			return nil, nil, fmt.Errorf("%w: pointer to %d bytes in chunks of %d under %q", store.ErrCorrupt, p.Size, p.Chunk, p.Name)
		}
		return nil, &p, nil
	default:
		return nil, nil, fmt.Errorf("%w: it begins with %d", store.ErrCorrupt, data[0])
	}
}

// makeVersion joins a revision and the name of the chunks of a large value.
func makeVersion(revision uint64, large *pointer) store.Version {
	v := strconv.FormatUint(revision, 10)
	if large != nil {
		v += "." + large.Name
	}
	return store.Version(v)
}

func parseVersion(v store.Version) (revision uint64, large string, ok bool) {
	digits, large, isLarge := strings.Cut(string(v), ".")
	revision, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || revision == 0 || isLarge != chunkName.MatchString(large) {
		return 0, "", false
	}
	return revision, large, true
}
