// Package member finds the members of nested objects that a job reads by their paths, such as a.b. It is for JSON and Avro.
package member

import (
	"iter"
	"strings"
)

// Member is a member of an object that is wanted, or below which members are wanted.
type Member struct {
	Index int // index of the member's path, or -1 if it is not wanted
	Below map[string]*Member
}

// New returns the object of the wanted members, which are given by their paths. If the list contains a path twice, the
// member has the first index.
func New(paths []string) *Member {
	root := &Member{Index: -1}
	for i, path := range paths {
		m := root
		for name := range strings.SplitSeq(path, ".") {
			next := m.Below[name]
			if next == nil {
				next = &Member{Index: -1}
				if m.Below == nil {
					m.Below = map[string]*Member{}
				}
				m.Below[name] = next
			}
			m = next
		}
		if m.Index < 0 {
			m.Index = i
		}
	}
	return root
}

// Find returns the member with a name, or nil if neither it nor a member below it is wanted. A name that
// contains dots is the same as a path.
func (m *Member) Find(name string) *Member {
	for m != nil {
		part, rest, more := strings.Cut(name, ".")
		if m = m.Below[part]; !more {
			return m
		}
		name = rest
	}
	return nil
}

// Indices returns the indices of the wanted members below m, and of m, in no order.
func (m *Member) Indices() iter.Seq[int] {
	return func(yield func(int) bool) { m.each(yield) }
}

func (m *Member) each(yield func(int) bool) bool {
	if m.Index >= 0 && !yield(m.Index) {
		return false
	}
	for _, below := range m.Below {
		if !below.each(yield) {
			return false
		}
	}
	return true
}
