package dataset

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/bellwether-compute/bellwether/jobs"
)

// Splitter is an optional interface of an accumulator of type A that contains a large slice of
// bytes. The slice is encoded and decoded without copying it, unlike the fields of other
// accumulators.
type Splitter[A any] interface {
	// Split returns an accumulator without the slice, and the slice. The receiver keeps the slice.
	Split() (rest A, large []byte, err error)
	// Join adds the slice to an accumulator that Split has returned.
	Join(large []byte)
}

// codec encodes partials whose accumulators are Splitters. The encoding consists of the large
// slices, of their number and their lengths, of the partial without them, and of the size of all
// large slices in 8 bytes.
type codec[A any] struct{ inner jobs.Codec[Partial[A]] }

var _ jobs.InPlaceCodec[Partial[int]] = codec[int]{}

var errCodec = errors.New("damaged partial")

// newCodec returns nil, which means the default codec, if accumulators are not Splitters.
func newCodec[A any]() jobs.Codec[Partial[A]] {
	var acc A
	if _, ok := any(acc).(Splitter[A]); ok {
		return codec[A]{jobs.CBOR[Partial[A]]()}
	}
	return nil
}

// Encode encodes a partial without changing it.
func (c codec[A]) Encode(p Partial[A]) ([]byte, error) { return c.encode(p, false) }

// EncodeInPlace appends the other data to the first large slice.
func (c codec[A]) EncodeInPlace(p Partial[A]) ([]byte, error) { return c.encode(p, true) }

func (c codec[A]) encode(p Partial[A], inPlace bool) ([]byte, error) {
	var data, lengths []byte
	count := uint64(0)
	p.Readings = slices.Clone(p.Readings)
	for i := range p.Readings {
		accs := slices.Clone(p.Readings[i].Accs)
		p.Readings[i].Accs = accs
		for j := range accs {
			rest, large, err := any(accs[j]).(Splitter[A]).Split()
			if err != nil {
				return nil, err
			}
			if inPlace && len(data) == 0 {
				data = large
			} else {
				data = append(data, large...)
			}
			accs[j], lengths = rest, binary.AppendUvarint(lengths, uint64(len(large)))
			count++
		}
	}
	rest, err := c.inner.Encode(p)
	if err != nil {
		return nil, err
	}
	size := uint64(len(data))
	data = slices.Grow(data, binary.MaxVarintLen64+len(lengths)+len(rest)+8)
	data = append(append(binary.AppendUvarint(data, count), lengths...), rest...)
	return binary.LittleEndian.AppendUint64(data, size), nil
}

// Decode decodes a copy of the data.
func (c codec[A]) Decode(data []byte) (Partial[A], error) { return c.DecodeInPlace(slices.Clone(data)) }

// DecodeInPlace returns a partial that uses the memory of the data for the large slices.
func (c codec[A]) DecodeInPlace(data []byte) (p Partial[A], err error) {
	if len(data) < 8 {
		return p, errCodec
	}
	end := len(data) - 8
	size := binary.LittleEndian.Uint64(data[end:])
	if size > uint64(end) {
		return p, errCodec
	}
	larges, rest := data[:size], data[size:end]
	number := func() uint64 {
		n, used := binary.Uvarint(rest)
		if used <= 0 {
			err = errCodec
			return 0
		}
		rest = rest[used:]
		return n
	}
	var list [][]byte
	for range min(number(), uint64(len(rest))) {
		n := number()
		if n > uint64(len(larges)) {
			return p, errCodec
		}
		list, larges = append(list, larges[:n:n]), larges[n:]
	}
	if err != nil || len(larges) > 0 {
		return p, errCodec
	}
	if p, err = c.inner.Decode(rest); err != nil {
		return p, err
	}
	for _, r := range p.Readings {
		for _, acc := range r.Accs {
			if len(list) == 0 {
				return p, errCodec
			}
			any(acc).(Splitter[A]).Join(list[0])
			list = list[1:]
		}
	}
	if len(list) > 0 {
		return p, errCodec
	}
	return p, nil
}
