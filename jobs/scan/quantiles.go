package scan

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs/internal/sketch"
)

const (
	// quantileNote describes the largest error of a quantile. The width of a bin is 1/128 of its
	// lower bound, and the result is the middle of a bin.
	quantileNote = "exact up to 1024 values, above that within 0.4 % of a value"
	// maxExactValues is the number of values of a group above which values are counted in bins.
	maxExactValues = 1024
)

// quantile returns the number of a quantile such as p99.9, which is 0.999, or of the median.
func quantile(word string) (q float64, ok bool) {
	if word == "median" {
		return 0.5, true
	}
	percent, ok := strings.CutPrefix(word, "p")
	if !ok || strings.Trim(percent, "0123456789.") != "" {
		return 0, false
	}
	// The division is a part of the text, because the quotient of floats may be another decimal.
	q, err := strconv.ParseFloat(percent+"e-2", 64)
	return q, err == nil && q <= 1
}

// histograms contains the states of an aggregate of quantiles.
type histograms struct{ perGroup[histogram] }

// histogram contains the values of a group, or the number of values in each bin if the group has more
// than maxExactValues values.
type histogram struct {
	values []float64
	bins   sketch.Histogram // nil if values is used
}

func (h *histograms) exact(group int) bool { return h.list[group].bins == nil }

func (h *histograms) add(group int, v *values) {
	if n, ok := v.number(h.column); ok {
		h.list[group].add(n.Float() + 0) // -0 becomes 0
	}
}

func (h *histogram) add(f float64) {
	if h.bins == nil && len(h.values) == maxExactValues {
		h.count()
	}
	if h.bins != nil {
		h.bins.Add(f)
		return
	}
	h.values = append(h.values, f)
}

// count replaces the values by their numbers in bins.
func (h *histogram) count() {
	h.bins = sketch.Histogram{}
	for _, f := range h.values {
		h.bins.Add(f)
	}
	h.values = nil
}

func (h *histograms) merge(group int, from states, other int) {
	at, with := &h.list[group], &from.(*histograms).list[other]
	for _, f := range with.values {
		at.add(f)
	}
	if with.bins != nil {
		if at.bins == nil {
			at.count()
		}
		at.bins.Merge(with.bins)
	}
}

// append encodes the sorted values, preceded by their number, or the bins, preceded by
// maxExactValues+1.
func (h *histograms) append(b []byte, group int) []byte {
	at := &h.list[group]
	if at.bins != nil {
		return at.bins.Append(binary.AppendUvarint(b, maxExactValues+1))
	}
	slices.Sort(at.values)
	b = binary.AppendUvarint(b, uint64(len(at.values)))
	for _, f := range at.values {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
	}
	return b
}

func (h *histograms) read(b []byte) ([]byte, error) {
	var one histogram
	count, size := binary.Uvarint(b)
	if size <= 0 || count > maxExactValues+1 || count <= maxExactValues && count*8 > uint64(len(b)-size) {
		return nil, errStates
	}
	b = b[size:]
	if count > maxExactValues {
		var err error
		if one.bins, b, err = sketch.ReadHistogram(b); err != nil {
			return nil, errStates
		}
	} else if count > 0 {
		one.values = make([]float64, count)
		for i := range one.values {
			one.values[i], b = math.Float64frombits(binary.LittleEndian.Uint64(b)), b[8:]
		}
	}
	h.list = append(h.list, one)
	return b, nil
}

func (h *histograms) result(group int, a aggregate) (cell, error) {
	at := &h.list[group]
	if at.bins != nil {
		return float(at.bins.Quantile(a.number)), nil
	}
	if len(at.values) == 0 {
		return null, nil
	}
	slices.Sort(at.values)
	return float(at.values[sketch.Rank(a.number, uint64(len(at.values)))-1]), nil
}
