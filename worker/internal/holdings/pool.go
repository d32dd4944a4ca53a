package holdings

import (
	"slices"
	"time"
)

// keepPooled is how long pooled memory is kept without being used.
const keepPooled = 30 * time.Second

// maxPooled is the maximum number of pooled buffers, which bounds the time of a search.
const maxPooled = 1000

// pool is memory of dropped partials that later partials can use.
type pool struct {
	limit int64    // largest allowed value of the field bytes
	bytes int64    // sum of the buffers' capacities
	list  []buffer // oldest first
}

// buffer is memory that nothing uses.
type buffer struct {
	data  []byte
	since time.Time // time of the last use
}

// holds reports whether a partial of n bytes may use the buffer, because little of it would be wasted.
func (b buffer) holds(n int64) bool {
	c := int64(cap(b.data))
	return n > 0 && n <= c && c <= n+n/8
}

// add adds a buffer, and frees the oldest buffers if there are too many.
func (p *pool) add(data []byte, now time.Time) {
	p.list = append(p.list, buffer{data, now})
	p.bytes += int64(cap(data))
	p.free(max(0, len(p.list)-maxPooled))
	p.trim(p.limit)
}

// take removes the buffer that was used last among those that hold n bytes, and returns n bytes of
// the buffer. It returns nil if all buffers are shorter.
func (p *pool) take(n int64) []byte {
	i := p.find(n)
	if i < 0 {
		return nil
	}
	data := p.list[i].data
	p.list = slices.Delete(p.list, i, i+1)
	p.bytes -= int64(cap(data))
	return data[:n]
}

// find returns the index of the buffer that take returns, or -1.
func (p *pool) find(n int64) int {
	for i, b := range slices.Backward(p.list) {
		if b.holds(n) {
			return i
		}
	}
	return -1
}

// capacity returns the capacity of the buffer that take returns, or 0.
func (p *pool) capacity(n int64) int64 {
	if i := p.find(n); i >= 0 {
		return int64(cap(p.list[i].data))
	}
	return 0
}

// trim frees the oldest buffers until at most limit bytes remain.
func (p *pool) trim(limit int64) {
	n, bytes := 0, p.bytes
	for ; n < len(p.list) && bytes > limit; n++ {
		bytes -= int64(cap(p.list[n].data))
	}
	p.free(n)
}

// expire frees the buffers that were not used for keepPooled. If buffers remain, expire returns the time until the
// next of them must be freed.
func (p *pool) expire(now time.Time) (next time.Duration, remain bool) {
	used := slices.IndexFunc(p.list, func(old buffer) bool { return now.Sub(old.since) < keepPooled })
	if used < 0 {
		p.free(len(p.list))
		return 0, false
	}
	p.free(used)
	return keepPooled - now.Sub(p.list[0].since), true
}

// free frees the n oldest buffers.
func (p *pool) free(n int) {
	for _, b := range p.list[:n] {
		p.bytes -= int64(cap(b.data))
	}
	p.list = slices.Delete(p.list, 0, n)
}
