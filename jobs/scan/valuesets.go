package scan

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// valueSets contains the states of an aggregate of distinct values that is always exact.
type valueSets struct{ perGroup[valueSet] }

// valueSet is a set of values. A value is its length, as a varint, and its bytes: one byte more than the value if it has less
// than 128 bytes. There is no limit of the values, and no hash table of them, so a set of a group with many values needs
// little more memory than its encoding.
type valueSet struct {
	count  uint64 // number of values in sorted
	sorted []byte // different values in the order of their bytes; never changed, because a run may contain it
	added  []byte // values that are not in sorted yet, in any order
}

// minAdded is the number of bytes of added values above which they are sorted, if it is more than the bytes of the values that
// are sorted already. The set then doubles between two sorts.
const minAdded = 4 << 10

func (s *valueSets) add(group int, v *values) {
	if field := v.field(s.column); len(field) > 0 {
		s.list[group].add(field)
	}
}

func (s *valueSet) add(value []byte) {
	if s.added = appendText(s.added, value); len(s.added) > max(minAdded, len(s.sorted)) {
		s.settle()
	}
}

// settle moves the added values to the sorted ones.
func (s *valueSet) settle() {
	if len(s.added) == 0 {
		return
	}
	var list [][]byte
	for rest := s.added; len(rest) > 0; {
		var value []byte
		value, rest = nextValue(rest)
		list = append(list, value)
	}
	slices.SortFunc(list, bytes.Compare)
	var with valueSet
	for i, value := range list {
		if i == 0 || !bytes.Equal(value, list[i-1]) {
			with.sorted = appendText(with.sorted, value)
			with.count++
		}
	}
	s.added = s.added[:0]
	s.merge(with)
}

// nextValue splits the first value from a list that is not empty.
func nextValue(list []byte) (value, rest []byte) {
	n, size := binary.Uvarint(list)
	end := size + int(n)
	return list[size:end], list[end:]
}

// merge adds the values of another set. Both sets are settled.
func (s *valueSet) merge(with valueSet) {
	switch {
	case with.count == 0:
		return
	case s.count == 0:
		s.count, s.sorted = with.count, with.sorted
		return
	}
	left, right, both := s.sorted, with.sorted, uint64(0)
	merged := make([]byte, 0, len(left)+len(right))
	for len(left) > 0 && len(right) > 0 {
		x, afterX := nextValue(left)
		y, afterY := nextValue(right)
		switch order := bytes.Compare(x, y); {
		case order < 0:
			merged, left = appendText(merged, x), afterX
		case order > 0:
			merged, right = appendText(merged, y), afterY
		default:
			merged, left, right = appendText(merged, x), afterX, afterY
			both++
		}
	}
	s.count += with.count - both
	s.sorted = append(append(merged, left...), right...)
}

func (s *valueSets) merge(group int, from states, other int) {
	at, with := &s.list[group], &from.(*valueSets).list[other]
	at.settle()
	with.settle()
	at.merge(*with)
}

// append encodes the number of values, the number of their bytes, and the values.
func (s *valueSets) append(b []byte, group int) []byte {
	at := &s.list[group]
	at.settle()
	return appendText(binary.AppendUvarint(b, at.count), at.sorted)
}

func (s *valueSets) read(b []byte) ([]byte, error) {
	count, size := binary.Uvarint(b)
	if size <= 0 {
		return nil, errStates
	}
	sorted, rest, err := readText(b[size:])
	if err != nil || !isSet(sorted, count) {
		return nil, errStates
	}
	s.list = append(s.list, valueSet{count: count, sorted: sorted[:len(sorted):len(sorted)]})
	return rest, nil
}

// isSet reports whether a list contains a number of values in order, each once.
func isSet(list []byte, count uint64) bool {
	var last []byte
	for i := uint64(0); len(list) > 0; i++ {
		value, rest, err := readText(list)
		if err != nil || len(value) == 0 || i == count || i > 0 && bytes.Compare(last, value) >= 0 {
			return false
		}
		if last, list = value, rest; len(list) == 0 {
			return i+1 == count
		}
	}
	return count == 0
}

func (s *valueSets) result(group int, _ aggregate) (cell, error) {
	at := &s.list[group]
	at.settle()
	return integer(at.count), nil
}
