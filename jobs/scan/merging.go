package scan

import (
	"bytes"
	"cmp"
	"context"
	"math"

	"golang.org/x/sync/errgroup"
)

// stream reads the groups of a run. One piece of a run in storage is in memory, and near its end the next piece too.
type stream struct {
	cursor
	left  spilled     // pieces in storage after the current one
	ahead *ahead      // reads the next piece in advance; nil if no piece is read in advance
	early chan loaded // gets the first piece of left, if it is read in advance; otherwise nil
	begin uint64      // first bytes of the key, which decide most comparisons; the largest number at the end
	run   int         // place of the run among all runs
}

// next moves to the next group.
func (s *stream) next(ctx context.Context) error {
	err := s.cursor.next()
	if len(s.left) > 0 && len(s.rest) <= bounds.piece/8 {
		for err == nil && s.done() && len(s.left) > 0 {
			if s.rest, err = s.load(ctx); err == nil {
				err = s.cursor.next()
			}
		}
		s.readAhead(ctx)
	}
	switch {
	case err != nil:
		return err
	case s.done():
		s.begin = math.MaxUint64
	default:
		s.begin = firstWord(s.key)
	}
	return nil
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

// merging merges the groups of runs in the order of their keys. It is a tree of losers (D. E. Knuth, The Art of Computer
// Programming, volume 3, 5.4.1): each node contains the stream that has lost there, and its parent gets the other one.
type merging struct {
	ahead   ahead
	scratch *scratch
	tree    []contestant // the winner, then the nodes from the root on; the leaves, which are the streams, are not stored

	group       run // the current group, of which key and states are parts
	key, states []byte
	memory      run // for groups that are merged from several runs
}

// contestant is a stream in a node.
type contestant struct {
	begin uint64 // of the stream
	*stream
}

// newMerging begins at a key of runs in storage. Before the context ends, the caller must wait until the field ahead reads nothing.
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
	m := startMerging(functions, streams)
	for _, s := range streams {
		s.ahead = &m.ahead
	}
	return m, nil
}

// startMerging merges the groups of streams from their current groups on. The field run of a stream is its index.
func startMerging(functions []aggregate, streams []*stream) *merging {
	m := &merging{scratch: newScratch(functions), tree: make([]contestant, len(streams))}
	var play func(node int) contestant // returns the winner of a node
	play = func(node int) contestant {
		if node >= len(streams) {
			s := streams[node-len(streams)]
			return contestant{s.begin, s}
		}
		winner, loser := play(2*node), play(2*node+1)
		if loser.before(&winner) {
			winner, loser = loser, winner
		}
		m.tree[node] = loser
		return winner
	}
	if len(streams) > 0 {
		m.tree[0] = play(1)
	}
	return m
}

// next moves to the next group if its key is less than a border, which may be nil. The group is valid until the next call.
func (m *merging) next(ctx context.Context, border []byte) (ok bool, err error) {
	if len(m.tree) == 0 {
		return false, nil
	}
	first := m.tree[0].stream
	if first.done() || border != nil && bytes.Compare(first.key, border) >= 0 {
		return false, nil
	}
	m.group, m.key, m.states = first.here[:first.size()], first.key, first.states
	begin := first.begin
	if err := m.advance(ctx); err != nil {
		return false, err
	}
	if m.tree[0].begin != begin || !m.tree[0].has(m.key) {
		return true, nil
	}
	m.scratch.reset()
	if err := m.scratch.read(m.states); err != nil {
		return false, err
	}
	for other := 1; m.tree[0].has(m.key); other++ {
		if err := m.scratch.read(m.tree[0].states); err != nil {
			return false, err
		}
		for _, one := range m.scratch.states {
			one.merge(0, one, other)
		}
		if err := m.advance(ctx); err != nil {
			return false, err
		}
	}
	m.memory = m.scratch.appendGroup(m.memory[:0], m.key, m.scratch.states, 0)
	c := cursor{rest: m.memory}
	err = c.next()
	m.group, m.key, m.states = c.here, c.key, c.states
	return true, err
}

// advance moves the winner to its next group, and finds the next winner.
func (m *merging) advance(ctx context.Context) error {
	s := m.tree[0].stream
	if err := s.next(ctx); err != nil {
		return err
	}
	winner := contestant{s.begin, s}
	for node := (len(m.tree) + s.run) / 2; node > 0; node /= 2 {
		if loser := &m.tree[node]; loser.begin <= winner.begin && (loser.begin < winner.begin || loser.before(&winner)) {
			winner, *loser = *loser, winner
		}
	}
	m.tree[0] = winner
	return nil
}

// has reports whether the current group of the stream has a key.
func (c *contestant) has(key []byte) bool { return !c.done() && bytes.Equal(c.key, key) }

// before reports whether the group of a stream precedes that of another one. Groups with the same key are in the order of the
// input, and the end of a stream is after all groups.
func (c *contestant) before(other *contestant) bool {
	switch {
	case c.begin != other.begin:
		return c.begin < other.begin
	case c.done() || other.done():
		return !c.done()
	}
	return cmp.Or(bytes.Compare(c.key, other.key), cmp.Compare(c.run, other.run)) < 0
}
