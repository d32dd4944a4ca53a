package dataset

import (
	"context"
	"errors"
	"io"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
)

// headersInFlight is the maximum number of objects whose beginnings are read at the same time.
const headersInFlight = 16

// bgzipObjects returns the indices of the objects of bgzip that are larger than a block, which can be cut. It reads the header of
// each such object whose name ends in .gz.
func (r reader) bgzipObjects(ctx context.Context, in Input, f format, l listing) ([]uint64, error) {
	if in.isUTF16() || f == parquetFormat || f == avroFormat {
		return nil, nil
	}
	is := make([]bool, len(l))
	group, loading := errgroup.WithContext(ctx)
	group.SetLimit(headersInFlight)
	for i, o := range l {
		if o.Size <= in.Block || compressionOf(o.Name) != gzip || loading.Err() != nil {
			continue
		}
		group.Go(func() (err error) {
			is[i], err = r.isBgzip(loading, o)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var list []uint64
	for i := range is {
		if is[i] {
			list = append(list, uint64(i))
		}
	}
	return list, nil
}

func (r reader) isBgzip(ctx context.Context, o source.Object) (bool, error) {
	header := make([]byte, min(memberHeader, o.Size))
	stream := r.open(ctx, o, 0, int64(len(header)))
	defer stream.Close()
	if _, err := io.ReadFull(stream, header); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, err
	}
	return memberSize(header) > 0, nil
}

// isCut reports whether an object of a listing, given by its index, may be cut into ranges.
func isCut(l listing, i int, bgzip []uint64) bool {
	if compressionOf(l[i].Name) == plain {
		return true
	}
	_, found := slices.BinarySearch(bgzip, uint64(i))
	return found
}
