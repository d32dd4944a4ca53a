package dataset

import (
	"encoding/binary"
	"errors"
)

// indexList is a list of indices in a plan, one for each of many objects. It is encoded as bytes, because an array of CBOR is
// decoded only up to a number of elements.
type indexList []uint64

var errIndices = errors.New("damaged list of indices")

// MarshalBinary implements encoding.BinaryMarshaler.
func (n indexList) MarshalBinary() (b []byte, err error) {
	for _, number := range n {
		b = binary.AppendUvarint(b, number)
	}
	return b, nil
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler.
func (n *indexList) UnmarshalBinary(b []byte) error {
	*n = nil
	for len(b) > 0 {
		number, size := binary.Uvarint(b)
		if size <= 0 {
			return errIndices
		}
		*n, b = append(*n, number), b[size:]
	}
	return nil
}
