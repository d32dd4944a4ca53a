package scan

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"

	"golang.org/x/sync/errgroup"
)

// stream reads the groups of a run in storage. One piece of the run is in memory.
type stream struct {
	cursor
	left  spilled // pieces after the current one
	begin uint64  // first bytes of the key, which decide most comparisons
	run   int     // place of the run among all runs
}

// next moves to the next group.
func (s *stream) next(ctx context.Context) error {
	err := s.cursor.next()
	for err == nil && s.done() && len(s.left) > 0 {
		if s.rest, err = s.left[0].load(ctx); err == nil {
			s.left = s.left[1:]
			err = s.cursor.next()
		}
	}
	if err == nil {
		var word [8]byte
		copy(word[:], s.key)
		s.begin = binary.BigEndian.Uint64(word[:])
	}
	return err
}

// seek returns a stream at the first group of a run whose key is not less than a key.
func (list spilled) seek(ctx context.Context, run int, key []byte) (*stream, error) {
	at := 0
	for at+1 < len(list) && bytes.Compare(list[at+1].first, key) < 0 { // then the groups of list[at] precede the key
		at++
	}
	s := &stream{left: list[at:], run: run}
	for {
		if err := s.next(ctx); err != nil || s.done() || bytes.Compare(s.key, key) >= 0 {
			return s, err
		}
	}
}

// merging merges the groups of runs in storage in the order of their keys.
type merging struct {
	scratch *scratch
	heap    []*stream // streams that are not at their ends; the one with the first key is at the top
	states  []byte    // memory for the states of a merged group
}

// newMerging begins at a key.
func newMerging(ctx context.Context, functions []aggregate, runs []spilled, key []byte) (*merging, error) {
	streams := make([]*stream, len(runs))
	group, loading := errgroup.WithContext(ctx)
	group.SetLimit(spillsInFlight)
	for i, r := range runs {
		group.Go(func() (err error) {
			streams[i], err = r.seek(loading, i, key)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	m := &merging{scratch: newScratch(functions)}
	for _, s := range streams {
		if !s.done() {
			m.heap = append(m.heap, s)
		}
	}
	heapify(m.heap, before)
	return m, nil
}

// next returns the next group if its key is less than a border, which may be nil. The states are valid until the next call.
func (m *merging) next(ctx context.Context, border []byte) (key, states []byte, ok bool, err error) {
	if len(m.heap) == 0 || border != nil && bytes.Compare(m.heap[0].key, border) >= 0 {
		return nil, nil, false, nil
	}
	key, states = m.heap[0].key, m.heap[0].states
	if err := m.advance(ctx); err != nil {
		return nil, nil, false, err
	}
	if len(m.heap) == 0 || !bytes.Equal(m.heap[0].key, key) {
		return key, states, true, nil
	}
	m.scratch.reset()
	if err := m.scratch.read(states); err != nil {
		return nil, nil, false, err
	}
	for other := 1; len(m.heap) > 0 && bytes.Equal(m.heap[0].key, key); other++ {
		if err := m.scratch.read(m.heap[0].states); err != nil {
			return nil, nil, false, err
		}
		for _, one := range m.scratch.states {
			one.merge(0, one, other)
		}
		if err := m.advance(ctx); err != nil {
			return nil, nil, false, err
		}
	}
	m.states = m.states[:0]
	for _, one := range m.scratch.states {
		m.states = one.append(m.states, 0)
	}
	return key, m.states, true, nil
}

// advance moves the stream at the top to its next group.
func (m *merging) advance(ctx context.Context) error {
	if err := m.heap[0].next(ctx); err != nil {
		return err
	}
	if m.heap[0].done() {
		last := len(m.heap) - 1
		m.heap[0], m.heap = m.heap[last], m.heap[:last]
	}
	if len(m.heap) > 0 {
		sink(m.heap, 0, before)
	}
	return nil
}

// before reports whether the group of a stream precedes that of another one. Groups with the same key are in the order of the input.
func before(a, b **stream) bool {
	x, y := *a, *b
	if x.begin != y.begin {
		return x.begin < y.begin
	}
	return cmp.Or(bytes.Compare(x.key, y.key), cmp.Compare(x.run, y.run)) < 0
}
