package exec

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/bellwether-compute/bellwether/jobs/internal/sketch"
)

// The merges of this file expect lines that consist of a key, a tab and a value. A line without a tab
// is a value whose key is empty. The body of a partial contains, sorted by the bytes of the keys, the
// length of each key, the key and the sketch of its values.

// hll is the merge that counts the distinct values of each key.
var hll = sketches[*sketch.Distinct]{
	empty: func() *sketch.Distinct { return &sketch.Distinct{} },
	add: func(d *sketch.Distinct, value []byte) error {
		d.Add(value)
		return nil
	},
	merge:  (*sketch.Distinct).Merge,
	append: (*sketch.Distinct).Append,
	read: func(b []byte) (*sketch.Distinct, []byte, error) {
		d, rest, err := sketch.ReadDistinct(b)
		return &d, rest, err
	},
	format: func(d *sketch.Distinct, text []byte) []byte { return strconv.AppendUint(text, d.Count(), 10) },
}.named("hll")

// quantiles lists the quantiles in the output of ddsketch. The number of values precedes the
// quantiles.
var quantiles = []float64{0.5, 0.9, 0.95, 0.99}

// ddsketch is the merge that finds the quantiles of each key's numbers.
var ddsketch = sketches[sketch.Histogram]{
	empty: func() sketch.Histogram { return sketch.Histogram{} },
	add: func(h sketch.Histogram, value []byte) error {
		f, err := strconv.ParseFloat(string(bytes.Trim(value, " ")), 64)
		if err != nil || f-f != 0 {
			return fmt.Errorf("%.100q: want a key, a tab and a number", value)
		}
		h.Add(f)
		return nil
	},
	merge:  sketch.Histogram.Merge,
	append: sketch.Histogram.Append,
	read:   sketch.ReadHistogram,
	format: func(h sketch.Histogram, text []byte) []byte {
		text = strconv.AppendUint(text, h.Count(), 10)
		for _, q := range quantiles {
			text = strconv.AppendFloat(append(text, '\t'), h.Quantile(q), 'g', -1, 64)
		}
		return text
	},
}.named("ddsketch")

// sketches is a merge that keeps a sketch of type S for each key.
type sketches[S any] struct {
	empty  func() S
	add    func(s S, value []byte) error
	merge  func(s, other S)
	append func(s S, b []byte) []byte
	read   func(b []byte) (s S, rest []byte, err error)
	format func(s S, text []byte) []byte
}

func (m sketches[S]) named(name string) merge {
	return merge{name: name, normalize: m.normalize, joinWhole: m.join, text: m.text}
}

func (m sketches[S]) normalize(output []byte) ([]byte, error) {
	all := map[string]S{}
	for l := range keyed(output) {
		s, found := all[string(l.key)]
		if !found {
			s = m.empty()
			all[string(l.key)] = s
		}
		if err := m.add(s, l.value); err != nil {
			return nil, fmt.Errorf("line %d: %w", l.number, err)
		}
	}
	return m.encode(all), nil
}

func (m sketches[S]) join(left, right []byte) ([]byte, error) {
	all := map[string]S{}
	for _, body := range [][]byte{left, right} {
		err := m.each(body, func(key string, s S) {
			if with, found := all[key]; found {
				m.merge(with, s)
			} else {
				all[key] = s
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return m.encode(all), nil
}

func (m sketches[S]) text(body []byte) (text []byte, err error) {
	err = m.each(body, func(key string, s S) {
		if key != "" {
			text = append(append(text, key...), '\t')
		}
		text = append(m.format(s, text), '\n')
	})
	return text, err
}

// encode returns the body of a partial.
func (m sketches[S]) encode(all map[string]S) (body []byte) {
	for _, key := range slices.Sorted(maps.Keys(all)) {
		body = append(binary.AppendUvarint(body, uint64(len(key))), key...)
		body = m.append(all[key], body)
	}
	return body
}

// each calls do for each key of the body of a partial.
func (m sketches[S]) each(body []byte, do func(key string, s S)) error {
	for len(body) > 0 {
		length, size := binary.Uvarint(body)
		if size <= 0 || length > uint64(len(body)-size) {
			return errPartial
		}
		key := string(body[size : size+int(length)])
		s, rest, err := m.read(body[size+int(length):])
		if err != nil {
			return err
		}
		do(key, s)
		body = rest
	}
	return nil
}
