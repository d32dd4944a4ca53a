package exec

import (
	"bytes"
	"encoding/binary"
	"errors"
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
var hll = sketches("hll",
	func() *sketch.Distinct { return &sketch.Distinct{} },
	func(d *sketch.Distinct, value []byte) error {
		d.Add(value)
		return nil
	},
	func(d, other *sketch.Distinct) { d.Merge(other) },
	func(d *sketch.Distinct, b []byte) []byte { return d.Append(b) },
	func(b []byte) (*sketch.Distinct, []byte, error) {
		d, rest, err := sketch.ReadDistinct(b)
		return &d, rest, err
	},
	func(d *sketch.Distinct, text []byte) []byte { return strconv.AppendUint(text, d.Count(), 10) })

// quantiles lists the quantiles in the output of ddsketch. The number of values precedes the
// quantiles.
var quantiles = []float64{0.5, 0.9, 0.95, 0.99}

// ddsketch is the merge that finds the quantiles of each key's numbers.
var ddsketch = sketches("ddsketch",
	func() sketch.Histogram { return sketch.Histogram{} },
	func(h sketch.Histogram, value []byte) error {
		f, err := strconv.ParseFloat(string(bytes.Trim(value, " ")), 64)
		if err != nil || f-f != 0 {
			return fmt.Errorf("%.100q: want a key, a tab and a number", value)
		}
		h.Add(f)
		return nil
	},
	sketch.Histogram.Merge,
	sketch.Histogram.Append,
	sketch.ReadHistogram,
	func(h sketch.Histogram, text []byte) []byte {
		text = strconv.AppendUint(text, h.Count(), 10)
		for _, q := range quantiles {
			text = strconv.AppendFloat(append(text, '\t'), h.Quantile(q), 'g', -1, 64)
		}
		return text
	})

// sketches returns a merge that keeps a sketch of type S for each key.
func sketches[S any](name string, empty func() S, add func(S, []byte) error, mergeTwo func(S, S),
	encode func(S, []byte) []byte, decode func([]byte) (S, []byte, error), format func(S, []byte) []byte,
) merge {
	encodeAll := func(all map[string]S) (body []byte) {
		for _, key := range slices.Sorted(maps.Keys(all)) {
			body = append(binary.AppendUvarint(body, uint64(len(key))), key...)
			body = encode(all[key], body)
		}
		return body
	}
	each := func(body []byte, do func(key string, s S)) error {
		for len(body) > 0 {
			length, size := binary.Uvarint(body)
			if size <= 0 || length > uint64(len(body)-size) {
				return errors.New("damaged partial")
			}
			key := string(body[size : size+int(length)])
			s, rest, err := decode(body[size+int(length):])
			if err != nil {
				return err
			}
			do(key, s)
			body = rest
		}
		return nil
	}
	return merge{
		name: name,
		normalize: func(output []byte) ([]byte, error) {
			all, number := map[string]S{}, 0
			for line := range lines(output) {
				number++
				if line = bytes.TrimSuffix(line, []byte{'\r'}); len(line) == 0 {
					continue
				}
				key, value := []byte(nil), line
				if at := bytes.LastIndexByte(line, '\t'); at >= 0 {
					key, value = line[:at], line[at+1:]
				}
				s, found := all[string(key)]
				if !found {
					s = empty()
					all[string(key)] = s
				}
				if err := add(s, value); err != nil {
					return nil, fmt.Errorf("line %d: %w", number, err)
				}
			}
			return encodeAll(all), nil
		},
		join: func(left, right []byte) ([]byte, error) {
			all := map[string]S{}
			for _, body := range [][]byte{left, right} {
				err := each(body, func(key string, s S) {
					if with, found := all[key]; found {
						mergeTwo(with, s)
					} else {
						all[key] = s
					}
				})
				if err != nil {
					return nil, err
				}
			}
			return encodeAll(all), nil
		},
		text: func(body []byte) (text []byte, err error) {
			err = each(body, func(key string, s S) {
				if key != "" {
					text = append(append(text, key...), '\t')
				}
				text = append(format(s, text), '\n')
			})
			return text, err
		},
	}
}
