package avro

import (
	"fmt"

	"github.com/bellwether-compute/bellwether/jobs/dataset/exact"
)

// Rows iterates over the records of a block. Only one goroutine may use a Rows.
type Rows struct {
	values
	selection *Selection
	left      int64 // number of records after the current one
}

// cell is the value of a column of the current record.
type cell struct {
	lo, hi int  // bounds of the text
	typ    *typ // type of the value, which is no union; nil if the value is missing
	known  bool // the record has the column
}

// Rows returns the records of a block, which begins at the first byte. Next must be called before the first record.
func (f *File) Rows(s *Selection, b Block, block []byte) (*Rows, error) {
	content, err := f.content(block[b.Begin:b.Size])
	if err != nil {
		return nil, err
	}
	r := &Rows{selection: s, left: b.Records}
	r.rest, r.steps = content, stepsPerByte*int64(len(content))+freeSteps
	r.cells = make([]cell, len(s.names))
	return r, nil
}

// Next moves to the next record. It returns false after the last one.
func (r *Rows) Next() (bool, error) {
	if r.left == 0 {
		if len(r.rest) > 0 {
			return false, damaged("a block has %d bytes after its last record", len(r.rest))
		}
		return false, nil
	}
	r.left--
	r.bad, r.out = nil, r.out[:0]
	clear(r.cells)
	r.depth = 0
	r.read(r.selection.root)
	r.bound(0)
	return r.err == nil, r.err
}

// Err returns an error if the current record has a value that cannot be read as text. The records after it can be read.
func (r *Rows) Err() error {
	if r.bad == nil {
		return nil
	}
	return r.bad
}

// Field returns the value of a column as text, or nil if the record has no value. Field also returns the buffer, which
// it does not need.
func (r *Rows) Field(i int, buffer []byte) (field, _ []byte) {
	c := &r.cells[r.selection.same[i]]
	if c.typ == nil {
		return nil, buffer
	}
	return r.out[c.lo:c.hi:c.hi], buffer
}

// Number sets n to the value of a column, and returns false if the value is not a number.
func (r *Rows) Number(i int, n *exact.Number) bool {
	c := &r.cells[r.selection.same[i]]
	if c.typ == nil || c.typ.wire == fixed && c.typ.meaning != decimal || c.typ.wire == boolean {
		return false
	}
	return n.Parse(r.out[c.lo:c.hi])
}

// IsFloat reports whether the value of column i is a float.
func (r *Rows) IsFloat(i int) bool {
	t := r.cells[r.selection.same[i]].typ
	return t != nil && (t.wire == float || t.wire == double)
}

// IsTime reports whether the value of column i is a date, a timestamp or a time of day.
func (r *Rows) IsTime(i int) bool {
	t := r.cells[r.selection.same[i]].typ
	return t != nil && (t.meaning == date || t.meaning == timestamp || t.meaning == timeOfDay)
}

// read reads a value of which a part is wanted.
func (r *Rows) read(p *plan) {
	defer r.leave()
	if !r.enter() {
		return
	}
	if p.column >= 0 {
		before := r.rest
		if r.cell(p); p.below == nil && p.keys == nil || r.err != nil {
			return
		}
		r.rest = before
	}
	switch {
	case p.keys != nil:
		r.keys(p)
	case p.typ.wire == record && p.below != nil:
		for i, below := range p.below {
			r.part(below, p.typ.fields[i].typ)
		}
	case p.typ.wire == union && p.below != nil:
		if b := r.branch(p.typ); b >= 0 {
			r.part(p.below[b], p.typ.union[b])
		}
	default:
		r.skip(p.typ)
	}
}

// part reads a part of a value.
func (r *Rows) part(p *plan, t *typ) {
	if p == nil {
		r.skip(t)
	} else {
		r.read(p)
	}
}

// keys reads the wanted keys of a map.
func (r *Rows) keys(p *plan) {
	for {
		n, _ := r.items()
		if n == 0 {
			return
		}
		for ; n > 0 && r.err == nil; n-- {
			key := r.bytes()
			r.part(r.selection.value(p, key), p.typ.of)
		}
	}
}

// value returns the plan of the value of a key, or nil.
func (s *Selection) value(p *plan, key []byte) *plan {
	m := p.keys.Find(string(key))
	if m == nil {
		return nil
	}
	v := p.values[m]
	if v == nil {
		v = s.plan(p.typ.of, m, make([]bool, len(s.names)))
		p.values[m] = v
	}
	return v
}

// cell reads a value as the text of a column.
func (r *Rows) cell(p *plan) {
	c := &r.cells[p.column]
	if c.known {
		r.refuse(fmt.Errorf("two members of the record are named %.80q: want different names", r.selection.names[p.column]))
	}
	c.known = true
	t := p.typ
	for t.wire == union && r.err == nil {
		if b := r.branch(t); b >= 0 {
			t = t.union[b]
		}
	}
	c.lo = len(r.out)
	if t.wire == null {
		return
	}
	r.text(t)
	c.hi, c.typ = len(r.out), t
}
