package avro

import (
	"github.com/bellwether-compute/bellwether/jobs/dataset/member"
	"github.com/bellwether-compute/bellwether/jobs/dataset/typed"
)

// Columns returns the names of the fields of the schema's record.
func (f *File) Columns() (names []string) {
	for _, one := range f.schema.fields {
		names = append(names, one.name)
	}
	return names
}

// Selection are the columns of an object that a job reads.
type Selection struct {
	root  *plan
	names []string
	types []*typ // type of each column, or nil if it is the value of a key of a map below other values
	same  []int  // index of the first column with the same name
	plans map[planned]*plan
}

// plan says what is read of a value.
type plan struct {
	typ    *typ
	column int                      // index of the column that is the value, or -1
	below  []*plan                  // what is read of the fields of a record, or of the branches of a union; nil: nothing
	keys   *member.Member           // what is read of the keys of a map; nil: nothing
	values map[*member.Member]*plan // plans of the values of keys
}

// Select returns columns, which are fields or paths with dots, and the names of those that the object does not have.
func (f *File) Select(names []string) (s *Selection, missing []string) {
	s = &Selection{names: names, types: make([]*typ, len(names))}
	first := map[string]int{}
	for i, name := range names {
		at, again := first[name]
		if !again {
			at = i
			first[name] = i
		}
		s.same = append(s.same, at)
	}
	found := make([]bool, len(names))
	s.plans = map[planned]*plan{}
	s.root = s.plan(f.schema, member.New(names), found)
	for i, name := range names {
		if !found[s.same[i]] {
			missing = append(missing, name)
		}
	}
	return s, missing
}

// planned is what a plan is for. A type may occur at many places of a schema, and contain itself.
type planned struct {
	of     *typ
	member *member.Member
}

// plan makes the plan of a value, and notes the columns that it contains.
func (s *Selection) plan(t *typ, m *member.Member, found []bool) *plan {
	if m == nil {
		return nil
	}
	if p := s.plans[planned{t, m}]; p != nil {
		return p
	}
	p := &plan{typ: t, column: m.Index}
	s.plans[planned{t, m}] = p
	if p.column >= 0 {
		found[p.column], s.types[p.column] = true, t
	}
	if m.Below == nil {
		return p
	}
	switch t.wire {
	case record:
		for _, one := range t.fields {
			p.below = append(p.below, s.plan(one.typ, m.Find(one.name), found))
		}
	case union:
		for _, branch := range t.union {
			b := *s.plan(branch, m, found)
			b.column = -1 // the union is the column
			p.below = append(p.below, &b)
		}
		if p.column >= 0 {
			s.types[p.column] = t
		}
	case mapping:
		p.keys, p.values = m, map[*member.Member]*plan{}
		for i := range m.Indices() {
			if i != p.column {
				found[i], s.types[i] = true, t.of
			}
		}
	}
	return p
}

// Types returns the types of the columns: text, integer, decimal or float.
func (s *Selection) Types() (types []string) {
	for i := range s.names {
		kind := "text"
		if t := s.types[s.same[i]]; t != nil {
			kind = t.kind()
		}
		types = append(types, kind)
	}
	return types
}

// Typed returns the types of the columns in an output that has their values.
func (s *Selection) Typed() (types []typed.Type) {
	for i := range s.names {
		var of typed.Type
		if t := s.types[s.same[i]]; t != nil {
			of = t.bare().typed()
		}
		types = append(types, of)
	}
	return types
}

// Times returns an example of the texts of each column of dates, timestamps or times of day.
func (s *Selection) Times() map[string]string {
	examples := map[string]string{}
	for i, name := range s.names {
		t := s.types[s.same[i]]
		if t == nil {
			continue
		}
		switch t.bare().meaning {
		case date:
			examples[name] = "2026-11-22"
		case timestamp:
			examples[name] = "2026-11-22T21:04:00Z"
		case timeOfDay:
			examples[name] = "21:04:00"
		}
	}
	return examples
}
