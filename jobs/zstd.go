package jobs

import (
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Zstd returns a codec that compresses the output of the inner codec. A nil inner codec means the
// default codec. Compression saves time if storage or the network is slower than about 300 MB/s per
// core and the encoded partials contain repetition. Random floats cannot be compressed.
//
// The level is fixed, so the same value has the same encoding in all processes of one build.
// Another version of the compression library may produce other bytes, which decode to the same
// value.
func Zstd[T any](inner Codec[T]) Codec[T] {
	if inner != nil {
		return zstdCodec[T]{inner: inner}
	}
	codec, err := newCBORCodec[T]()
	return zstdCodec[T]{codec, err}
}

type zstdCodec[T any] struct {
	inner Codec[T]
	err   error // error for a type T that the default codec cannot encode
}

// check returns the error that New reports for a definition with this codec.
func (c zstdCodec[T]) check() error { return c.err }

func (c zstdCodec[T]) Encode(value T) ([]byte, error) {
	data, err := c.inner.Encode(value)
	return compress(data, err)
}

func (c zstdCodec[T]) EncodeInPlace(value T) ([]byte, error) {
	return compress(encodeInPlace(c.inner, value))
}

func (c zstdCodec[T]) Decode(data []byte) (T, error) {
	plain, err := zstdDecoder().DecodeAll(data, nil)
	if err != nil {
		var none T
		return none, fmt.Errorf("decompress partial of %d bytes: %w", len(data), err)
	}
	return decodeInPlace(c.inner, plain)
}

func (c zstdCodec[T]) DecodeInPlace(data []byte) (T, error) { return c.Decode(data) }

// decodedSize returns the size of the data before its compression, or 0 if it is unknown.
func (c zstdCodec[T]) decodedSize(data []byte) uint64 {
	var header zstd.Header
	if header.Decode(data) != nil {
		return 0
	}
	return header.FrameContentSize
}

func compress(data []byte, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return zstdEncoder().EncodeAll(data, nil), nil
}

// The encoder and the decoder are created at their first use, because they allocate memory. The
// options are valid, so NewWriter and NewReader return no error. Each call uses only one core,
// because a worker has a slot for each core.
var (
	zstdEncoder = sync.OnceValue(func() *zstd.Encoder {
		e, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithZeroFrames(true), zstd.WithEncoderCRC(false))
		return e
	})
	zstdDecoder = sync.OnceValue(func() *zstd.Decoder {
		d, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0))
		return d
	})
)
