package kept

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/internal/record"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

const (
	indexes = "kept/"
	packs   = "packs/"
)

// indexKey returns the key of the index of a pack. A family takes 32 hexadecimal digits of its key.
func indexKey(family, id string) string { return indexes + family + "/" + id }

func familyName(family engine.Key) string { return fmt.Sprintf("%x", family[:16]) }

// parseIndexKey returns the family and the ID in the key of an index.
func parseIndexKey(key string) (family, id string, ok bool) {
	family, id, ok = strings.Cut(strings.TrimPrefix(key, indexes), "/")
	return family, id, ok && store.ValidID(id)
}

// indexRecord is the stored form of the index of a pack.
type indexRecord struct {
	Job     string `cbor:"1,keyasint"`
	Version string `cbor:"2,keyasint"` // version of the job's definition
	Origin  string `cbor:"3,keyasint"` // ID of the job that has kept the pack
	Used    int64  `cbor:"4,keyasint"` // time of the last use, in seconds since 1970
	Bytes   uint64 `cbor:"5,keyasint"` // size of the pack
	Sum     []byte `cbor:"6,keyasint"` // SHA-256 of the pack
	Entries []byte `cbor:"7,keyasint"` // entries of the pack, in order: see appendEntry
	Count   uint64 `cbor:"8,keyasint"` // number of entries
}

// errNewer is the error for an index that a later version of this program has written.
var errNewer = errors.New("written by a later version")

const formatVersion = 1

var format = record.New(formatVersion, cbor.CoreDetEncOptions(), record.Strict(16, 16))

// encode returns the stored form of an index. It ends in its SHA-256, because a wrong length of an entry would
// give wrong bytes.
func (r indexRecord) encode() []byte {
	data := format.Encode(r)
	sum := engine.Digest(data)
	return append(data, sum[:]...)
}

func decodeIndex(data []byte) (r indexRecord, err error) {
	end := max(0, len(data)-len(engine.SHA256{}))
	sum := engine.Digest(data[:end])
	if !bytes.Equal(sum[:], data[end:]) && (len(data) == 0 || data[0] == formatVersion) {
		return r, fmt.Errorf("%w: the digest of the index is another one", store.ErrCorrupt)
	}
	err = format.Decode(data[:end], &r)
	if _, newer := errors.AsType[*record.VersionError](err); newer {
		return r, fmt.Errorf("%w: %w", errNewer, err)
	}
	if err != nil {
		return r, fmt.Errorf("%w: %w", store.ErrCorrupt, err)
	}
	if len(r.Sum) != len(engine.SHA256{}) || max(r.Bytes, uint64(len(r.Entries))) > maxPack || r.Count > r.Bytes/uint64(keySize) {
		return r, fmt.Errorf("%w: index of a pack of %d bytes", store.ErrCorrupt, r.Bytes)
	}
	return r, nil
}

const (
	keySize = len(engine.Key{})
	maxPack = 1 << 31 // most bytes of a pack and of its entries, so that offsets are of 32 bits
)

// prefix is the beginning of a key. The pack has the whole key.
type prefix [16]byte

func prefixOf(key engine.Key) prefix { return prefix(key[:16]) }

// entry describes a partial in a pack.
type entry struct {
	prefix     prefix
	pack       uint32 // index of the pack in Partials.packs; only in what an index returns
	offset     uint32 // offset of the key in the pack; the partial follows
	length     uint32 // size of the partial
	partitions uint64
	work       time.Duration
}

// appendEntry appends the stored form of an entry. The offset is the sum of the lengths before it.
func appendEntry(b []byte, e entry) []byte {
	b = append(b, e.prefix[:]...)
	b = binary.AppendUvarint(b, uint64(e.length))
	b = binary.AppendUvarint(b, e.partitions)
	return binary.AppendUvarint(b, uint64(e.work.Microseconds()))
}

var errEntries = errors.New("the entries do not describe the pack")

// readEntry reads the stored form of an entry, without its offset, and returns the bytes behind it. If the form is damaged,
// the entry has no partitions.
func readEntry(b []byte) (e entry, rest []byte) {
	if len(b) < len(e.prefix) {
		return entry{}, nil
	}
	rest = b[copy(e.prefix[:], b):]
	var numbers [3]uint64
	for i := range numbers {
		n, size := binary.Uvarint(rest)
		if size <= 0 {
			return entry{}, nil
		}
		numbers[i], rest = n, rest[size:]
	}
	if numbers[0] > maxPack {
		return entry{}, nil
	}
	e.length, e.partitions, e.work = uint32(numbers[0]), numbers[1], time.Duration(numbers[2])*time.Microsecond
	return e, rest
}

// eachEntry calls do with the entries of an index and their positions in Entries.
func (r indexRecord) eachEntry(do func(at int, e entry)) error {
	b, offset := r.Entries, uint64(0)
	for range r.Count {
		e, rest := readEntry(b)
		end := offset + uint64(keySize) + uint64(e.length)
		if e.partitions == 0 || end > r.Bytes {
			return fmt.Errorf("%w: %w", store.ErrCorrupt, errEntries)
		}
		e.offset = uint32(offset)
		do(len(r.Entries)-len(b), e)
		b, offset = rest, end
	}
	if len(b) > 0 || offset != r.Bytes {
		return fmt.Errorf("%w: %w", store.ErrCorrupt, errEntries)
	}
	return nil
}
