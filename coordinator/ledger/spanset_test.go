package ledger

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

const setSize = 40 // number of partitions

// drawSpan draws a span within the first setSize partitions. The drawn span may be empty.
func drawSpan(t *rapid.T) engine.Span {
	lo := rapid.Uint64Range(0, setSize).Draw(t, "lo")
	return engine.Span{Lo: lo, Hi: min(setSize, lo+rapid.Uint64Range(0, 12).Draw(t, "len"))}
}

func TestSpanSetIsASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var set spanSet
		naive := map[uint64]bool{}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				span := drawSpan(t)
				set.add(span)
				for p := span.Lo; p < span.Hi; p++ {
					naive[p] = true
				}
			},
			"remove": func(t *rapid.T) {
				span := drawSpan(t)
				set.remove(span)
				for p := span.Lo; p < span.Hi; p++ {
					delete(naive, p)
				}
			},
			"prefix": func(t *rapid.T) {
				span := drawSpan(t)
				hi := span.Lo
				for hi < span.Hi && naive[hi] {
					hi++
				}
				if got, want := set.prefix(span), (engine.Span{Lo: span.Lo, Hi: hi}); got != want {
					t.Fatalf("prefix of %v in %v is %v, want %v", span, set.spans, got, want)
				}
			},
			"": func(t *rapid.T) {
				if set.size != uint64(len(naive)) {
					t.Fatalf("%v has size %d, want %d", set.spans, set.size, len(naive))
				}
				n := 0
				for i, span := range set.spans {
					if span.Empty() || i > 0 && set.spans[i-1].Hi >= span.Lo {
						t.Fatalf("%v is not in order, or has spans that touch", set.spans)
					}
					for p := span.Lo; p < span.Hi; p++ {
						if n++; !naive[p] {
							t.Fatalf("%v has %d", set.spans, p)
						}
					}
				}
				if n != len(naive) {
					t.Fatalf("%v has %d partitions, want %d", set.spans, n, len(naive))
				}
			},
		})
	})
}

func TestCrashSuspectsAreASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list crashSuspects
		naive := map[uint64]int{} // number of deaths of each partition
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				span, deaths := drawSpan(t), rapid.IntRange(1, 4).Draw(t, "deaths")
				if span.Empty() {
					return
				}
				list.remove(span)
				list.add(span, deaths)
				for p := span.Lo; p < span.Hi; p++ {
					naive[p] = deaths
				}
			},
			"remove": func(t *rapid.T) {
				span, most := drawSpan(t), 0
				for p := span.Lo; p < span.Hi; p++ {
					most = max(most, naive[p])
					delete(naive, p)
				}
				if got := list.remove(span); got != most {
					t.Fatalf("remove(%v) returns %d deaths, want %d", span, got, most)
				}
			},
			"": func(t *rapid.T) {
				quarantined, n := 0, 0
				for i, s := range list.list {
					if s.span.Empty() || s.piece == 0 || i > 0 && list.list[i-1].span.Hi > s.span.Lo {
						t.Fatalf("%v is not in order", list.list)
					}
					if s.quarantined() {
						quarantined++
					}
					for p := s.span.Lo; p < s.span.Hi; p++ {
						if n++; naive[p] != s.deaths {
							t.Fatalf("%v has %d deaths for %d, want %d", list.list, s.deaths, p, naive[p])
						}
					}
				}
				if n != len(naive) || list.size != uint64(n) || list.quarantined != quarantined {
					t.Fatalf("%v has size %d and %d quarantined, want %d and %d", list.list, list.size, list.quarantined, n, quarantined)
				}
				for want, i := range map[bool]int{true: list.firstQuarantined(), false: list.first()} {
					if has := want && quarantined > 0 || !want && quarantined < len(list.list); has != (i >= 0) || has && list.list[i].quarantined() != want {
						t.Fatalf("first(%v) of %v is %d", want, list.list, i)
					}
				}
			},
		})
	})
}
