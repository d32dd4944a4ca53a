package scan

import "github.com/bellwether-compute/bellwether/jobs/internal/sketch"

// distinctNote describes the error of a distinct count. With 2^14 registers the relative standard
// error of HyperLogLog is 1.04/2^7.
const distinctNote = "exact up to 4096, above that with a standard error of 0.8 %"

// distincts contains the states of an aggregate of distinct values.
type distincts struct{ perGroup[sketch.Distinct] }

func (d *distincts) exact(group int) bool { return d.list[group].Exact() }

func (d *distincts) add(group int, v *values) {
	if field := v.field(d.column); len(field) > 0 {
		d.list[group].Add(field)
	}
}

func (d *distincts) merge(group int, from states, other int) {
	d.list[group].Merge(&from.(*distincts).list[other])
}

func (d *distincts) append(b []byte, group int) []byte { return d.list[group].Append(b) }

func (d *distincts) read(b []byte) ([]byte, error) {
	one, rest, err := sketch.ReadDistinct(b)
	if err != nil {
		return nil, errStates
	}
	d.list = append(d.list, one)
	return rest, nil
}

func (d *distincts) result(group int, _ aggregate) (cell, error) {
	return integer(d.list[group].Count()), nil
}
