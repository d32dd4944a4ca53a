package jobs

import (
	"fmt"

	"github.com/fxamacker/cbor/v2"
)

// Codec turns a job's partials into bytes and back. Encode must be a function
// of the value alone, and Decode(Encode(v)) must be as good as v to Merge:
// results are compared byte for byte. Both are called from several goroutines.
type Codec[T any] interface {
	Encode(value T) ([]byte, error)
	Decode(data []byte) (T, error)
}

// cborCodec is the default codec: CBOR in core deterministic encoding (RFC 8949,
// section 4.2.1). Keys are sorted; floats keep their exact value, infinities and
// NaN included.
type cborCodec[T any] struct{}

func (cborCodec[T]) Encode(value T) ([]byte, error) {
	data, err := cborEncoding.Marshal(value)
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
	cborEncoding = must(cbor.CoreDetEncOptions().EncMode())
	// The limits are the library's largest: a partial may be one big slice.
	cborDecoding = must(cbor.DecOptions{
		DupMapKey:        cbor.DupMapKeyEnforcedAPF,
		MaxArrayElements: 1<<31 - 1,
		MaxMapPairs:      1<<31 - 1,
	}.DecMode())
)

func must[M any](mode M, err error) M {
	if err != nil {
		panic(err) // the options are constants
	}
	return mode
}
