package ledger

import (
	"slices"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

const (
	// splitSuspect is the number of pieces into which a crash suspect is split when it runs again.
	// Splitting makes the number of deaths until the faulty partition is found logarithmic in the
	// size of the span.
	splitSuspect = 8
	// quarantineAfter is the number of deaths after which a single partition is quarantined. A
	// quarantined partition runs alone, so it must be the cause if its worker dies. After
	// quarantineAfter deaths only deaths in quarantine are counted.
	quarantineAfter = 2
	// killsToBlame is the number of workers that must die while running a quarantined partition
	// before the partition is blamed, unless other workers die too. A lower limit of attempts in the
	// job's spec replaces killsToBlame.
	killsToBlame = 3
)

// crashSuspect is a queued span whose worker died while the span was assigned.
type crashSuspect struct {
	span   engine.Span
	deaths int
	piece  uint64 // number of the span's partitions in one assignment
}

// quarantined reports whether each partition of a crash suspect must run alone.
func (s crashSuspect) quarantined() bool { return s.deaths >= quarantineAfter && s.piece == 1 }

// spared returns the number of deaths in quarantine that were not enough for blame although they were
// killsToBlame or more.
func (s crashSuspect) spared() int { return max(0, s.deaths-quarantineAfter-killsToBlame+1) }

// crashSuspects is a sorted list of a job's queued crash suspects, which do not overlap.
// Neighbouring crash suspects are not joined, because each has its own number of deaths.
type crashSuspects struct {
	list        []crashSuspect
	size        uint64 // number of partitions in all crash suspects
	quarantined int    // number of quarantined crash suspects in the list
}

func (s *crashSuspects) add(span engine.Span, deaths int) {
	i := s.search(span.Lo)
	s.replace(i, i, crashSuspect{span, deaths, max(1, span.Len()/splitSuspect)})
}

// remove removes the partitions of a span, and returns the highest number of deaths among
// them.
func (s *crashSuspects) remove(span engine.Span) (deaths int) {
	if span.Empty() {
		return 0
	}
	i := s.search(span.Lo)
	j := i
	var rest []crashSuspect
	for ; j < len(s.list) && s.list[j].span.Lo < span.Hi; j++ {
		old := s.list[j]
		deaths = max(deaths, old.deaths)
		for _, part := range without(old.span, span) {
			if !part.Empty() {
				rest = append(rest, crashSuspect{part, old.deaths, old.piece})
			}
		}
	}
	s.replace(i, j, rest...)
	return deaths
}

// prefix returns the longest prefix of a span that lies within a single crash suspect.
func (s *crashSuspects) prefix(span engine.Span) engine.Span {
	i := s.search(span.Lo)
	if i == len(s.list) || s.list[i].span.Lo > span.Lo {
		return engine.Span{Lo: span.Lo, Hi: span.Lo}
	}
	return engine.Span{Lo: span.Lo, Hi: min(span.Hi, s.list[i].span.Hi)}
}

// first returns the index of the first crash suspect that is not quarantined, or -1 if there is none.
func (s *crashSuspects) first() int {
	if s.quarantined == len(s.list) {
		return -1
	}
	return slices.IndexFunc(s.list, func(x crashSuspect) bool { return !x.quarantined() })
}

// firstQuarantined returns the index of the first quarantined crash suspect, or -1 if there is none.
// Partitions that were not blamed for killsToBlame deaths come last, so that they do not hold up the
// others.
func (s *crashSuspects) firstQuarantined() int {
	best := -1
	for i, x := range s.list {
		if s.quarantined > 0 && x.quarantined() && (best < 0 || x.spared() < s.list[best].spared()) {
			best = i
		}
	}
	return best
}

// spans lists the spans of the crash suspects that are quarantined, or of those that are not.
func (s *crashSuspects) spans(quarantined bool) (list []engine.Span) {
	for _, x := range s.list {
		if x.quarantined() == quarantined {
			list = append(list, x.span)
		}
	}
	return list
}

// search returns the index of the first crash suspect that ends after p.
func (s *crashSuspects) search(p uint64) int {
	i, _ := slices.BinarySearchFunc(s.list, p, func(x crashSuspect, p uint64) int { return endsAfter(x.span, p) })
	return i
}

// replace replaces the crash suspects from index i up to index j.
func (s *crashSuspects) replace(i, j int, with ...crashSuspect) {
	for _, old := range s.list[i:j] {
		s.size -= old.span.Len()
		if old.quarantined() {
			s.quarantined--
		}
	}
	for _, x := range with {
		s.size += x.span.Len()
		if x.quarantined() {
			s.quarantined++
		}
	}
	s.list = slices.Replace(s.list, i, j, with...)
}
