package exec

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// merge is one way to merge the outputs of calls. The functions of a merge work on the bodies of
// the partials that newPartial makes.
type merge struct {
	name string
	// normalize checks the output of one call, and converts it to the form that join expects.
	normalize func(output []byte) ([]byte, error)
	// join writes the merge of the bodies of neighbouring partials, which may be larger than the memory of a worker.
	join func(left, right *bodyReader, out *bodyWriter) error
	// joinWhole, if not nil, takes the place of join for bodies that must be in memory.
	joinWhole func(left, right []byte) ([]byte, error)
	// text, if not nil, converts the merged body to the output of the job.
	text func(body []byte) ([]byte, error)
}

// concat is the merge that joins the outputs in the order of the partitions.
var concat = merge{
	name:      "concat",
	normalize: func(output []byte) ([]byte, error) { return output, nil },
	join: func(left, right *bodyReader, out *bodyWriter) error {
		return cmp.Or(out.add(left), out.add(right))
	},
}

// byProgram is the merge that calls the program, in the method runners.merge.
var byProgram = merge{
	name:      "program",
	normalize: func(output []byte) ([]byte, error) { return output, nil },
	joinWhole: func(_, _ []byte) ([]byte, error) { return nil, errors.New("want a call of the program") },
}

var merges = []merge{concat, sum, least, greatest, sorted, object, hll, ddsketch, byProgram}

// parseMerge returns the merge with the given name.
func parseMerge(name string) (merge, error) {
	for i := range merges {
		if merges[i].name == name {
			return merges[i], nil
		}
	}
	if digits, found := strings.CutPrefix(name, "top:"); found {
		if n, err := strconv.Atoi(digits); err == nil && n >= 1 && n <= maxTop && strconv.Itoa(n) == digits {
			return top(name, n), nil
		}
		return merge{}, fmt.Errorf("parameter merge: got %.100q, takes top:N with N from 1 to %d", name, maxTop)
	}
	return merge{}, fmt.Errorf("parameter merge: got %.100q, takes concat, sum, min, max, sorted, top:N, json, hll, ddsketch or program", name)
}

// newPartial returns a partial, which consists of a line, the files if the line announces them, and the body.
// The line contains the name of the merge, because the functions that merge partials do not get the parameters of the job:
//
//	NAME
//	NAME OUTPUT LENGTH    with an output: its ID, and the number of bytes that describe the files
func newPartial(m merge, f files, body []byte) []byte {
	return append(appendHead(make([]byte, 0, headSize(m, f)+len(body)), m, f), body...)
}

// appendHead appends the beginning of a partial to data, up to its body.
func appendHead(data []byte, m merge, f files) []byte {
	data = append(data, m.name...)
	if f.output != "" {
		data = fmt.Appendf(data, " %s %d", f.output, len(f.items))
	}
	return append(append(data, '\n'), f.items...)
}

// headSize is at least the size in bytes of the beginning of a partial.
func headSize(m merge, f files) int { return len(m.name) + len(f.output) + len(f.items) + 24 }

// open splits a partial into its merge, the files that its calls have written, and its body.
func open(partial []byte) (m merge, f files, body []byte, err error) {
	r := bodyReader{text: partial}
	m, f, err = r.head()
	return m, f, r.text, err
}

// openText splits the partial of a result or a prefix into the files that its calls have written, and its output.
func openText(partial []byte) (f files, text []byte, err error) {
	m, f, text, err := open(partial)
	if err == nil && m.text != nil {
		text, err = m.text(text)
	}
	return f, text, err
}

var errPartial = errors.New("damaged partial")

// mergePartials merges two neighbouring partials.
func mergePartials(left, right []byte) ([]byte, error) {
	l, r := &bodyReader{text: left}, &bodyReader{text: right}
	m, f, err := heads(l, r)
	if err != nil {
		return nil, err
	}
	if m.name == concat.name && f.output == "" {
		return slices.Concat(left, r.text), nil // a slice that grows would have up to a quarter of memory to spare
	}
	if m.joinWhole != nil {
		body, err := m.joinWhole(l.text, r.text)
		if err != nil {
			return nil, fmt.Errorf("merge %s: %w", m.name, err)
		}
		return newPartial(m, f, body), nil
	}
	out := &bodyWriter{text: make([]byte, 0, headSize(m, f)+len(l.text)+len(r.text))}
	err = m.write(out, f, l, r)
	return out.text, err
}

// mergeStreams is like mergePartials for partials of a merge with the function join.
func mergeStreams(left, right io.Reader, merged io.Writer) error {
	l, r, out := &bodyReader{from: left}, &bodyReader{from: right}, &bodyWriter{to: merged}
	m, f, err := heads(l, r)
	if err != nil {
		return err
	}
	return cmp.Or(m.write(out, f, l, r), out.flush())
}

// mergesStreams reports whether mergeStreams merges the partials of a job.
func (p Params) mergesStreams() bool {
	m, err := parseMerge(p.Merge)
	return err == nil && m.join != nil
}

// heads reads the beginnings of two neighbouring partials, and returns their merge and their files.
func heads(left, right *bodyReader) (m merge, f files, err error) {
	m, f, err = left.head()
	if err != nil {
		return m, f, err
	}
	other, g, err := right.head()
	if err != nil {
		return m, f, err
	}
	if m.name != other.name || f.output != g.output {
		return m, f, fmt.Errorf("merge a partial of merge %s %s with one of merge %s %s", m.name, f.output, other.name, g.output)
	}
	return m, f.and(g), nil
}

// write writes the partial of the merged bodies left and right.
func (m merge) write(out *bodyWriter, f files, left, right *bodyReader) error {
	out.text = appendHead(out.text, m, f)
	if err := m.join(left, right, out); err != nil {
		return fmt.Errorf("merge %s: %w", m.name, err)
	}
	return nil
}
