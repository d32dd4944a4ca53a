package scan

import (
	"encoding/binary"
	"errors"
)

// states contains the states of one aggregate for all groups. Empty fields do not count as values.
type states interface {
	bind(column int)                         // bind sets the index of the column
	grow()                                   // grow appends the state of a new group
	reset()                                  // reset removes all groups, but keeps the memory
	add(group int, v *values)                // add adds a record to the state of a group
	merge(group int, from states, other int) // merge adds the state of the group other in from, which must have the same type
	append(b []byte, group int) []byte       // append appends the encoded state of a group
	read(b []byte) (rest []byte, err error)  // read decodes a state and appends the state as a new group
	result(group int, a aggregate) (cell, error)
}

// perGroup contains a state of type S for each group. Types of states embed it.
type perGroup[S any] struct {
	column int // index of the column; -1 if rows are counted
	list   []S
}

func (p *perGroup[S]) bind(column int) { p.column = column }

func (p *perGroup[S]) reset() {
	clear(p.list)
	p.list = p.list[:0]
}

func (p *perGroup[S]) grow() {
	if n := len(p.list); n < cap(p.list) {
		p.list = p.list[:n+1] // the memory after the length is zero, because reset clears states before it drops them
		return
	}
	var empty S
	p.list = append(p.list, empty)
}

// approximate is an optional interface of states whose results are not always exact.
type approximate interface {
	exact(group int) bool // reports whether the result of a group is exact
}

// bulk is an optional interface of states whose aggregates can be computed from plains.
type bulk interface {
	addPlain(group int, p *plain)
}

// direct is an optional interface of states whose results are computed from an encoded state, which need not become a group.
type direct interface {
	// appendResult appends the text of the result of the first state in data, in the form in which outputs contain it.
	appendResult(b, data []byte) (text, rest []byte, err error)
}

// directOf returns the list as direct, or nil if one of the states is not direct.
func directOf(list []states) (all []direct) {
	for _, s := range list {
		d, ok := s.(direct)
		if !ok {
			return nil
		}
		all = append(all, d)
	}
	return all
}

var errStates = errors.New("damaged partial of a scan")

func appendText[T string | []byte | row](b []byte, text T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

func readText(b []byte) (text, rest []byte, err error) {
	if len(b) > 0 && b[0] < 0x80 && int(b[0]) < len(b) { // most texts are short
		end := 1 + int(b[0])
		return b[1:end], b[end:], nil
	}
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return nil, nil, errStates
	}
	return b[size : size+int(n)], b[size+int(n):], nil
}
