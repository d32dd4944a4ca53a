package holdings

import (
	"slices"
	"time"
)

// keepSpares is how long spare memory is kept without being used.
const keepSpares = 30 * time.Second

// maxSpares is the maximum number of spare buffers, which bounds the time of a search.
const maxSpares = 1000

// spares is memory of dropped partials that later partials can use.
type spares struct {
	limit int64   // largest allowed value of the field bytes
	bytes int64   // sum of the buffers' capacities
	list  []spare // oldest first
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

// add adds a buffer, and frees the oldest buffers if there are too many.
func (s *spares) add(data []byte, now time.Time) {
	s.list = append(s.list, spare{data, now})
	s.bytes += int64(cap(data))
	s.free(max(0, len(s.list)-maxSpares))
	s.trim(s.limit)
}

// take removes the buffer that was used last among those that hold n bytes, and returns n bytes of it. take
// returns nil if there is none.
func (s *spares) take(n int64) []byte {
	for i, spare := range slices.Backward(s.list) {
		if spare.holds(n) {
			s.list = slices.Delete(s.list, i, i+1)
			s.bytes -= int64(cap(spare.data))
			return spare.data[:n]
		}
	}
	return nil
}

// trim frees the oldest buffers until at most limit bytes remain.
func (s *spares) trim(limit int64) {
	n, bytes := 0, s.bytes
	for ; n < len(s.list) && bytes > limit; n++ {
		bytes -= int64(cap(s.list[n].data))
	}
	s.free(n)
}

// expire frees the buffers that were not used for keepSpares. If buffers remain, expire returns the time until the
// next of them must be freed.
func (s *spares) expire(now time.Time) (next time.Duration, remain bool) {
	used := slices.IndexFunc(s.list, func(old spare) bool { return now.Sub(old.since) < keepSpares })
	if used < 0 {
		s.free(len(s.list))
		return 0, false
	}
	s.free(used)
	return keepSpares - now.Sub(s.list[0].since), true
}

// free frees the n oldest buffers.
func (s *spares) free(n int) {
	for _, spare := range s.list[:n] {
		s.bytes -= int64(cap(spare.data))
	}
	s.list = slices.Delete(s.list, 0, n)
}
