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

// newPartial returns a partial, which consists of the name of its merge, a newline, and the body.
// The partial contains the name because the functions that merge partials do not get the parameters
// of the job.
func newPartial(m merge, body []byte) []byte {
	return slices.Concat([]byte(m.name), []byte{'\n'}, body)
}

// open splits a partial into its merge and its body.
func open(partial []byte) (m merge, body []byte, err error) {
	name, body, found := bytes.Cut(partial, []byte{'\n'})
	if !found {
		return merge{}, nil, fmt.Errorf("a partial of %d bytes does not name its merge", len(partial))
	}
	m, err = parseMerge(string(name))
	return m, body, err
}

// mergePartials merges two neighbouring partials.
func mergePartials(left, right []byte) ([]byte, error) {
	m, a, err := open(left)
	if err != nil {
		return nil, err
	}
	other, b, err := open(right)
	if err != nil {
		return nil, err
	}
	if m.name != other.name {
		return nil, fmt.Errorf("merge a partial of merge %s with one of merge %s", m.name, other.name)
	}
	if m.name == concat.name {
		return append(left, b...), nil
	}
	body, err := m.join(a, b)
	if err != nil {
		return nil, fmt.Errorf("merge %s: %w", m.name, err)
	}
	return newPartial(m, body), nil
}
