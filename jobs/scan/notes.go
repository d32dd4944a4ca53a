package scan

import (
	"slices"

	"github.com/bellwether-compute/bellwether/jobs"
)

// note says what the groups have shown of an aggregate's column of the result.
type note byte

const (
	hasText    note = 1 << iota // an extreme is a text, so the column has the type text
	hasInexact                  // the result of a group is not exact
)

// notes has a note for each aggregate.
type notes []note

// merge returns the notes of two sets of groups. Either may be nil.
func (n notes) merge(other notes) notes {
	if n == nil {
		return slices.Clone(other)
	}
	for i, o := range other {
		n[i] |= o
	}
	return n
}

// noted reports whether groups show anything of the columns.
func (q query) noted() bool {
	return slices.ContainsFunc(q.aggregates, func(a aggregate) bool { return a.takes == numbersOrTexts || a.approximates() })
}

// add adds a group to the notes. The group must be the only one in the scratch.
func (n notes) add(all []aggregate, s *scratch) error {
	for i, a := range all {
		if a.takes == numbersOrTexts {
			c, err := s.states[i].result(0, a)
			if err != nil {
				return jobs.Permanent(err)
			}
			if c.kind == isString {
				n[i] |= hasText
			}
		}
		if about, ok := s.states[i].(approximate); ok && !about.exact(0) {
			n[i] |= hasInexact
		}
	}
	return nil
}

// read adds a group with the given states to the notes. It uses the scratch.
func (n notes) read(all []aggregate, s *scratch, states []byte) error {
	s.reset()
	if err := s.read(states); err != nil {
		return err
	}
	return n.add(all, s)
}

// columns returns the columns of the result of a query with aggregates.
func (q query) notedColumns(n notes) []Column {
	columns := q.resultColumns()
	for i, seen := range n {
		c := &columns[len(q.by)+i]
		if seen&hasText != 0 {
			c.Type = "text"
		}
		if seen&hasInexact != 0 {
			c.Note = q.aggregates[i].note
		}
	}
	return columns
}
