package avro

import (
	encoding "encoding/binary"
	"fmt"
	"math"
)

const (
	// maxDepth is the largest number of values around a value.
	maxDepth = 1000
	// maxText is the largest number of bytes of the texts of a record.
	maxText = 64 << 20
	// stepsPerByte and freeSteps determine how many values a block may have, because values may take no bytes.
	stepsPerByte = 16
	freeSteps    = 4 << 20
	bytesPerStep = 64
)

// decoder reads values. After an error it reads zeros, so only loops must look at the error.
type decoder struct {
	rest  []byte
	steps int64 // number of values that the block may still have
	depth int
	err   error // the block is damaged, or exceeds a limit
}

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
	d.rest = nil
}

var errBlock = damaged("the records of a block are damaged, or end before its number of records")

// enter begins to read a value, and leave ends it. After an error, enter returns false.
func (d *decoder) enter() bool {
	d.depth++
	d.steps--
	if d.depth > maxDepth {
		d.fail(fmt.Errorf("values are more than %d deep, which is the limit", maxDepth))
	} else if d.steps < 0 {
		d.fail(fmt.Errorf("a block has more than %d values for each byte, which is the limit", stepsPerByte))
	}
	return d.err == nil
}

func (d *decoder) leave() { d.depth-- }

func (d *decoder) long() int64 {
	n, size := encoding.Varint(d.rest)
	if size <= 0 {
		d.fail(errBlock)
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

func (d *decoder) int() int64 {
	n := d.long()
	if n < math.MinInt32 || n > math.MaxInt32 {
		d.fail(errBlock)
		return 0
	}
	return n
}

// take returns the next n bytes.
func (d *decoder) take(n int64) []byte {
	if n < 0 || n > int64(len(d.rest)) {
		d.fail(errBlock)
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *decoder) bytes() []byte { return d.take(d.long()) }

func (d *decoder) boolean() bool {
	b := d.take(1)
	if len(b) == 1 && b[0] > 1 {
		d.fail(errBlock)
	}
	return len(b) == 1 && b[0] == 1
}

func (d *decoder) float() float64 {
	if b := d.take(4); len(b) == 4 {
		return float64(math.Float32frombits(encoding.LittleEndian.Uint32(b)))
	}
	return 0
}

func (d *decoder) double() float64 {
	if b := d.take(8); len(b) == 8 {
		return math.Float64frombits(encoding.LittleEndian.Uint64(b))
	}
	return 0
}

// symbol returns the symbol of an enum.
func (d *decoder) symbol(t *typ) string {
	if n := d.int(); d.err == nil && n >= 0 && n < int64(len(t.symbols)) {
		return t.symbols[n]
	}
	d.fail(errBlock)
	return ""
}

// branch returns the index of the branch of a union, or -1.
func (d *decoder) branch(t *typ) int {
	if n := d.long(); d.err == nil && n >= 0 && n < int64(len(t.union)) {
		return int(n)
	}
	d.fail(errBlock)
	return -1
}

// items returns the number of the next items of an array or a map, or 0 at the end. The parameter size is the number of
// their bytes, or -1 if the block does not tell.
func (d *decoder) items() (n, size int64) {
	n, size = d.long(), -1
	if n < 0 {
		n, size = -n, d.long()
		if n < 0 || size < 0 || size > int64(len(d.rest)) {
			d.fail(errBlock)
		}
	}
	if d.err != nil {
		return 0, 0
	}
	return n, size
}

// skip reads a value that nobody needs.
func (d *decoder) skip(t *typ) {
	defer d.leave()
	if !d.enter() {
		return
	}
	switch t.wire {
	case boolean:
		d.take(1)
	case integer, long, enum:
		d.long()
	case float:
		d.take(4)
	case double:
		d.take(8)
	case binary, text:
		d.bytes()
	case fixed:
		d.take(int64(t.size))
	case record:
		for i := range t.fields {
			d.skip(t.fields[i].typ)
		}
	case union:
		if b := d.branch(t); b >= 0 {
			d.skip(t.union[b])
		}
	case array, mapping:
		for {
			n, size := d.items()
			if n == 0 {
				return
			}
			if size >= 0 {
				d.take(size)
				continue
			}
			for ; n > 0 && d.err == nil; n-- {
				if t.wire == mapping {
					d.bytes()
				}
				d.skip(t.of)
			}
		}
	}
}
