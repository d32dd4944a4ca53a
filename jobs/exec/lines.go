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
