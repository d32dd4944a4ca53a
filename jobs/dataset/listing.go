package dataset

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	zstdlib "github.com/klauspost/compress/zstd"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
)

// listing is the list of a dataset's objects, sorted by name.
type listing []source.Object

// checkInput is the advice of the errors for a listing without objects.
const checkInput = "check the parameter input, and that the workers see the same files"

// list lists the objects of an input, without those that a job skips, which may be all. An object that matches several patterns occurs only once in
// the list.
func list(ctx context.Context, from source.Lister, in Input, prune *pruner) (l listing, err error) {
	for _, pattern := range in.patterns() {
		matches, err := listPattern(ctx, from, pattern, prune)
		if errors.Is(err, source.ErrNotFound) {
			err = fmt.Errorf("%w: %s", err, checkInput)
		}
		if err != nil {
			err = fmt.Errorf("list %s: %w", pattern, err)
			if refused(err) {
				err = jobs.Permanent(err)
			}
			return nil, err
		}
		if l = append(l, matches...); len(matches) == 0 {
			if prune.left() {
				continue
			}
			return nil, fmt.Errorf("no object matches %q: %s", pattern, checkInput)
		}
	}
	slices.SortFunc(l, func(a, b source.Object) int { return cmp.Compare(a.Name, b.Name) })
	l = slices.CompactFunc(l, func(a, b source.Object) bool { return a.Name == b.Name })
	return l, l.checkNames(from)
}

// refused reports whether a source refuses what a job asks for. Every worker of the cluster would refuse it.
func refused(err error) bool {
	return errors.Is(err, source.ErrDenied) || errors.Is(err, source.ErrUnsupported)
}

// listRetries is the maximum number of retries of a listing. It is small, because a plan that fails
// is retried too.
const listRetries = 3

// listPattern lists the objects that match a pattern. If the storage is unavailable or throttles
// requests, listPattern retries.
func listPattern(ctx context.Context, from source.Lister, pattern string, prune *pruner) (l listing, err error) {
	for failed := 0; ; failed++ {
		l, err = nil, nil
		for o, listErr := range prune.list(ctx, from, pattern) {
			if err = listErr; err != nil {
				break
			}
			l = append(l, o)
		}
		if failed == listRetries || !errors.Is(err, source.ErrUnavailable) {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(firstPause << failed):
		}
	}
}

// checkNames returns an error if an object is in the listing twice, under the names of two sources.
func (l listing) checkNames(from source.Lister) error {
	namer, ok := from.(source.Namer)
	scheme := func(o source.Object) string {
		before, _, _ := strings.Cut(o.Name, "://")
		return before
	}
	if !ok || !slices.ContainsFunc(l, func(o source.Object) bool { return scheme(o) != scheme(l[0]) }) {
		return nil
	}
	names := map[string]string{}
	for _, o := range l {
		canonical := namer.Canonical(o.Name)
		if other, twice := names[canonical]; twice {
			return fmt.Errorf("the parameter input names an object twice, as %s and %s: want one of these", other, o.Name)
		}
		names[canonical] = o.Name
	}
	return nil
}

// encode returns the listing in a compact form. It stores each name without the prefix that the
// name shares with the previous one, and compresses the result. The listing of a million blobs
// takes about 20 MB.
func (l listing) encode() []byte {
	b := binary.AppendUvarint(nil, uint64(len(l)))
	last := ""
	for _, o := range l {
		shared := 0
		for shared < len(last) && shared < len(o.Name) && last[shared] == o.Name[shared] {
			shared++
		}
		b = binary.AppendUvarint(b, uint64(shared))
		b = appendString(b, o.Name[shared:])
		b = binary.AppendUvarint(b, uint64(o.Size))
		b = appendString(b, o.Tag)
		last = o.Name
	}
	return zstdEncoder().EncodeAll(b, nil)
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

var errListing = errors.New("damaged listing")

const (
	maxListing = 4 << 30 // maximum size in bytes of an encoded listing before compression

	// A zstd frame decodes to at most maxExpansion times its size: a block of at most 128 KiB takes
	// at least 4 bytes (RFC 8878, section 3.1.1.2).
	maxExpansion = 128 << 10 / 4
)

// decodeListing decodes the output of encode. It allocates memory only after it has checked the
// size in the header of the frame, because a damaged size could be of many gigabytes.
func decodeListing(data []byte) (listing, error) {
	var header zstdlib.Header
	if err := header.Decode(data); err != nil || header.FrameContentSize > min(maxListing, maxExpansion*uint64(len(data))) {
		return nil, errListing
	}
	size := max(header.FrameContentSize, 255) // the header of a smaller frame may contain no size
	b, err := zstdDecoder().DecodeAll(data, make([]byte, 0, size))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errListing, err)
	}
	r := listingReader{rest: b}
	count := r.number(uint64(len(b) / 4)) // an object takes at least 4 bytes
	l := make(listing, 0, count)
	last := ""
	for range count {
		shared := r.number(uint64(len(last)))
		name := last[:shared] + r.text()
		o := source.Object{Name: name, Size: int64(r.number(1<<63 - 1)), Tag: r.text()}
		if r.bad || len(l) > 0 && name <= last {
			return nil, errListing
		}
		l, last = append(l, o), name
	}
	if r.bad || len(r.rest) > 0 {
		return nil, errListing
	}
	return l, nil
}

// listingReader reads numbers and texts. After the first invalid value it sets bad and returns zero
// values.
type listingReader struct {
	rest []byte
	bad  bool
}

// number reads a number. A number above most is invalid.
func (r *listingReader) number(most uint64) uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || n > most || r.bad {
		r.bad = true
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *listingReader) text() string {
	n := r.number(uint64(len(r.rest)))
	if n > uint64(len(r.rest)) {
		r.bad = true
		return ""
	}
	text := string(r.rest[:n])
	r.rest = r.rest[n:]
	return text
}

// The errors of the constructors are ignored, because the options are valid.
var (
	zstdEncoder = sync.OnceValue(func() *zstdlib.Encoder {
		e, _ := zstdlib.NewWriter(nil, zstdlib.WithEncoderConcurrency(1))
		return e
	})
	zstdDecoder = sync.OnceValue(func() *zstdlib.Decoder {
		d, _ := zstdlib.NewReader(nil, zstdlib.WithDecoderConcurrency(1), zstdlib.WithDecodeAllCapLimit(true))
		return d
	})
)
