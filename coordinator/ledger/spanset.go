package ledger

import (
	"slices"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// spanSet is a set of partitions, stored as a sorted list of spans that neither overlap nor touch.
// The zero spanSet is empty.
type spanSet struct {
	spans []engine.Span
	size  uint64 // number of partitions in the set
}

func (s *spanSet) add(span engine.Span) {
	if span.Empty() {
		return
	}
	i := s.search(span.Lo)
	if i > 0 && s.spans[i-1].Hi == span.Lo {
		i--
	}
	j := i
	for ; j < len(s.spans) && s.spans[j].Lo <= span.Hi; j++ {
		span.Lo, span.Hi = min(span.Lo, s.spans[j].Lo), max(span.Hi, s.spans[j].Hi)
	}
	s.replace(i, j, span)
}

func (s *spanSet) remove(span engine.Span) {
	if span.Empty() {
		return
	}
	i := s.search(span.Lo)
	j := i
	var rest []engine.Span
	for ; j < len(s.spans) && s.spans[j].Lo < span.Hi; j++ {
		for _, part := range without(s.spans[j], span) {
			if !part.Empty() {
				rest = append(rest, part)
			}
		}
	}
	s.replace(i, j, rest...)
}

// prefix returns the longest prefix of a span whose partitions are all in the set.
func (s *spanSet) prefix(span engine.Span) engine.Span {
	i := s.search(span.Lo)
	if i == len(s.spans) || s.spans[i].Lo > span.Lo {
		return engine.Span{Lo: span.Lo, Hi: span.Lo}
	}
	return engine.Span{Lo: span.Lo, Hi: min(span.Hi, s.spans[i].Hi)}
}

// first returns the first partitions of a span that are in the set, as one span. It is empty if there are none.
func (s *spanSet) first(span engine.Span) engine.Span {
	if i := s.search(span.Lo); i < len(s.spans) && s.spans[i].Lo < span.Hi {
		return engine.Span{Lo: max(span.Lo, s.spans[i].Lo), Hi: min(span.Hi, s.spans[i].Hi)}
	}
	return engine.Span{}
}

// last returns the last partitions of a span that are in the set, as one span. It is empty if there are none.
func (s *spanSet) last(span engine.Span) engine.Span {
	if span.Empty() {
		return engine.Span{}
	}
	i := s.search(span.Hi - 1)
	if i == len(s.spans) || s.spans[i].Lo >= span.Hi {
		i--
	}
	if i < 0 || s.spans[i].Hi <= span.Lo {
		return engine.Span{}
	}
	return engine.Span{Lo: max(span.Lo, s.spans[i].Lo), Hi: min(span.Hi, s.spans[i].Hi)}
}

// search returns the index of the first span that ends after partition p.
func (s *spanSet) search(p uint64) int {
	i, _ := slices.BinarySearchFunc(s.spans, p, endsAfter)
	return i
}

// replace replaces the spans from index i up to index j.
func (s *spanSet) replace(i, j int, spans ...engine.Span) {
	for _, old := range s.spans[i:j] {
		s.size -= old.Len()
	}
	for _, span := range spans {
		s.size += span.Len()
	}
	s.spans = slices.Replace(s.spans, i, j, spans...)
}

// endsAfter is a comparison function for binary searches: a span that ends at or before p comes
// before p, and any other span comes after p.
func endsAfter(span engine.Span, p uint64) int {
	if span.Hi <= p {
		return -1
	}
	return 1
}

// without cuts one span out of another, and returns the parts before and after the removed span.
// The two spans of without must overlap. If the removed span begins or ends where the other span
// does, one of the returned parts is empty.
func without(span, gone engine.Span) [2]engine.Span {
	return [2]engine.Span{{Lo: span.Lo, Hi: gone.Lo}, {Lo: gone.Hi, Hi: span.Hi}}
}

// single returns the span of one partition.
func single(partition uint64) engine.Span { return engine.Span{Lo: partition, Hi: partition + 1} }
