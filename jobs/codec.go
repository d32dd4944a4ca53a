package jobs

import (
	"encoding"
	"fmt"
	"math/big"
	"reflect"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/bellwether-compute/bellwether/jobs/internal/record"
)

// Codec encodes and decodes a job's partials. The encoded bytes must depend on the value
// alone. Merge must give the same result for Decode(Encode(v)) as for v, because runs
// differ in which partials are encoded. Neither method may retain its argument or return
// memory that the argument shares. Both methods are called from several goroutines at
// once.
type Codec[T any] interface {
	Encode(value T) ([]byte, error)
	Decode(data []byte) (T, error)
}

// cborCodec is the default codec: CBOR in core deterministic encoding (RFC 8949,
// section 4.2.1). Keys are sorted. Floats keep their exact value, infinities included;
// all NaNs are encoded as the same NaN. Times keep their nanoseconds.
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
	cborEncoding = func() cbor.EncMode {
		options := cbor.CoreDetEncOptions()
		options.Time = cbor.TimeRFC3339NanoUTC // the default drops fractions of a second
		return record.Encoder(options)
	}()
	// The limits are the largest that the library allows, because a partial may be one
	// large slice.
	cborDecoding = record.Decoder(cbor.DecOptions{
		DupMapKey:        cbor.DupMapKeyEnforcedAPF,
		MaxArrayElements: 1<<31 - 1,
		MaxMapPairs:      1<<31 - 1,
	})
)

// checkEncodes returns an error for a type whose values lose data in the default codec.
// The lost data would make results differ between runs.
func checkEncodes(t reflect.Type) error { return checkType(t, make(map[reflect.Type]bool)) }

func checkType(t reflect.Type, seen map[reflect.Type]bool) error {
	if seen[t] || encodesItself(t) {
		return nil
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return checkType(t.Elem(), seen)
	case reflect.Map:
		if err := checkType(t.Key(), seen); err != nil {
			return err
		}
		return checkType(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Name == "_" || f.Tag.Get("cbor") == "-" {
				continue
			}
			if !f.IsExported() && !f.Anonymous {
				return fmt.Errorf("field %s of %s: want an exported field", f.Name, t)
			}
			if err := checkType(f.Type, seen); err != nil {
				return err
			}
		}
	case reflect.Chan, reflect.Func, reflect.Interface, reflect.UnsafePointer, reflect.Uintptr, reflect.Complex64, reflect.Complex128:
		return fmt.Errorf("type %s: want a type that CBOR decodes to the same value", t)
	}
	return nil
}

var (
	cborMarshaler   = reflect.TypeFor[cbor.Marshaler]()
	binaryMarshaler = reflect.TypeFor[encoding.BinaryMarshaler]()
)

func encodesItself(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[time.Time](), reflect.TypeFor[big.Int](), reflect.TypeFor[struct{}]():
		return true
	}
	p := reflect.PointerTo(t)
	return p.Implements(cborMarshaler) || p.Implements(binaryMarshaler)
}
