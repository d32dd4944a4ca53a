package scan

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
)

// run contains groups in the ascending order of the bytes of their keys. A group is encoded as its
// key and the states of its aggregates, and each of these two parts is preceded by its length. A
// run needs about a tenth of the memory of a hash table, and two runs are merged without a hash
// table.
type run []byte

// minSlack is the smallest unused capacity of a merged run in bytes. Without it, the codec would copy
// the run to append to it, and both copies would be in memory.
const minSlack = 4 << 10

// count returns the number of groups.
func (r run) count() (n int, err error) {
	for c := (cursor{rest: r}); ; n++ {
		if err := c.next(); err != nil || c.group == nil {
			return n, err
		}
	}
}

// exceeds reports whether the run has more than n groups. It reads at most n+1 groups.
func (r run) exceeds(n int) (bool, error) {
	if len(r) <= n*minGroup {
		return false, nil
	}
	for c := (cursor{rest: r}); ; n-- {
		if err := c.next(); err != nil || c.group == nil || n < 0 {
			return n < 0, err
		}
	}
}

// minGroup is the smallest size of an encoded group in bytes: two lengths.
const minGroup = 2

// cursor iterates over the groups of a run.
type cursor struct {
	rest   run
	key    []byte
	states []byte
	group  []byte // the whole encoded group; nil after the last group
}

// next moves to the next group.
func (c *cursor) next() (err error) {
	all := c.rest
	if len(all) == 0 {
		*c = cursor{}
		return nil
	}
	if c.key, c.rest, err = readText(all); err != nil {
		return err
	}
	if c.states, c.rest, err = readText(c.rest); err != nil {
		return err
	}
	c.group = all[:len(all)-len(c.rest)]
	return nil
}

// scratch decodes the states of single groups.
type scratch struct {
	states []states
	buffer []byte
}

func newScratch(functions []aggregate) *scratch {
	s := new(scratch)
	for _, a := range functions {
		s.states = append(s.states, a.new())
	}
	return s
}

// reset removes all groups.
func (s *scratch) reset() {
	for _, one := range s.states {
		one.reset()
	}
}

// read decodes the states of a group, and appends the group.
func (s *scratch) read(data []byte) (err error) {
	for _, one := range s.states {
		if data, err = one.read(data); err != nil {
			return err
		}
	}
	if len(data) > 0 {
		return errStates
	}
	return nil
}

// appendGroup appends group g of the given states to a run.
func (s *scratch) appendGroup(to run, key []byte, list []states, g int) run {
	s.buffer = s.buffer[:0]
	for _, one := range list {
		s.buffer = one.append(s.buffer, g)
	}
	return appendText(appendText(to, key), s.buffer)
}

// merge merges two runs. The groups of left precede the groups of right in the input.
func (s *scratch) merge(left, right run) (run, error) {
	switch {
	case len(left) == 0:
		return right, nil
	case len(right) == 0:
		return left, nil
	}
	size, err := mergedSize(left, right)
	if err != nil {
		return nil, err
	}
	merged := make(run, 0, size+size/64+minSlack) // the codec appends the rest of the partial to the run
	err = eachPair(left, right, func(l, r *cursor) error {
		switch {
		case r == nil:
			merged = append(merged, l.group...)
			return nil
		case l == nil:
			merged = append(merged, r.group...)
			return nil
		}
		s.reset()
		if err := s.read(l.states); err != nil {
			return err
		}
		if err := s.read(r.states); err != nil {
			return err
		}
		for _, one := range s.states {
			one.merge(0, one, 1)
		}
		merged = s.appendGroup(merged, l.key, s.states, 0)
		return nil
	})
	return merged, err
}

// mergedSize estimates the size of two merged runs, so that merge need not enlarge the merged run.
// A merged group is normally not much larger than the larger one of its two parts.
func mergedSize(left, right run) (size int, err error) {
	err = eachPair(left, right, func(l, r *cursor) error {
		switch {
		case r == nil:
			size += len(l.group)
		case l == nil:
			size += len(r.group)
		default:
			size += max(len(l.group), len(r.group)) + 2
		}
		return nil
	})
	return size, err
}

// eachPair yields the groups of two runs in the order of their keys. If a run does not contain a
// group, the cursor of that run is nil.
func eachPair(left, right run, yield func(l, r *cursor) error) error {
	l, r := cursor{rest: left}, cursor{rest: right}
	if err := errors.Join(l.next(), r.next()); err != nil {
		return err
	}
	for l.group != nil || r.group != nil {
		order := 0
		switch {
		case r.group == nil:
			order = -1
		case l.group == nil:
			order = 1
		default:
			order = bytes.Compare(l.key, r.key)
		}
		first, second := &l, &r
		if order < 0 {
			second = nil
		} else if order > 0 {
			first = nil
		}
		if err := yield(first, second); err != nil {
			return err
		}
		if first != nil {
			if err := l.next(); err != nil {
				return err
			}
		}
		if second != nil {
			if err := r.next(); err != nil {
				return err
			}
		}
	}
	return nil
}

// encodeRun returns the groups of a table as a run.
func (t *table) encodeRun() run {
	shared := t.keys[:min(len(t.keys), t.ends[0])] // prefix of all keys
	for g := range t.hashes {
		for !bytes.HasPrefix(t.key(g), shared) {
			shared = shared[:len(shared)-1]
		}
	}
	type entry struct {
		begin uint64 // first bytes of the key after the shared prefix, which decide most comparisons
		group int
	}
	order := make([]entry, len(t.hashes))
	for g := range order {
		var word [8]byte
		copy(word[:], t.key(g)[len(shared):])
		order[g] = entry{binary.BigEndian.Uint64(word[:]), g}
	}
	slices.SortFunc(order, func(a, b entry) int {
		if a.begin != b.begin {
			return cmp.Compare(a.begin, b.begin)
		}
		return bytes.Compare(t.key(a.group), t.key(b.group))
	})
	s, r := new(scratch), make(run, 0, 2*len(t.keys))
	for _, e := range order {
		r = s.appendGroup(r, t.key(e.group), t.states, e.group)
	}
	return r
}
