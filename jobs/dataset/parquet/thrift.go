package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

const (
	// maxFooter is the maximum size in bytes of the metadata of an object.
	maxFooter = 64 << 20
	// maxParts is the number of columns, row groups and column chunks of an object, beside one for each 16 bytes
	// of the metadata. Each needs about a kilobyte of memory, and only a few stored bytes.
	maxParts   = 64 << 10
	maxNesting = 32
)

var (
	errNesting = errors.New("the metadata is nested too deeply")
	errParts   = &UnreadableError{fmt.Sprintf("the metadata has more than %d parts, and more than one for each 16 bytes: write the object with fewer row groups or columns", maxParts)}
)

// structSize returns the number of bytes of a structure at the beginning of data, in the compact protocol of
// Thrift. It returns an error if the structure is longer than the data, or would need much more memory than
// its size suggests: the library allocates lists of the lengths that the data claims.
func structSize(data []byte) (int, error) {
	m := measure{rest: data, parts: maxParts + len(data)/16}
	err := m.structure(maxNesting)
	return len(data) - len(m.rest), err
}

// measure measures a structure.
type measure struct {
	rest  []byte
	parts int // number of structures that may follow in lists
	lists int // number of lists around the value
}

// Types of the compact protocol.
const (
	typeStop = iota
	typeTrue
	typeFalse
	typeInt8
	typeInt16
	typeInt32
	typeInt64
	typeDouble
	typeBinary
	typeList
	typeSet
	typeMap
	typeStruct
	typeUUID
)

func (m *measure) skip(n uint64) error {
	if n > uint64(len(m.rest)) {
		return io.ErrUnexpectedEOF
	}
	m.rest = m.rest[n:]
	return nil
}

func (m *measure) number() (uint64, error) {
	n, size := binary.Uvarint(m.rest)
	if size <= 0 {
		return 0, io.ErrUnexpectedEOF
	}
	m.rest = m.rest[size:]
	return n, nil
}

// structure skips the fields of a structure.
func (m *measure) structure(nesting int) error {
	for {
		if len(m.rest) == 0 {
			return io.ErrUnexpectedEOF
		}
		field := m.rest[0]
		m.rest = m.rest[1:]
		if field == typeStop {
			return nil
		}
		if field>>4 == 0 {
			if _, err := m.number(); err != nil { // number of the field
				return err
			}
		}
		if typ := field & 15; typ != typeTrue && typ != typeFalse { // a field of these types has no bytes
			if err := m.value(typ, nesting); err != nil {
				return err
			}
		}
	}
}

// value skips a value.
func (m *measure) value(typ byte, nesting int) error {
	if nesting == 0 {
		return errNesting
	}
	switch typ {
	case typeTrue, typeFalse, typeInt8:
		return m.skip(1)
	case typeInt16, typeInt32, typeInt64:
		_, err := m.number()
		return err
	case typeDouble:
		return m.skip(8)
	case typeUUID:
		return m.skip(16)
	case typeBinary:
		n, err := m.number()
		if err != nil {
			return err
		}
		return m.skip(n)
	case typeList, typeSet:
		return m.list(nesting - 1)
	case typeMap:
		return m.mapping(nesting - 1)
	case typeStruct:
		return m.structure(nesting - 1)
	}
	return fmt.Errorf("the metadata has a value of the unknown type %d", typ)
}

// list skips the elements of a list. Each needs at least one byte.
func (m *measure) list(nesting int) (err error) {
	if len(m.rest) == 0 {
		return io.ErrUnexpectedEOF
	}
	head := m.rest[0]
	m.rest = m.rest[1:]
	n := uint64(head >> 4)
	if n == 15 {
		if n, err = m.number(); err != nil {
			return err
		}
	}
	return m.elements(n, nesting, head&15)
}

// mapping skips the elements of a map.
func (m *measure) mapping(nesting int) error {
	n, err := m.number()
	if err != nil || n == 0 {
		return err
	}
	if len(m.rest) == 0 {
		return io.ErrUnexpectedEOF
	}
	types := m.rest[0]
	m.rest = m.rest[1:]
	return m.elements(n, nesting, types>>4, types&15)
}

func (m *measure) elements(n uint64, nesting int, types ...byte) error {
	if n > uint64(len(m.rest)) {
		return io.ErrUnexpectedEOF
	}
	m.lists++
	defer func() { m.lists-- }()
	if m.lists <= 2 && slices.Contains(types, typeStruct) { // other lists have small elements
		if m.parts -= int(n); m.parts < 0 {
			return errParts
		}
	}
	for range n {
		for _, typ := range types {
			if err := m.value(typ, nesting); err != nil {
				return err
			}
		}
	}
	return nil
}
