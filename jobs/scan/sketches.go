package scan

import (
	"math"

	"github.com/bellwether-compute/bellwether/jobs/internal/sketch"
)

// quantileNote describes the largest error of a quantile. The width of a bin is 1/128 of its lower
// bound, and the result is the middle of a bin.
const quantileNote = "within 0.4 % of a value"

// histograms contains the states of an aggregate of quantiles.
type histograms struct {
	column int
	list   []sketch.Histogram // histogram of each group; nil before the first value
}

func (h *histograms) bind(column int) { h.column = column }
func (h *histograms) grow()           { h.list = append(h.list, nil) }
func (h *histograms) reset()          { h.list = h.list[:0] }

func (h *histograms) add(group int, v *values) {
	if n, ok := v.number(h.column); ok {
		h.of(group).Add(n.Float())
	}
}

func (h *histograms) of(group int) sketch.Histogram {
	if h.list[group] == nil {
		h.list[group] = sketch.Histogram{}
	}
	return h.list[group]
}

func (h *histograms) merge(group int, from states, other int) {
	h.of(group).Merge(from.(*histograms).list[other])
}

func (h *histograms) append(b []byte, group int) []byte { return h.list[group].Append(b) }

func (h *histograms) read(b []byte) ([]byte, error) {
	one, rest, err := sketch.ReadHistogram(b)
	if err != nil {
		return nil, errStates
	}
	h.list = append(h.list, one)
	return rest, nil
}

func (h *histograms) result(group int, a aggregate) (cell, error) {
	f := h.list[group].Quantile(a.quantile)
	if math.IsNaN(f) {
		return null, nil
	}
	return float(f), nil
}

// distinctNote describes the error of a distinct count. With 2^14 registers the relative standard
// error of HyperLogLog is 1.04/2^7.
const distinctNote = "exact up to 4096, above that with a standard error of 0.8 %"

// distincts contains the states of an aggregate of distinct values.
type distincts struct {
	column int
	list   []sketch.Distinct
}

func (d *distincts) bind(column int) { d.column = column }
func (d *distincts) grow()           { d.list = append(d.list, sketch.Distinct{}) }
func (d *distincts) reset()          { d.list = d.list[:0] }

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
