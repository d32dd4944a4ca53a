package exec

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/cockroachdb/apd/v3"
)

// The merges of this file expect lines that consist of a key, a tab and a number. A line without a
// tab is a number whose key is empty. The body of a partial contains each key once, sorted by the
// bytes of the keys. The body of the merge top has the order of the result instead, and may contain
// a key several times.

var (
	sum = numbers("sum", func(a, b *apd.Decimal) error {
		_, err := exact.Add(a, a, b)
		return err
	})
	least = numbers("min", func(a, b *apd.Decimal) error {
		if b.Cmp(a) < 0 {
			a.Set(b)
		}
		return nil
	})
	greatest = numbers("max", func(a, b *apd.Decimal) error {
		if b.Cmp(a) > 0 {
			a.Set(b)
		}
		return nil
	})
)

// exact is the decimal arithmetic that computes the sums. The precision of exact is unlimited, so
// sums are not rounded.
var exact = apd.Context{MaxExponent: maxMerged, MinExponent: -maxMerged, Traps: apd.DefaultTraps}

const (
	// maxExponent is the largest power of ten in a number, and -maxExponent is the smallest. The
	// limit bounds the size of sums, because a sum has a digit for each power of ten between its
	// largest and its smallest number. All values of a float64 are within the limit.
	maxExponent = 400
	// maxMerged is the limit for merged numbers. A sum of 10^400 numbers is within this limit.
	maxMerged = 2 * maxExponent
	maxTop    = 1_000_000
)

// entry is one line of an output: a key and a number.
type entry struct {
	key   []byte
	value apd.Decimal
}

// numbers returns a merge that calls combine for numbers with equal keys. The function combine must
// store its result in a. The number a precedes b in the outputs.
func numbers(name string, combine func(a, b *apd.Decimal) error) merge {
	return merge{
		name: name,
		normalize: func(output []byte) ([]byte, error) {
			list, err := parseEntries(output)
			if err != nil {
				return nil, err
			}
			slices.SortStableFunc(list, func(a, b entry) int { return bytes.Compare(a.key, b.key) })
			n := 0 // number of entries with distinct keys so far
			for i := range list {
				if n == 0 || !bytes.Equal(list[n-1].key, list[i].key) {
					list[n] = list[i]
					n++
				} else if err := combine(&list[n-1].value, &list[i].value); err != nil {
					return nil, fmt.Errorf("key %.100q: %w", list[i].key, err)
				}
			}
			return formatEntries(list[:n]), nil
		},
		join: func(left, right *bodyReader, out *bodyWriter) error {
			return joinLines(left, right, out, lineOrder[entry]{
				parse: parseMerged, format: appendEntry,
				compare: func(a, b *entry) (int, error) {
					order := bytes.Compare(a.key, b.key)
					if order == 0 {
						if err := combine(&a.value, &b.value); err != nil {
							return 0, fmt.Errorf("key %.100q: %w", a.key, err)
						}
					}
					return order, nil
				},
			})
		},
	}
}

// top returns the merge that keeps the n lines with the greatest numbers, the greatest number
// first. Lines with equal numbers stay in the order of their partitions.
func top(name string, n int) merge {
	return merge{
		name: name,
		normalize: func(output []byte) ([]byte, error) {
			list, err := parseEntries(output)
			slices.SortStableFunc(list, func(a, b entry) int { return b.value.Cmp(&a.value) })
			return formatEntries(list[:min(n, len(list))]), err
		},
		join: func(left, right *bodyReader, out *bodyWriter) error {
			return joinLines(left, right, out, lineOrder[entry]{
				parse: parseMerged, format: appendEntry, most: n,
				compare: func(a, b *entry) (int, error) { return cmp.Or(b.value.Cmp(&a.value), -1), nil },
			})
		},
	}
}

// parseEntries parses the output of a call: lines of a key, a tab and a number. An error contains the number of the line.
func parseEntries(output []byte) (list []entry, err error) {
	for l := range keyed(output) {
		e, err := parseEntry(l.key, l.value, maxExponent)
		if err != nil {
			return nil, fmt.Errorf("line %d, %.100q: %w", l.number, l.text, err)
		}
		list = append(list, e)
	}
	return list, nil
}

// parseMerged parses a line of the body of a partial.
func parseMerged(line []byte) (entry, error) {
	key, value := splitLine(line)
	return parseEntry(key, value, maxMerged)
}

// parseEntry parses a number. The limit is maxExponent for the output of a call, and maxMerged for a partial.
func parseEntry(key, number []byte, limit int) (e entry, err error) {
	e.key = key
	// Spaces are removed, because some versions of wc print spaces around numbers.
	_, condition, err := e.value.SetString(string(bytes.Trim(number, " ")))
	if err != nil || condition.Any() || e.value.Form != apd.Finite || tooLarge(&e.value, limit) {
		return e, fmt.Errorf("want a key, a tab and a decimal number of at most %d digits", limit)
	}
	return e, nil
}

// tooLarge reports whether a number has digits beyond the power of ten limit or below -limit.
func tooLarge(d *apd.Decimal, limit int) bool {
	return int(d.Exponent) < -limit || int64(d.Exponent)+d.NumDigits() > int64(limit)
}

// formatEntries returns entries as the body of a partial.
func formatEntries(list []entry) []byte {
	size := 0
	for i := range list {
		size += len(list[i].key) + 12
	}
	text := make([]byte, 0, size)
	for i := range list {
		text = appendEntry(text, &list[i])
	}
	return text
}

// appendEntry appends an entry to text as a line that parseMerged can parse.
func appendEntry(text []byte, e *entry) []byte {
	if len(e.key) > 0 {
		text = append(append(text, e.key...), '\t')
	}
	return append(e.value.Append(text, 'f'), '\n')
}
