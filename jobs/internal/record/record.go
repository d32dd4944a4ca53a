// Package record encodes the records that Bellwether stores and the messages that it sends. A
// record is one byte for the version of the format, followed by a value in CBOR (RFC 8949) with
// sorted keys.
package record

import (
	"errors"
	"fmt"

	"github.com/fxamacker/cbor/v2"
)

// Format is one version of an encoding format.
type Format struct {
	version byte
	enc     cbor.EncMode
	dec     cbor.DecMode
}

// New returns a format whose records begin with the byte version.
func New(version byte, enc cbor.EncOptions, dec cbor.DecOptions) Format {
	return Format{version, Encoder(enc), Decoder(dec)}
}

// Strict returns options that refuse duplicate keys, indefinite lengths and tags. The parameters
// elements and pairs are the largest sizes of a list and of a map, which bounds the memory that
// decoding allocates.
func Strict(elements, pairs int) cbor.DecOptions {
	return cbor.DecOptions{
		DupMapKey:        cbor.DupMapKeyEnforcedAPF,
		IndefLength:      cbor.IndefLengthForbidden,
		TagsMd:           cbor.TagsForbidden,
		MaxNestedLevels:  16,
		MaxArrayElements: elements,
		MaxMapPairs:      pairs,
	}
}

// Encoder returns a CBOR encoder. Encoder panics if the options contradict each other, which is a
// programming error.
func Encoder(options cbor.EncOptions) cbor.EncMode {
	mode, err := options.EncMode()
	if err != nil {
		panic(err)
	}
	return mode
}

// Decoder returns a CBOR decoder. Decoder panics if the options contradict each other, which is a
// programming error.
func Decoder(options cbor.DecOptions) cbor.DecMode {
	mode, err := options.DecMode()
	if err != nil {
		panic(err)
	}
	return mode
}

// VersionError is the error for a record whose version differs from the version of the format.
type VersionError struct{ Got, Known byte }

func (e *VersionError) Error() string {
	return fmt.Sprintf("got format %d, want %d", e.Got, e.Known)
}

// Encode returns a value as a record. Encode panics if the type of the value cannot be encoded.
func (f Format) Encode(value any) []byte {
	data, err := f.enc.Marshal(value)
	if err != nil {
		panic(err)
	}
	return append([]byte{f.version}, data...)
}

// Decode reads a record into value, which is a pointer. If the record has another
// version, the error is a *[VersionError].
func (f Format) Decode(data []byte, value any) error {
	switch {
	case len(data) == 0:
		return errors.New("record is empty")
	case data[0] != f.version:
		return &VersionError{data[0], f.version}
	}
	return f.dec.Unmarshal(data[1:], value)
}
