package ledger

import (
	"slices"

	"github.com/bellwether-compute/bellwether/jobs"
)

// spanSet is a set of partitions kept as ordered spans that neither overlap nor
// touch.
type spanSet []jobs.Span

// count is the number of partitions in the set.
func (s spanSet) count() (n uint64) {
	for _, span := range s {
		n += span.Len()
	}
	return n
}

// search returns the index of the first span that ends after p.
func (s spanSet) search(p uint64) int {
	i, _ := slices.BinarySearchFunc(s, p, func(span jobs.Span, p uint64) int {
		if span.Hi <= p {
			return -1
		}
		return 1
	})
	return i
}

// add puts the partitions of the span into the set.
func (s *spanSet) add(span jobs.Span) {
	if span.Empty() {
		return
	}
	i := s.search(span.Lo)
	if i > 0 && (*s)[i-1].Hi == span.Lo {
		i--
	}
	j := i
	for j < len(*s) && (*s)[j].Lo <= span.Hi {
		span.Lo, span.Hi = min(span.Lo, (*s)[j].Lo), max(span.Hi, (*s)[j].Hi)
		j++
	}
	*s = slices.Replace(*s, i, j, span)
}

// remove takes the partitions of the span out of the set.
func (s *spanSet) remove(span jobs.Span) {
	if span.Empty() {
		return
	}
	i := s.search(span.Lo)
	j := i
	var rest []jobs.Span
	for ; j < len(*s) && (*s)[j].Lo < span.Hi; j++ {
		if before := (jobs.Span{Lo: (*s)[j].Lo, Hi: span.Lo}); !before.Empty() {
			rest = append(rest, before)
		}
		if after := (jobs.Span{Lo: span.Hi, Hi: (*s)[j].Hi}); !after.Empty() {
			rest = append(rest, after)
		}
	}
	if i < j {
		*s = slices.Replace(*s, i, j, rest...)
	}
}

// prefix returns the longest part of span, from its beginning, that is in the set.
func (s spanSet) prefix(span jobs.Span) jobs.Span {
	i := s.search(span.Lo)
	if i == len(s) || s[i].Lo > span.Lo {
		return jobs.Span{Lo: span.Lo, Hi: span.Lo}
	}
	return jobs.Span{Lo: span.Lo, Hi: min(span.Hi, s[i].Hi)}
}
