package scan

import (
	"encoding/binary"
	"strconv"
)

// counts contains numbers of rows, or numbers of fields that are not empty.
type counts struct{ perGroup[uint64] }

func (c *counts) add(group int, v *values) {
	if c.column < 0 || len(v.field(c.column)) > 0 {
		c.list[group]++
	}
}

func (c *counts) merge(group int, from states, other int) {
	c.list[group] += from.(*counts).list[other]
}

func (c *counts) append(b []byte, group int) []byte { return binary.AppendUvarint(b, c.list[group]) }

func (c *counts) read(b []byte) ([]byte, error) {
	n, size := binary.Uvarint(b)
	if size <= 0 {
		return nil, errStates
	}
	c.list = append(c.list, n)
	return b[size:], nil
}

func (c *counts) result(group int, _ aggregate) (cell, error) { return integer(c.list[group]), nil }

func (c *counts) appendResult(b, data []byte) (text, rest []byte, err error) {
	n, size := binary.Uvarint(data)
	if size <= 0 {
		return nil, nil, errStates
	}
	return strconv.AppendUint(b, n, 10), data[size:], nil
}

func (c *counts) addPlain(group int, p *plain) { c.list[group] += p.count }
