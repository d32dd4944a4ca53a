package scan

import (
	"encoding/binary"
	"math"

	"github.com/bellwether-compute/bellwether/jobs/dataset/exact"
)

// extremes contains minima or maxima of numbers or of texts.
type extremes struct {
	perGroup[extreme]
	sign int // -1 for minima, 1 for maxima
}

type extreme struct {
	hasNumber, hasText bool
	number             exact.Number
	text               string
	object             string // object that contains the text
	offset             int64  // offset of the text's record in the object
}

func (e *extremes) add(group int, v *values) {
	at := &e.list[group]
	n, ok := v.number(e.column)
	if ok {
		if !at.hasNumber || n.Compare(&at.number) == e.sign {
			at.number, at.hasNumber = *n, true
		}
		return
	}
	text := v.field(e.column)
	if len(text) > 0 && (!at.hasText || compareText(text, at.text) == e.sign) {
		at.text, at.hasText = string(text), true
		at.object, at.offset = v.record.Object(), v.record.Offset()
	}
}

func (e *extremes) merge(group int, from states, other int) {
	at, with := &e.list[group], &from.(*extremes).list[other]
	if with.hasNumber && (!at.hasNumber || with.number.Compare(&at.number) == e.sign) {
		at.number, at.hasNumber = with.number, true
	}
	if with.hasText && (!at.hasText || compareText([]byte(with.text), at.text) == e.sign) {
		at.text, at.hasText = with.text, true
		at.object, at.offset = with.object, with.offset
	}
}

// append encodes an extreme. A numeric extreme has the encoding of an exact sum of one number.
func (e *extremes) append(b []byte, group int) []byte {
	at := &e.list[group]
	kind := byte(0)
	if at.hasNumber {
		kind |= 1
	}
	if at.hasText {
		kind |= 2
	}
	b = append(b, kind)
	if at.hasNumber {
		var one exact.Sum
		one.Add(&at.number)
		b = one.Append(b)
	}
	if at.hasText {
		b = binary.AppendUvarint(appendText(appendText(b, at.text), at.object), uint64(at.offset))
	}
	return b
}

func (e *extremes) read(b []byte) (_ []byte, err error) {
	if len(b) == 0 || b[0] > 3 {
		return nil, errStates
	}
	at := extreme{hasNumber: b[0]&1 != 0, hasText: b[0]&2 != 0}
	b = b[1:]
	if at.hasNumber {
		var one exact.Sum
		if b, err = one.Read(b); err != nil {
			return nil, err
		}
		at.number = one.Number()
	}
	if at.hasText {
		if b, err = at.readText(b); err != nil {
			return nil, err
		}
	}
	e.list = append(e.list, at)
	return b, nil
}

// readText decodes the text of an extreme and its position.
func (x *extreme) readText(b []byte) (_ []byte, err error) {
	text, b, err := readText(b)
	if err != nil {
		return nil, err
	}
	object, b, err := readText(b)
	if err != nil {
		return nil, err
	}
	offset, size := binary.Uvarint(b)
	if size <= 0 || offset > math.MaxInt64 {
		return nil, errStates
	}
	x.text, x.object, x.offset = string(text), string(object), int64(offset)
	return b[size:], nil
}

func (e *extremes) result(group int, a aggregate) (cell, error) {
	switch at := e.list[group]; {
	case at.hasNumber && at.hasText:
		return null, mixedError{a.column, at.number.Short().String(), at.text, at.object, at.offset}
	case at.hasNumber:
		return decimal(at.number.Short()), nil
	case at.hasText:
		return text(at.text), nil
	}
	return null, nil
}

func (e *extremes) addPlain(group int, p *plain) {
	n := exact.Number{Mantissa: p.min, Scale: p.scale}
	if e.sign > 0 {
		n.Mantissa = p.max
	}
	if at := &e.list[group]; !at.hasNumber || n.Compare(&at.number) == e.sign {
		at.number, at.hasNumber = n, true
	}
}
