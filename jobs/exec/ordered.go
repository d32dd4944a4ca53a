package exec

import (
	"cmp"
	"fmt"
)

// lineOrder says how bodies of ordered lines are merged. L is the type of a parsed line.
type lineOrder[L any] struct {
	parse func(line []byte) (L, error)
	// compare says which of two lines comes first: that of the left body if the result is negative, and that of the right one
	// if it is positive. If the result is 0, compare has merged both into a.
	compare func(a, b *L) (int, error)
	format  func(text []byte, line *L) []byte // appends a line to text
	most    int                               // number of lines that are kept; 0 for all
}

// joinLines merges two bodies of ordered lines.
func joinLines[L any](left, right *bodyReader, out *bodyWriter, order lineOrder[L]) error {
	a, b := cursor[L]{body: left}, cursor[L]{body: right}
	err := cmp.Or(a.next(order), b.next(order))
	for n := 0; err == nil && (a.more || b.more) && (n < order.most || order.most == 0); n++ {
		first := 0
		switch {
		case !b.more:
			first = -1
		case !a.more:
			first = 1
		default:
			if first, err = order.compare(&a.line, &b.line); err != nil {
				return err
			}
		}
		if first > 0 {
			out.text = order.format(out.text, &b.line)
		} else {
			out.text = order.format(out.text, &a.line)
			err = a.next(order)
		}
		if first >= 0 {
			err = cmp.Or(err, b.next(order))
		}
		err = cmp.Or(err, out.written())
	}
	return err
}

// cursor is at one line of a body.
type cursor[L any] struct {
	body   *bodyReader
	line   L
	more   bool // false at the end of the body
	number int  // of the line, from 1 on
}

// next goes to the next line.
func (c *cursor[L]) next(order lineOrder[L]) error {
	text, more, err := c.body.line()
	if c.more = more; err != nil || !more {
		return err
	}
	c.number++
	if c.line, err = order.parse(text); err != nil {
		return fmt.Errorf("line %d, %.100q: %w", c.number, text, err)
	}
	return nil
}
