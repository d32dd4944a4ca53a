package scan

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs"
)

const (
	// maxTop is the maximum n of top(x,n).
	maxTop = 1000
	// maxTopValues is the maximum number of distinct values of a group for which top is computed.
	// No algorithm with less memory than one counter for each value finds the most frequent values
	// exactly, and the results of the approximate algorithms depend on the split.
	maxTopValues = 1 << 16
)

// topNote describes the result of top.
const topNote = "exact: pairs of value and count, the largest count first, equal counts by the bytes of the values"

// tops contains the states of an aggregate of the most frequent values.
type tops struct{ perGroup[top] }

// top contains the count of each value of a group.
type top struct {
	counts map[string]uint64
	over   bool // true if the group has more than maxTopValues values; counts is then nil
}

func (t *tops) add(group int, v *values) {
	if field := v.field(t.column); len(field) > 0 {
		t.list[group].add(field, 1)
	}
}

func (t *top) add(value []byte, n uint64) {
	if _, known := t.counts[string(value)]; !known && len(t.counts) == maxTopValues {
		*t = top{over: true}
	}
	if t.over {
		return
	}
	if t.counts == nil {
		t.counts = map[string]uint64{}
	}
	t.counts[string(value)] += n
}

func (t *tops) merge(group int, from states, other int) {
	at, with := &t.list[group], &from.(*tops).list[other]
	if with.over {
		*at = top{over: true}
	}
	for value, n := range with.counts {
		at.add([]byte(value), n)
	}
}

// append encodes the number of values plus 1, or 0 if there are too many values, and then the
// values in the order of their bytes.
func (t *tops) append(b []byte, group int) []byte {
	at := &t.list[group]
	if at.over {
		return append(b, 0)
	}
	b = binary.AppendUvarint(b, uint64(len(at.counts))+1)
	for _, value := range slices.Sorted(maps.Keys(at.counts)) {
		b = binary.AppendUvarint(appendText(b, value), at.counts[value])
	}
	return b
}

func (t *tops) read(b []byte) ([]byte, error) {
	count, size := binary.Uvarint(b)
	if size <= 0 || count > maxTopValues+1 {
		return nil, errStates
	}
	one := top{over: count == 0}
	b = b[size:]
	for i := uint64(1); i < count; i++ {
		value, rest, err := readText(b)
		if err != nil {
			return nil, err
		}
		n, size := binary.Uvarint(rest)
		if size <= 0 {
			return nil, errStates
		}
		one.add(value, n)
		b = rest[size:]
	}
	t.list = append(t.list, one)
	return b, nil
}

// result returns pairs of value and count as JSON.
func (t *tops) result(group int, a aggregate) (cell, error) {
	at := &t.list[group]
	if at.over {
		return null, jobs.Permanent(fmt.Errorf("%s: a group has more than %d distinct values: use by=%s, aggregate=count, order=-count and limit=%d", a.text, maxTopValues, a.column, int(a.number)))
	}
	values := slices.SortedFunc(maps.Keys(at.counts), func(x, y string) int {
		return cmp.Or(cmp.Compare(at.counts[y], at.counts[x]), strings.Compare(x, y))
	})
	pairs := [][2]any{}
	for _, value := range values[:min(len(values), int(a.number))] {
		pairs = append(pairs, [2]any{value, at.counts[value]})
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(pairs); err != nil {
		return null, err
	}
	return text(strings.TrimSuffix(b.String(), "\n")), nil
}
