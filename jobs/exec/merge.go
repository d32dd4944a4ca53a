package exec

import (
	"bytes"
	"errors"
	"fmt"
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
	// join merges the bodies of neighbouring partials. join may change left, and may return left.
	join func(left, right []byte) ([]byte, error)
	// text, if not nil, converts the merged body to the output of the job.
	text func(body []byte) ([]byte, error)
}

// concat is the merge that joins the outputs in the order of the partitions.
var concat = merge{
	name:      "concat",
	normalize: func(output []byte) ([]byte, error) { return output, nil },
	join:      func(left, right []byte) ([]byte, error) { return append(left, right...), nil },
}

// byProgram is the merge that calls the program. Merges call the method runners.merge, and never
// the function join of byProgram.
var byProgram = merge{
	name:      "program",
	normalize: func(output []byte) ([]byte, error) { return output, nil },
	join:      func(_, _ []byte) ([]byte, error) { return nil, errors.New("want a call of the program") },
}

// parseMerge returns the merge with the given name.
func parseMerge(name string) (merge, error) {
	list := []merge{concat, sum, least, greatest, sorted, object, hll, ddsketch, byProgram}
	for _, m := range list {
		if m.name == name {
			return m, nil
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
	if f.output == "" {
		return slices.Concat([]byte(m.name), []byte{'\n'}, body)
	}
	return slices.Concat(fmt.Appendf(nil, "%s %s %d\n", m.name, f.output, len(f.items)), f.items, body)
}

// open splits a partial into its merge, the files that its calls have written, and its body.
func open(partial []byte) (m merge, f files, body []byte, err error) {
	line, body, found := bytes.Cut(partial, []byte{'\n'})
	name, rest, described := strings.Cut(string(line), " ")
	if described {
		var length string
		f.output, length, _ = strings.Cut(rest, " ")
		n, err := strconv.Atoi(length)
		if err != nil || n < 0 || n > len(body) || f.output == "" {
			return m, f, nil, errPartial
		}
		f.items, body = body[:n:n], body[n:]
	}
	if !found {
		return m, f, nil, errPartial
	}
	m, err = parseMerge(name)
	return m, f, body, err
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
	m, f, a, err := open(left)
	if err != nil {
		return nil, err
	}
	other, g, b, err := open(right)
	if err != nil {
		return nil, err
	}
	if m.name != other.name || f.output != g.output {
		return nil, fmt.Errorf("merge a partial of merge %s %s with one of merge %s %s", m.name, f.output, other.name, g.output)
	}
	if m.name == concat.name && f.output == "" {
		return append(left, b...), nil
	}
	body, err := m.join(a, b)
	if err != nil {
		return nil, fmt.Errorf("merge %s: %w", m.name, err)
	}
	return newPartial(m, f.and(g), body), nil
}
