package dataset

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/bellwether-compute/bellwether/jobs"
)

// linePlan is the data of a plan whose partitions have a number of lines.
type linePlan struct {
	Listing []byte `cbor:"1,keyasint"`
	Sizes   []byte `cbor:"2,keyasint"` // for each object the number of its partitions, and their sizes in bytes
}

// maxCounted is the largest number of partitions of a number of lines. The limit is needed because a plan
// contains the size of each of these partitions.
const maxCounted = 10_000_000

func encodeSizes(sizes [][]int64) (b []byte) {
	for _, list := range sizes {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, size := range list {
			b = binary.AppendUvarint(b, uint64(size))
		}
	}
	return b
}

var errSizes = errors.New("damaged sizes of partitions")

// decodeSizes decodes the sizes of the partitions of a listing's objects.
func decodeSizes(b []byte, l listing) (sizes [][]int64, err error) {
	r := listingReader{rest: b}
	for _, o := range l {
		list := make([]int64, r.number(uint64(len(r.rest))))
		left := o.Size
		for i := range list {
			list[i] = int64(r.number(uint64(left)))
			left -= list[i]
		}
		if r.bad || left != 0 {
			return nil, errSizes
		}
		sizes = append(sizes, list)
	}
	if len(r.rest) > 0 {
		return nil, errSizes
	}
	return sizes, nil
}

// lineSizes reads the objects of a listing and returns the sizes in bytes of the partitions of n lines.
func (r reader) lineSizes(ctx context.Context, l listing, n uint64) (sizes [][]int64, err error) {
	read := &ahead{transfers: newTransfers(r)}
	defer read.close()
	count := 0
	for _, o := range l {
		if compressionOf(o.Name) != plain {
			return nil, jobs.Permanent(fmt.Errorf("%s is compressed, so a partition of a number of lines would read all lines before it too: decompress the object, or cut it by bytes", o.Name))
		}
		c := lineCounter{n: n, room: maxCounted - count}
		err := read.each(ctx, o, 0, o.Size, nil, c.add)
		if err == nil && c.size > 0 {
			err = c.end()
		}
		if err != nil {
			return nil, err
		}
		sizes, count = append(sizes, c.sizes), count+len(c.sizes)
	}
	return sizes, nil
}

// lineCounter finds the partitions of n lines of an object.
type lineCounter struct {
	n     uint64
	room  int // number of partitions that the object may have
	lines uint64
	size  int64 // bytes since the last partition
	sizes []int64
}

func (c *lineCounter) add(data []byte) error {
	for len(data) > 0 {
		newline := bytes.IndexByte(data, '\n')
		if newline < 0 {
			c.size += int64(len(data))
			return nil
		}
		c.size += int64(newline + 1)
		data = data[newline+1:]
		if c.lines++; c.lines == c.n {
			if err := c.end(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *lineCounter) end() error {
	if len(c.sizes) == c.room {
		return jobs.Permanent(fmt.Errorf("the input has more than %d partitions of %d lines: want more lines in each", maxCounted, c.n))
	}
	c.sizes, c.size, c.lines = append(c.sizes, c.size), 0, 0
	return nil
}
