package jobs

import (
	"fmt"
	"slices"
	"unsafe"
)

// InPlaceCodec is an optional interface of a [Codec] that encodes and decodes a large partial
// without copying it. The methods EncodeInPlace and DecodeInPlace may return memory that the
// argument shares, and so they transfer the ownership of that memory:
//
//   - After EncodeInPlace the caller must not use the value again. The encoded bytes may be
//     read by several goroutines, and must not be changed while another goroutine reads them.
//   - After DecodeInPlace the caller must not use the bytes again, because Merge may change
//     the value. The caller must have been the only owner of the bytes: they must not be
//     in a report that may be sent again, in a cache or mapped read-only.
type InPlaceCodec[T any] interface {
	Codec[T]
	EncodeInPlace(value T) ([]byte, error)
	DecodeInPlace(data []byte) (T, error)
}

// Raw is the codec of partials that are bytes. Raw does not change the bytes. A nil slice and an
// empty slice have the same encoding, which is decoded as nil.
type Raw = Vector[byte]

// FixedSize lists the number types whose size is the same on every machine.
type FixedSize interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// Vector is the codec of partials that are slices of numbers. The encoding is the numbers' memory
// in little-endian order, without a header. NaNs keep their bits. A nil slice and an empty slice
// have the same encoding, which is decoded as nil.
//
// Vector is also the [Sharder] of partials whose Merge works element by element.
//
// Vector is an [InPlaceCodec]. On a little-endian machine EncodeInPlace never copies, and
// DecodeInPlace copies only bytes whose address is not a multiple of the size of a number.
type Vector[E FixedSize] struct{}

var _ InPlaceCodec[[]float64] = Vector[float64]{}

// Encode returns a copy of the numbers' memory.
func (v Vector[E]) Encode(value []E) ([]byte, error) {
	data := make([]byte, len(memory(value)))
	copyPieces(data, memory(value))
	return littleEndian[E](data), nil
}

// EncodeInPlace returns the numbers' memory.
func (v Vector[E]) EncodeInPlace(value []E) ([]byte, error) {
	return littleEndian[E](memory(value)), nil
}

// Decode returns a copy of data as numbers.
func (v Vector[E]) Decode(data []byte) ([]E, error) {
	if err := v.check(data); err != nil {
		return nil, err
	}
	value := make([]E, len(data)/v.size())
	copyPieces(memory(value), data)
	littleEndian[E](memory(value))
	return orNil(value), nil
}

// DecodeInPlace returns the memory of data as numbers. If data is not aligned to the size of a
// number, DecodeInPlace copies it.
func (v Vector[E]) DecodeInPlace(data []byte) ([]E, error) {
	if err := v.check(data); err != nil {
		return nil, err
	}
	var number E
	start := unsafe.Pointer(unsafe.SliceData(data))
	if uintptr(start)%unsafe.Alignof(number) != 0 {
		return v.Decode(data)
	}
	littleEndian[E](data)
	return orNil(unsafe.Slice((*E)(start), len(data)/v.size())), nil
}

var _ Sharder[[]float64] = Vector[float64]{}

// Split implements [Sharder]. It returns ranges of about the same length, and copies nothing.
func (Vector[E]) Split(partial []E, n int) (shards [][]E) {
	at := func(i int) int { return len(partial)/n*i + len(partial)%n*i/n } // does not overflow
	for i := range n {
		shards = append(shards, partial[at(i):at(i+1):at(i+1)])
	}
	return shards
}

// Join implements [Sharder]. If the shards are the ranges of left, Join returns left.
func (Vector[E]) Join(left []E, shards [][]E) []E {
	length, inPlace := 0, true
	for _, shard := range shards {
		inPlace = inPlace && (len(shard) == 0 || length < len(left) && &shard[0] == &left[length])
		length += len(shard)
	}
	if inPlace && length == len(left) {
		return left
	}
	joined := make([]E, length)
	rest := memory(joined)
	for _, shard := range shards {
		copyPieces(rest, memory(shard))
		rest = rest[len(memory(shard)):]
	}
	return joined
}

// Size implements [Sharder].
func (Vector[E]) Size(partial []E) int64 { return int64(len(memory(partial))) }

// aliases marks codecs whose DecodeInPlace copies nothing, so that the decoded partial uses the memory of the
// encoded data.
func (Vector[E]) aliases() {}

// copyPieces copies a large value piece by piece, because the Go runtime cannot interrupt a
// goroutine while it copies.
func copyPieces(to, from []byte) {
	for piece := range slices.Chunk(from, 1<<20) {
		to = to[copy(to, piece):]
	}
}

func (Vector[E]) size() int {
	var number E
	return int(unsafe.Sizeof(number))
}

func (v Vector[E]) check(data []byte) error {
	if len(data)%v.size() != 0 {
		var number E
		return fmt.Errorf("decode vector of %T: %d bytes: want a multiple of %d", number, len(data), v.size())
	}
	return nil
}

func orNil[E any](value []E) []E {
	if len(value) == 0 {
		return nil
	}
	return value
}

// memory returns the memory of a slice of numbers as bytes.
func memory[E FixedSize](value []E) []byte {
	var number E
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(value))), len(value)*int(unsafe.Sizeof(number)))
}

var bigEndian = func() bool {
	number := uint16(1)
	return *(*byte)(unsafe.Pointer(&number)) == 0
}()

// littleEndian converts the bytes of numbers between the machine's byte order and little-endian
// order, in place, and returns them.
func littleEndian[E FixedSize](data []byte) []byte {
	if bigEndian {
		var number E
		reverse(data, int(unsafe.Sizeof(number)))
	}
	return data
}

// reverse reverses the bytes of each number of the given size.
func reverse(data []byte, size int) {
	for number := range slices.Chunk(data, size) {
		slices.Reverse(number)
	}
}
