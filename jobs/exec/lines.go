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
		return joinLines(slices.SortedStableFunc(lines(output), bytes.Compare)), nil
	},
	join: func(left, right []byte) ([]byte, error) {
		out := make([]byte, 0, len(left)+len(right))
		for len(left) > 0 && len(right) > 0 {
			from := &left
			if cmp.Or(bytes.Compare(firstLine(left), firstLine(right)), -1) > 0 {
				from = &right
			}
			n := len(firstLine(*from)) + 1
			out, *from = append(out, (*from)[:n]...), (*from)[n:]
		}
		return append(append(out, left...), right...), nil
	},
}

// firstLine returns the first line of text, without its newline. The text must contain a newline.
func firstLine(text []byte) []byte { return text[:bytes.IndexByte(text, '\n')] }

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

// joinLines returns a text that consists of the given lines. Each line of the text ends in a
// newline.
func joinLines(list [][]byte) (text []byte) {
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
			l := keyedLine{number: number, text: line, value: line}
			if at := bytes.LastIndexByte(line, '\t'); at >= 0 {
				l.key, l.value = line[:at], line[at+1:]
			}
			if !yield(l) {
				return
			}
		}
	}
}
