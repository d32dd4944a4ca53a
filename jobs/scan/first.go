package scan

import "cmp"

// selector selects the first groups in the order of a result with a limit, so that only these are kept and sorted.
type selector struct {
	groups *groups
	orders []rowOrder
	most   int         // number of groups to select, which includes those before the offset
	first  []candidate // the first groups of those added; a heap with the last one at its top once there are as many as most
	next   candidate   // the group that is added
	cursor *cursor     // at the group next
	err    error
}

// candidate is a group that may be selected.
type candidate struct {
	at       int      // offset of the group in the run
	prefixes []uint64 // prefixes of its values in the first columns of the orders, as far as they were needed
}

// add adds the group of a cursor, at an offset of the run, to the first groups, and drops the last of these if there are
// too many.
func (s *selector) add(c *cursor, at int) error {
	switch {
	case len(s.first) < s.most:
		if s.first = append(s.first, candidate{at: at}); len(s.first) == s.most {
			heapify(s.first, s.above)
		}
	default:
		s.cursor, s.next = c, candidate{at, s.next.prefixes[:0]}
		if s.compare(&s.next, &s.first[0]) < 0 {
			s.next, s.first[0] = s.first[0], s.next
			sink(s.first, 0, s.above)
		}
	}
	return s.err
}

// above reports whether a group is sorted after another one.
func (s *selector) above(a, b *candidate) bool { return s.compare(a, b) > 0 }

// compare compares two groups in the order of the result.
func (s *selector) compare(a, b *candidate) int {
	for i, o := range s.orders {
		x, y := s.prefix(a, i), s.prefix(b, i)
		order := comparePrefixes(x, y)
		if order == 0 && x&y&prefixExact == 0 {
			var err error
			order, err = s.groups.compare(a.at, b.at, o.Column)
			s.err = cmp.Or(s.err, err)
		}
		if o.Descending {
			order = -order
		}
		if order != 0 {
			return order
		}
	}
	return 0
}

// prefix returns the prefix of a group's value in column i of the orders. It computes prefixes when they are first
// needed.
func (s *selector) prefix(c *candidate, i int) uint64 {
	if len(c.prefixes) > i {
		return c.prefixes[i]
	}
	group := s.cursor
	if c != &s.next {
		group = s.group(c.at)
	}
	for len(c.prefixes) <= i {
		p, err := s.groups.prefix(group, s.orders[len(c.prefixes)].Column)
		c.prefixes, s.err = append(c.prefixes, p), cmp.Or(s.err, err)
	}
	return c.prefixes[i]
}

// group returns a cursor at the group at an offset of the run.
func (s *selector) group(at int) *cursor {
	c, err := s.groups.group(at)
	s.err = cmp.Or(s.err, err)
	return &c
}
