package exec

import (
	"bytes"
	"cmp"
	"iter"
	"slices"
)

// sorted is the merge that keeps all lines and sorts them by their bytes.
var sorted = merge{
	name: "sorted",
	normalize: func(output []byte) ([]byte, error) {
		return textOf(slices.SortedStableFunc(lines(output), bytes.Compare)), nil
	},
	join: func(left, right *bodyReader, out *bodyWriter) error {
		return joinLines(left, right, out, lineOrder[[]byte]{
			parse:   func(line []byte) ([]byte, error) { return line, nil },
			compare: func(a, b *[]byte) (int, error) { return cmp.Or(bytes.Compare(*a, *b), -1), nil },
			format:  func(text []byte, line *[]byte) []byte { return append(append(text, *line...), '\n') },
		})
	},
}

// lines returns the lines of a text, without newlines. The last line need not end in a newline.
func lines(text []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(text) > 0 {
			line, rest, _ := bytes.Cut(text, []byte{'\n'})
			if !yield(line) {
				return
			}
			text = rest
		}
	}
}

// textOf returns a text that consists of the given lines. Each line of the text ends in a newline.
func textOf(list [][]byte) []byte {
	size := 0
	for _, line := range list {
		size += len(line) + 1
	}
	text := make([]byte, 0, size)
	for _, line := range list {
		text = append(append(text, line...), '\n')
	}
	return text
}

// keyedLine is a line that consists of a key, a tab and a value. The key of a line without a tab is
// empty.
type keyedLine struct {
	number           int // of the line, from 1 on
	text, key, value []byte
}

// keyed yields the lines of an output that are not empty.
func keyed(output []byte) iter.Seq[keyedLine] {
	return func(yield func(keyedLine) bool) {
		number := 0
		for line := range lines(output) {
			number++
			if line = bytes.TrimSuffix(line, []byte{'\r'}); len(line) == 0 {
				continue
			}
			l := keyedLine{number: number, text: line}
			if l.key, l.value = splitLine(line); !yield(l) {
				return
			}
		}
	}
}

// splitLine splits a line at its last tab into a key and a value.
func splitLine(line []byte) (key, value []byte) {
	at := bytes.LastIndexByte(line, '\t')
	return line[:max(at, 0)], line[at+1:]
}
