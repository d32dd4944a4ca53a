package jobs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"unicode/utf8"
)

// maxNesting is the largest nesting depth of arrays and maps in an encoded partial.
const maxNesting = 32

// maxDepth is the depth above which a value is considered cyclic. A value of maxNesting levels
// stays far below maxDepth, because each level has only a few pointers and embedded structs.
const maxDepth = 1000

// errCyclic is the error for a value deeper than maxDepth.
var errCyclic = errors.New("value is cyclic, or nested too deep: want a value that ends")

// checkAcyclic returns an error for a cyclic value. The encoder would recurse without end on a
// cyclic value and overflow the stack, which ends the process.
func (s shape) checkAcyclic(v reflect.Value, depth int) error {
	if depth > maxDepth {
		return errCyclic
	}
	if slices.Contains(s.itself, v.Type()) {
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return s.checkAcyclic(v.Elem(), depth+1)
		}
	case reflect.Slice, reflect.Array:
		switch v.Type().Elem().Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map, reflect.Struct:
		default:
			return nil
		}
		for i := range v.Len() {
			if err := s.checkAcyclic(v.Index(i), depth+1); err != nil {
				return err
			}
		}
	case reflect.Map:
		for i := v.MapRange(); i.Next(); {
			if err := s.checkAcyclic(i.Value(), depth+1); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if err := s.checkAcyclic(v.Field(i), depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkDecodable returns an error if the decoder would refuse data, which the encoder has made. The
// encoder checks neither that strings are UTF-8, nor that the keys of a map differ, nor how deep
// values are nested. checkDecodable takes a fraction of the time that decoding would take.
func checkDecodable(data []byte) error {
	s := scanner{data: data}
	err := s.item(0)
	if errors.Is(err, errNotScanned) {
		return cborDecoding.Wellformed(data)
	}
	var at *itemError
	if errors.As(err, &at) && at.path != "" {
		return fmt.Errorf("%s: %w", at.path, at.err)
	}
	return err
}

// itemError is an error with its location in the value, a path of map keys and indices.
type itemError struct {
	path string
	err  error
}

func (e *itemError) Error() string { return e.err.Error() }
func (e *itemError) Unwrap() error { return e.err }

func within(element string, err error) error {
	e, ok := err.(*itemError)
	if !ok {
		e = &itemError{err: err}
	}
	if e.path = element + e.path; len(e.path) > maxPathText {
		e.path = e.path[:maxPathText] + "…"
	}
	return e
}

// maxPathText and maxStringText are the largest numbers of bytes of a path and of a string that an
// error quotes.
const (
	maxPathText   = 200
	maxStringText = 40
)

type scanner struct {
	data []byte
	off  int
}

// errNotScanned is the error for an item that the scanner does not understand, such as an item of
// indefinite length. Only types that have an encoding method produce items that the scanner does
// not understand.
var errNotScanned = errors.New("item is not scanned")

// The first three bits of a CBOR item are its major type (RFC 8949, section 3.1).
const (
	cborBytes = 2 + iota
	cborText
	cborArray
	cborMap
	cborTag
	cborSimple
)

// scalarSizes maps the first byte of an item to the item's size, if the item is a number, a simple
// value or a string of less than 24 bytes.
var scalarSizes = func() (sizes [256]uint8) {
	for first := range sizes {
		major, argument := first>>5, first&0x1f
		switch {
		case major == cborText && argument < 24:
			sizes[first] = 1 + uint8(argument)
		case major > 1 && major != cborSimple:
		case argument < 24:
			sizes[first] = 1
		case argument <= 27:
			sizes[first] = 1 + 1<<(argument-24)
		}
	}
	return sizes
}()

// scalar moves past the next item if it is short, has no elements and is correct. scalar is a fast
// path for the method item.
func (s *scanner) scalar() bool {
	if s.off >= len(s.data) {
		return false
	}
	first := s.data[s.off]
	end := s.off + int(scalarSizes[first])
	if end == s.off || end > len(s.data) || first>>5 == cborText && !utf8.Valid(s.data[s.off+1:end]) {
		return false
	}
	s.off = end
	return true
}

// item checks one item and moves to the next.
func (s *scanner) item(depth int) error {
	major, n, err := s.head()
	if err != nil {
		return err
	}
	switch major {
	case cborBytes, cborText:
		if n > uint64(len(s.data)-s.off) {
			return errNotScanned
		}
		text := s.data[s.off : s.off+int(n)]
		s.off += int(n)
		if major == cborText && !utf8.Valid(text) {
			return fmt.Errorf("string %.*q is not UTF-8: want UTF-8, or a []byte", maxStringText, text)
		}
	case cborArray, cborMap:
		if depth++; depth > maxNesting {
			return fmt.Errorf("value is nested deeper than %d levels", maxNesting)
		}
		if major == cborMap {
			return s.entries(n, depth)
		}
		for i := range n {
			if !s.scalar() {
				if err := s.item(depth); err != nil {
					return within(fmt.Sprintf("[%d]", i), err)
				}
			}
		}
	case cborTag:
		return s.item(depth)
	}
	return nil
}

func (s *scanner) entries(n uint64, depth int) error {
	var last []byte
	for i := range n {
		begin := s.off
		if !s.scalar() {
			if err := s.item(depth); err != nil {
				return within("[key]", err)
			}
		}
		key := s.data[begin:s.off]
		if i > 0 && bytes.Equal(key, last) {
			return fmt.Errorf("two keys of a map have the same encoding, %s: want keys that differ when encoded", keyText(key))
		}
		last = key
		if !s.scalar() {
			if err := s.item(depth); err != nil {
				return within("["+keyText(key)+"]", err)
			}
		}
	}
	return nil
}

// keyText returns an encoded key as text for an error.
func keyText(key []byte) string {
	s := scanner{data: key}
	switch major, n, _ := s.head(); major {
	case 0:
		return fmt.Sprint(n)
	case cborText:
		return fmt.Sprintf("%.*q", maxStringText, key[s.off:])
	}
	return fmt.Sprintf("%#.*x", maxStringText, key)
}

// head reads the head of an item: its major type, and its number or length.
func (s *scanner) head() (major byte, n uint64, err error) {
	if s.off >= len(s.data) {
		return 0, 0, errNotScanned
	}
	major, n = s.data[s.off]>>5, uint64(s.data[s.off]&0x1f)
	s.off++
	if n < 24 {
		return major, n, nil
	}
	size := 1 << (n - 24)
	if n > 27 || len(s.data)-s.off < size {
		return 0, 0, errNotScanned
	}
	var word [8]byte
	copy(word[8-size:], s.data[s.off:s.off+size])
	s.off += size
	return major, binary.BigEndian.Uint64(word[:]), nil
}
