package parquet

import (
	"errors"
	"fmt"
	"io"

	library "github.com/parquet-go/parquet-go"

	"github.com/bellwether-compute/bellwether/jobs/dataset/form"
)

const (
	// nestedBatch is the maximum number of rows with lists or maps that are decoded together.
	nestedBatch = 64
	// maxText is the maximum size in bytes of the JSON text of a list or map in a row.
	maxText = 64 << 20
	// maxTexts is the maximum size in bytes of the texts of a column in rows that are decoded together.
	maxTexts = 512 << 20
	// streamed is the number of values of a column in a list or map that are decoded together.
	streamed = 256
)

// nested writes lists or maps as JSON. The values of each column in them are in the order of the rows, and the levels of a
// value say where it is in the lists:
//
//	[[1,2],[3]]  []  null       values           1  2  3  -  -
//	                            repetition       0  2  1  0  0    the list, counted from outside, of which the value is an item; 0 begins a row
//	                            definition       5  5  5  1  0    number of optional and repeated nodes on the path that exist
type nested struct {
	node    *schemaNode
	streams []*stream // columns in the node
	out     []byte    // texts of the batch
	begin   int       // beginning of the text of the current row
	err     error
}

// stream returns the values of a column in a list or map, with their levels.
type stream struct {
	column
	buffer [streamed]library.Value
	at, n  int // values in the buffer that were not taken
	read   int64
	ended  bool
}

var errLevels = errors.New("the columns of a list or map have different numbers of items")

// fill sets values to the next lists or maps.
func (a *nested) fill(values []library.Value) error {
	a.out = a.out[:0]
	for i := range values {
		a.begin = len(a.out)
		if !a.rowBegins() {
			a.fail(errRows)
		}
		if a.isNull(a.node) {
			a.skip(a.node)
			values[i] = library.NullValue()
		} else {
			a.write(a.node, 0)
			values[i] = library.ByteArrayValue(a.out[a.begin:len(a.out):len(a.out)])
		}
		if a.err == nil && !a.rowEnds() {
			a.fail(errLevels)
		}
		if a.err != nil {
			return a.err
		}
	}
	return nil
}

func (a *nested) fail(err error) {
	if a.err == nil {
		a.err = err
	}
}

// rowBegins reports whether each column has a value that begins a row.
func (a *nested) rowBegins() bool {
	for _, s := range a.streams {
		if v := a.peek(s); v == nil || v.RepetitionLevel() != 0 {
			return false
		}
	}
	return true
}

// rowEnds reports whether no column has another value of the row.
func (a *nested) rowEnds() bool {
	for _, s := range a.streams {
		if v := a.peek(s); v != nil && v.RepetitionLevel() != 0 {
			return false
		}
	}
	return a.err == nil
}

// of returns the values of a column of the object.
func (a *nested) of(n *schemaNode) *stream { return a.streams[n.leaf-a.streams[0].leaf.index] }

// peek returns the next value of a column, or nil at the end.
func (a *nested) peek(s *stream) *library.Value {
	for s.at == s.n && !s.ended && a.err == nil {
		if err := s.load(); err != nil {
			a.fail(fmt.Errorf("column %q: %w", s.leaf.name, err))
		}
	}
	if s.at == s.n || a.err != nil {
		return nil
	}
	return &s.buffer[s.at]
}

// load reads values of the current page, or begins the next page. Bytes after the last value of the column are not a page.
func (s *stream) load() error {
	if s.left == 0 && s.read >= s.source.column.NumValues {
		s.ended = true
		return nil
	}
	if s.left == 0 {
		page, err := s.page()
		if errors.Is(err, io.EOF) {
			err = errRows
		}
		if err != nil {
			return err
		}
		s.left, s.reader = int(page.NumValues()), page.Values()
		return nil
	}
	n, err := s.reader.ReadValues(s.buffer[:min(streamed, s.left)])
	if n == 0 || err != nil && !errors.Is(err, io.EOF) {
		return errFewer
	}
	s.at, s.n, s.left, s.read = 0, n, s.left-n, s.read+int64(n)
	return s.leaf.check(s.buffer[:n])
}

