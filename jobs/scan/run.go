package scan

import (
	"context"
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

// minSample is the smallest size in bytes of the groups from which the size of a merged run is estimated, which are an eighth
// of large runs.
const minSample = 64 << 10

// boundary is the end of a part of a run.
type boundary struct {
	offset int
	groups int // number of groups in the part and in those before it
}

// cut returns the ends of parts of about the same size. Some may be empty.
func (r run) cut(parts int) (ends []boundary, err error) {
	end := boundary{}
	for c := (cursor{rest: r}); len(ends) < parts; end.groups++ {
		if err := c.next(); err != nil {
			return nil, err
		}
		end.offset = len(r) - len(c.here)
		for c.done() && len(ends) < parts || len(ends) < parts-1 && end.offset >= len(r)/parts*(len(ends)+1) {
			ends = append(ends, end)
		}
	}
	return ends, nil
}

// exceeds reports whether the run has more than n groups. It reads at most n+1 groups.
func (r run) exceeds(n int) (bool, error) {
	if len(r) <= n*minGroup {
		return false, nil
	}
	for c := (cursor{rest: r}); ; n-- {
		if err := c.next(); err != nil || c.done() || n < 0 {
			return n < 0, err
		}
	}
}

// minGroup is the smallest size of an encoded group in bytes: two lengths.
const minGroup = 2

// cursor iterates over the groups of a run.
type cursor struct {
	here   run // the group and those after it; empty after the last group
	rest   run // the groups after it
	key    []byte
	states []byte
}

// next moves to the next group.
func (c *cursor) next() (err error) {
	here := c.rest
	if c.here = here; len(here) == 0 {
		return nil
	}
	if end := 1 + int(here[0]); end <= 0x80 && end < len(here) { // most keys and states are short
		if last := end + 1 + int(here[end]); here[end] < 0x80 && last <= len(here) {
			c.key, c.states, c.rest = here[1:end], here[end+1:last], here[last:]
			return nil
		}
	}
	if c.key, c.rest, err = readText(here); err == nil {
		c.states, c.rest, err = readText(c.rest)
	}
	return err
}

// done reports whether the cursor is after the last group.
func (c *cursor) done() bool { return len(c.here) == 0 }

// size returns the size of the encoded group.
func (c *cursor) size() int { return len(c.here) - len(c.rest) }

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
	to = append(appendText(to, key), 0)
	begin := len(to)
	for _, one := range list {
		to = one.append(to, g)
	}
	size := len(to) - begin
	if size < 0x80 { // the length has the one byte that precedes the states
		to[begin-1] = byte(size)
		return to
	}
	s.buffer = append(s.buffer[:0], to[begin:]...)
	return appendText(to[:begin-1], s.buffer)
}

// mergeRuns merges runs. The groups of a run precede those of the next run in the input.
func mergeRuns(functions []aggregate, runs []run) (run, error) {
	streams, all, err := streamsOf(runs)
	if err != nil {
		return nil, err
	}
	ctx, merged := context.Background(), make(run, 0, all/8+minSample) // nothing is read from storage
	m := startMerging(functions, streams)
	for {
		ok, err := m.next(ctx, nil)
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if len(merged)+len(m.group) > cap(merged) { // what is merged so far shows how large the rest will be
			left := 0
			for _, s := range streams {
				left += len(s.here)
			}
			rest := int(float64(len(merged)) / float64(all-left) * float64(left))
			merged = slices.Grow(merged, len(m.group)+rest+rest/64+minSlack) // the codec appends the rest of the partial
		}
		merged = append(merged, m.group...)
	}
	if unused := cap(merged) - len(merged); unused > len(merged)/4+2*minSlack { // the estimate was much too large
		merged = append(make(run, 0, len(merged)+minSlack), merged...)
	}
	return merged, nil
}

// streamsOf returns streams at the first groups of runs in memory, and the size of the runs in bytes.
func streamsOf(runs []run) (streams []*stream, size int, err error) {
	for i, r := range runs {
		s := &stream{cursor: cursor{rest: r}, run: i}
		if err := s.next(context.Background()); err != nil {
			return nil, 0, err
		}
		streams, size = append(streams, s), size+len(r)
	}
	return streams, size, nil
}

// encodeRun returns the groups of a table as a run.
func (t *table) encodeRun() run {
	s, r := new(scratch), make(run, 0, 2*len(t.keys))
	t.sorted(func(group int) { r = s.appendGroup(r, t.key(group), t.states, group) })
	return r
}
