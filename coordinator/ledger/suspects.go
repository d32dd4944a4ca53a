package ledger

import (
	"slices"

	"github.com/bellwether-compute/bellwether/jobs"
)

const (
	// splitSuspect is into how many pieces a suspect is cut when it runs again: the
	// partition that kills is found after a logarithmic number of deaths.
	splitSuspect = 8
	// isolateAfter is the number of deaths after which a single partition runs with
	// nothing beside it, so that the next death is its own doing. Only such deaths
	// are counted further.
	isolateAfter = 2
	// killsToBlame is how many workers a partition must kill while it runs alone,
	// where the job's limit of attempts is not lower.
	killsToBlame = 3
)

// suspect is a span that workers died on while they held it.
type suspect struct {
	span   jobs.Span
	deaths int
	piece  uint64 // how many of its partitions run together
}

func newSuspect(span jobs.Span, deaths int) suspect {
	return suspect{span, deaths, max(1, span.Len()/splitSuspect)}
}

// isolated reports whether each of the suspect's partitions must run alone.
func (s suspect) isolated() bool { return s.deaths >= isolateAfter && s.piece == 1 }

// suspects are the suspects of a job that wait to be assigned, in order and
// without overlap. Unlike a spanSet they do not grow together, since each has its
// own number of deaths.
type suspects struct {
	list     []suspect
	size     uint64 // partitions in it
	isolated int    // how many of the list are
}

func (s *suspects) add(span jobs.Span, deaths int) {
	i := s.search(span.Lo)
	s.replace(i, i, newSuspect(span, deaths))
}

// remove takes the partitions of the span out of the list and returns the most
// deaths that any of them stood for.
func (s *suspects) remove(span jobs.Span) (deaths int) {
	if span.Empty() {
		return 0
	}
	i := s.search(span.Lo)
	j := i
	var rest []suspect
	for ; j < len(s.list) && s.list[j].span.Lo < span.Hi; j++ {
		old := s.list[j]
		deaths = max(deaths, old.deaths)
		for _, part := range without(old.span, span) {
			if !part.Empty() {
				rest = append(rest, suspect{part, old.deaths, old.piece})
			}
		}
	}
	s.replace(i, j, rest...)
	return deaths
}

// prefix returns the beginning of the span that is in the first suspect there.
func (s *suspects) prefix(span jobs.Span) jobs.Span {
	i := s.search(span.Lo)
	if i == len(s.list) || s.list[i].span.Lo > span.Lo {
		return jobs.Span{Lo: span.Lo, Hi: span.Lo}
	}
	return jobs.Span{Lo: span.Lo, Hi: min(span.Hi, s.list[i].span.Hi)}
}

// first returns the index of the first suspect that is, or is not, isolated; -1
// where there is none.
func (s *suspects) first(isolated bool) int {
	if isolated && s.isolated == 0 || !isolated && s.isolated == len(s.list) {
		return -1
	}
	return slices.IndexFunc(s.list, func(x suspect) bool { return x.isolated() == isolated })
}

// search returns the index of the first suspect that ends after p.
func (s *suspects) search(p uint64) int {
	i, _ := slices.BinarySearchFunc(s.list, p, func(x suspect, p uint64) int { return endsAfter(x.span, p) })
	return i
}

// replace puts suspects in the place of those from i up to j.
func (s *suspects) replace(i, j int, with ...suspect) {
	for _, old := range s.list[i:j] {
		s.size -= old.span.Len()
		if old.isolated() {
			s.isolated--
		}
	}
	for _, x := range with {
		s.size += x.span.Len()
		if x.isolated() {
			s.isolated++
		}
	}
	s.list = slices.Replace(s.list, i, j, with...)
}