// next returns the next value of a node's column, whose definition level must be at least the given one.
func (a *nested) next(n *schemaNode, least int) *library.Value {
	v := a.peek(a.of(n))
	if v == nil || v.DefinitionLevel() < least {
		a.fail(errLevels)
		return nil
	}
	return v
}

// isNull reports whether the next value of a node is null, or that of a node around it.
func (a *nested) isNull(n *schemaNode) bool {
	v := a.next(n.first(), 0)
	return v != nil && v.DefinitionLevel() < n.level
}

// skip takes the values of a node that is null or empty. Each column has one.
func (a *nested) skip(n *schemaNode) {
	least := n.level
	if n.shape == list || n.shape == mapping {
		least = n.filled
	}
	for _, one := range n.singles() {
		v := a.next(one, 0)
		if v == nil || v.DefinitionLevel() >= least {
			a.fail(errLevels)
			return
		}
		a.of(one).at++
	}
}

// write appends a value as JSON. The parameter least is the definition level of the values of a node around it.
func (a *nested) write(n *schemaNode, least int) {
	if len(a.out)-a.begin > maxText || len(a.out) > maxTexts {
		a.fail(&UnreadableError{fmt.Sprintf("a list or map has more than %d bytes as text, or those of %d rows more than %d: leave the column out, for example with the parameter columns", maxText, nestedBatch, maxTexts)})
	}
	first := n.first()
	if first == nil {
		a.out = append(a.out, "{}"...)
		return
	}
	v := a.next(first, least)
	switch {
	case a.err != nil:
	case n.nullable && v.DefinitionLevel() < n.level:
		a.skip(n)
		a.out = append(a.out, "null"...)
	case n.shape == single:
		if v.DefinitionLevel() < n.level {
			a.fail(errLevels)
			return
		}
		s := a.of(n)
		a.out = s.leaf.appendJSON(a.out, v)
		s.at++
	case n.shape == structure:
		a.structure(n)
	case v.DefinitionLevel() < n.filled:
		a.skip(n)
		a.out = append(a.out, map[shape]string{list: "[]", mapping: "{}"}[n.shape]...)
	case n.shape == list:
		a.list(n, first)
	default:
		a.mapping(n, first)
	}
}

func (a *nested) structure(n *schemaNode) {
	a.out = append(a.out, '{')
	for i, below := range n.below {
		if i > 0 {
			a.out = append(a.out, ',')
		}
		a.out = append(form.AppendString(a.out, []byte(below.name)), ':')
		a.write(below, n.level)
	}
	a.out = append(a.out, '}')
}

func (a *nested) list(n, first *schemaNode) {
	a.out = append(a.out, '[')
	for more := true; more && a.err == nil; {
		a.write(n.below[0], n.filled)
		if more = a.again(n, first); more {
			a.out = append(a.out, ',')
		}
	}
	a.out = append(a.out, ']')
}

// mapping appends a map, whose keys it sorts. Of equal keys the last one counts, as the format demands.
func (a *nested) mapping(n, first *schemaNode) {
	a.out = append(a.out, '{')
	begin := len(a.out)
	var members []form.Member
	key, value := n.below[0], n.below[1]
	for more := true; more && a.err == nil; more = a.again(n, first) {
		v := a.next(key, key.level)
		if v == nil {
			return
		}
		s := a.of(key)
		m := form.Member{Key: s.leaf.append(nil, v), Lo: len(a.out)}
		s.at++
		a.out = append(form.AppendString(a.out, m.Key), ':')
		a.write(value, n.filled)
		m.Hi = len(a.out)
		members = append(members, m)
	}
	a.out, _ = form.SortMembers(a.out, begin, members)
	a.out = append(a.out, '}')
}

// again reports whether a list or map has another item. All columns in it must agree.
func (a *nested) again(n, first *schemaNode) bool {
	more := a.repeats(n, first)
	for _, one := range n.singles() {
		if a.repeats(n, one) != more {
			a.fail(errLevels)
		}
	}
	return more && a.err == nil
}

// repeats reports whether the next value of a column is another item of a list or map.
func (a *nested) repeats(n, one *schemaNode) bool {
	v := a.peek(a.of(one))
	if v != nil && v.RepetitionLevel() > n.repeated {
		a.fail(errLevels)
	}
	return v != nil && v.RepetitionLevel() == n.repeated
}
