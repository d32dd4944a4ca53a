package holdings

import (
	"slices"
	"time"
)

// keepSpares is how long spare memory is kept without being used.
const keepSpares = 30 * time.Second

// spares is memory of dropped partials that later partials can use. The zero value is empty and keeps
// nothing.
type spares struct {
	most int     // maximum number of buffers of about the same size
	list []spare // oldest first
}

// spare is a buffer that nothing uses.
type spare struct {
	data  []byte
	since time.Time // time of the last use
}

// holds reports whether a partial of n bytes may use the buffer, because little of it would be wasted.
func (s spare) holds(n int64) bool {
	c := int64(cap(s.data))
	return n > 0 && n <= c && c <= n+n/8
}

// add adds a buffer. If there are too many of its size, the oldest of them is freed.
func (s *spares) add(data []byte, now time.Time) {
	same, oldest := 0, -1
	n := int64(cap(data))
	for i, old := range s.list {
		if !old.holds(n) && !(spare{data: data}).holds(int64(cap(old.data))) {
			continue
		}
		if same++; oldest < 0 {
			oldest = i
		}
	}
	switch {
	case s.most == 0:
		return
	case same == s.most:
		s.list = slices.Delete(s.list, oldest, oldest+1)
	}
	s.list = append(s.list, spare{data, now})
}

// take removes the buffer that was used last among those that hold n bytes, and returns n bytes of it. take
// returns nil if there is none.
func (s *spares) take(n int64) []byte {
	for i, spare := range slices.Backward(s.list) {
		if spare.holds(n) {
			s.list = slices.Delete(s.list, i, i+1)
			return spare.data[:n]
		}
	}
	return nil
}

// trim frees the oldest buffers until at most limit bytes remain.
func (s *spares) trim(limit int64) {
	for i, spare := range slices.Backward(s.list) {
		if limit -= int64(cap(spare.data)); limit < 0 {
			s.list = slices.Delete(s.list, 0, i+1)
			return
		}
	}
}

// expire frees the buffers that were not used for keepSpares. If buffers remain, expire returns the time until the
// next of them must be freed.
func (s *spares) expire(now time.Time) (next time.Duration, remain bool) {
	used := slices.IndexFunc(s.list, func(old spare) bool { return now.Sub(old.since) < keepSpares })
	if used < 0 {
		s.list = nil
		return 0, false
	}
	s.list = slices.Delete(s.list, 0, used)
	return keepSpares - now.Sub(s.list[0].since), true
}
