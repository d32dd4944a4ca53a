package jobs

import (
	"fmt"
	"reflect"

	"github.com/fxamacker/cbor/v2"

	"github.com/bellwether-compute/bellwether/jobs/internal/record"
)

// Codec encodes and decodes a job's partials. The encoded bytes must depend on the value alone.
// Merge must give the same result for Decode(Encode(v)) as for v, because runs differ in which
// partials are encoded. The methods may not keep a reference to their argument, or return memory
// that the argument shares, except those of an [InPlaceCodec]. Encode and Decode are called from
// several goroutines at once.
//
// [Vector] and [Raw] encode large slices of numbers and bytes many times faster than CBOR.
type Codec[T any] interface {
	Encode(value T) ([]byte, error)
	Decode(data []byte) (T, error)
}

// encodeInPlace encodes a value that no other code uses afterwards.
func encodeInPlace[T any](codec Codec[T], value T) ([]byte, error) {
	if c, ok := codec.(InPlaceCodec[T]); ok {
		return c.EncodeInPlace(value)
	}
	return codec.Encode(value)
}

// decodeInPlace decodes data that no other code uses afterwards.
func decodeInPlace[T any](codec Codec[T], data []byte) (T, error) {
	if c, ok := codec.(InPlaceCodec[T]); ok {
		return c.DecodeInPlace(data)
	}
	return codec.Decode(data)
}

// cborCodec is the default codec: CBOR in core deterministic encoding (RFC 8949,
// section 4.2.1). Keys are sorted. Floats keep their exact value, infinities included;
// all NaNs are encoded as the same NaN. Times keep their nanoseconds and become UTC.
//
// Encode returns an error for a value that Decode would refuse. A job with a value that cannot be
// decoded therefore fails when the value is first reported, before the value is merged.
type cborCodec[T any] struct{ shape shape }

func newCBORCodec[T any]() (cborCodec[T], error) {
	shape, err := survives(reflect.TypeFor[T]())
	return cborCodec[T]{shape}, err
}

// CBOR returns the default codec, for a codec that encodes a part of a partial itself. CBOR panics
// if the default codec cannot encode a value of type T.
func CBOR[T any]() Codec[T] {
	codec, err := newCBORCodec[T]()
	if err != nil {
		panic(fmt.Sprintf("jobs.CBOR: %v", err))
	}
	return codec
}

func (c cborCodec[T]) Encode(value T) ([]byte, error) {
	if c.shape.recursive {
		if err := c.shape.checkAcyclic(reflect.ValueOf(value), 0); err != nil {
			return nil, fmt.Errorf("encode partial: %w", err)
		}
	}
	data, err := cborEncoding.Marshal(value)
	if err == nil && c.shape.unchecked {
		err = checkDecodable(data)
	}
	if err == nil && c.shape.times {
		_, err = c.Decode(data)
	}
	if err != nil {
		return nil, fmt.Errorf("encode partial: %w", err)
	}
	return data, nil
}

func (cborCodec[T]) Decode(data []byte) (T, error) {
	var value T
	if err := cborDecoding.Unmarshal(data, &value); err != nil {
		return value, fmt.Errorf("decode partial: %w", err)
	}
	return value, nil
}

var (
	cborEncoding = func() cbor.EncMode {
		options := cbor.CoreDetEncOptions()
		options.Time = cbor.TimeRFC3339NanoUTC // the library's default drops fractions of a second from times
		return record.Encoder(options)
	}()
	// The limits on elements and pairs are the largest that the library allows, because a partial
	// may be one large slice.
	cborDecoding = record.Decoder(cbor.DecOptions{
		DupMapKey:        cbor.DupMapKeyEnforcedAPF,
		MaxNestedLevels:  maxNesting,
		MaxArrayElements: 1<<31 - 1,
		MaxMapPairs:      1<<31 - 1,
	})
)
