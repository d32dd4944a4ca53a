package session

import (
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// The tests in this file use a worker with two slots that follows epoch 1, and ignore time: the
// scripts test when reports are made. Jobs have 1000 partitions.

func newSession(t *testing.T) *Session {
	t.Helper()
	return newSessionOf(t, 2)
}

func newSessionOf(t testing.TB, slots int) *Session {
	t.Helper()
	s, err := New(Config{Worker: "w", Hello: wire.Hello{Slots: slots, Knows: []wire.JobKind{{Name: "k", Version: "1"}}}})
	if err != nil {
		t.Fatal(err)
	}
	s.follow(1)
	return s
}

// orders are the actions of a receipt, by kind.
type orders struct {
	open    []wire.Opening
	ended   []EndJob
	ignored []error
}

// takeReceipt lets the session process a receipt without regard to time.
func (s *Session) takeReceipt(r wire.Receipt) (o orders, err error) {
	if err := s.check(r); err != nil {
		return o, err
	}
	s.receive(r)
	for _, a := range s.actions {
		switch a := a.(type) {
		case OpenJob:
			o.open = append(o.open, a.Opening)
		case EndJob:
			o.ended = append(o.ended, a)
		case OrderIgnored:
			o.ignored = append(o.ignored, a.Err)
		}
	}
	s.actions = nil
	return o, nil
}

// exchange sends a report, and answers with the receipt that the function fill completes.
func exchange(t testing.TB, s *Session, fill func(*wire.Receipt)) (wire.Report, orders) {
	t.Helper()
	report := s.nextReport()
	if err := report.Validate(); err != nil {
		t.Fatalf("report: %v", err)
	}
	if size := len(wire.Encode(report)); size > wire.MaxMessage {
		t.Fatalf("report has %d bytes", size)
	}
	receipt := wire.Receipt{Epoch: report.Epoch, Sequence: report.Sequence}
	if fill != nil {
		fill(&receipt)
	}
	o, err := s.takeReceipt(receipt)
	if err != nil {
		t.Fatalf("receipt: %v", err)
	}
	return report, o
}

// assign adds spans of a job to a receipt, with consecutive numbers from number on.
func assign(job string, priority int, number uint64, spans ...engine.Span) func(*wire.Receipt) {
	return func(r *wire.Receipt) {
		r.Opens = append(r.Opens, wire.Opening{Job: job, Partitions: 1000, Priority: priority})
		for i, s := range spans {
			r.Assigned = append(r.Assigned, wire.Assignment{ID: wire.SpanID{Epoch: r.Epoch, Number: number + uint64(i)}, Job: job, Span: s})
		}
	}
}

// run makes items for the partitions of s.
func run(s engine.Span) []wire.Item {
	tree, _ := engine.NewTree(1000)
	var items []wire.Item
	for _, n := range tree.Cover(s) {
		p := wire.NewPartial(tree.Lift(n), []byte(n.String()))
		items = append(items, wire.Item{Partial: &p})
	}
	return items
}

// held prints the spans of a report: number, job, range, and ! for a running span.
func held(r wire.Report) string {
	var list []string
	for _, s := range r.Spans {
		text := strconv.FormatUint(s.ID.Number, 10) + s.Job
		if s.Function == wire.Map {
			text += s.Span.String() + s.Step
		} else {
			text += ":" + s.Function.String()
		}
		if s.Running {
			text += "!"
		}
		list = append(list, text)
	}
	return strings.Join(list, " ")
}

func wantHeld(t *testing.T, r wire.Report, want string) {
	t.Helper()
	if got := held(r); got != want {
		t.Errorf("held spans: got %s, want %s", got, want)
	}
}

func wantClaim(t *testing.T, s *Session, r *HeldSpan, want uint64, lo, hi uint64) {
	t.Helper()
	if got := s.Claim(r, want, false); got != (engine.Span{Lo: lo, Hi: hi}) {
		t.Fatalf("claim: got %v, want [%d,%d)", got, lo, hi)
	}
}

func deliver(t *testing.T, s *Session, r *HeldSpan, next uint64, items ...wire.Item) {
	t.Helper()
	if err := s.Deliver(r, next, next, items); err != nil {
		t.Fatal(err)
	}
}

func TestASpanFromAssignmentToDurable(t *testing.T) {
	s := newSession(t)
	first, orders := exchange(t, s, assign("a", 0, 1, engine.Span{Lo: 0, Hi: 8}))
	if first.Sequence != 1 || first.Hello == nil || first.Hello.Slots != 2 {
		t.Errorf("first report: got %+v", first)
	}
	if len(orders.open) != 1 || orders.open[0].Job != "a" {
		t.Errorf("orders: got %+v, want to open a", orders)
	}
	if s.Take() != nil {
		t.Error("a span runs before its job is open")
	}
	s.Opened("a")
	r := s.Take()
	wantClaim(t, s, r, 5, 0, 5)
	deliver(t, s, r, 5, run(engine.Span{Lo: 0, Hi: 5})...)

	report, _ := exchange(t, s, func(r *wire.Receipt) { r.Jobs = []wire.JobReceipt{{Job: "a", Received: 2}} })
	wantHeld(t, report, "1a[5,8)!")
	if report.Hello != nil || report.Jobs[0].First != 1 || len(report.Jobs[0].Items) != 2 {
		t.Errorf("second report: got %+v, want items 1 and 2", report)
	}
	wantClaim(t, s, r, 5, 5, 8)
	if s.schedule.urgent {
		t.Error("urgent while a span runs")
	}
	deliver(t, s, r, 8, run(engine.Span{Lo: 5, Hi: 8})...)
	wantClaim(t, s, r, 5, 0, 0)
	s.Release(r)
	if !s.schedule.urgent {
		t.Error("the end of a span is not urgent")
	}
	report, _ = exchange(t, s, func(r *wire.Receipt) { r.Jobs = []wire.JobReceipt{{Job: "a", Received: 4, Durable: 3}} })
	wantHeld(t, report, "")
	if report.Jobs[0].First != 3 || len(report.Jobs[0].Items) != 2 {
		t.Errorf("third report: got %+v, want items 3 and 4", report.Jobs)
	}
	if items, _ := s.Kept(); items != 1 {
		t.Errorf("keeps %d items, want the one that is not durable", items)
	}
	if report, _ = exchange(t, s, nil); len(report.Jobs) != 0 {
		t.Errorf("reports again what was received: %+v", report.Jobs)
	}
}

func TestNewLeaderGetsEverything(t *testing.T) {
	s := newSession(t)
	exchange(t, s, assign("a", 0, 1, engine.Span{Lo: 0, Hi: 8}, engine.Span{Lo: 8, Hi: 16}))
	s.Opened("a")
	r := s.Take()
	wantClaim(t, s, r, 4, 0, 4)
	deliver(t, s, r, 4, run(engine.Span{Lo: 0, Hi: 4})...)
	exchange(t, s, func(r *wire.Receipt) { r.Jobs = []wire.JobReceipt{{Job: "a", Received: 1}} })
	lost := s.nextReport()

	s.follow(2)
	if _, err := s.takeReceipt(wire.Receipt{Epoch: 1, Sequence: lost.Sequence}); !errors.Is(err, ErrStale) {
		t.Errorf("receipt of the old leader: got %v, want ErrStale", err)
	}
	report, _ := exchange(t, s, nil)
	if report.Epoch != 2 || report.Sequence != 1 || report.Hello == nil || report.Jobs[0].First != 1 || len(report.Jobs[0].Items) != 1 {
		t.Errorf("first report to the new leader: got %+v", report)
	}
	wantHeld(t, report, "1a[4,8)! 2a[8,16)")
	if report.Spans[0].ID.Epoch != 1 {
		t.Errorf("the span's ID changed to %v", report.Spans[0].ID)
	}
}

func TestItemsThatDoNotFitFollowBeforeSpansAdvance(t *testing.T) {
	s := newSession(t)
	exchange(t, s, assign("a", 0, 1, engine.Span{Lo: 0, Hi: 4}, engine.Span{Lo: 4, Hi: 9}))
	s.Opened("a")
	r := s.Take()
	for p := range uint64(4) {
		wantClaim(t, s, r, 1, p, p+1)
		partial := wire.NewPartial(engine.Leaf(p), make([]byte, wire.MaxInline))
		deliver(t, s, r, p+1, wire.Item{Partial: &partial})
	}
	s.Release(r)

	received := func(n uint64) func(*wire.Receipt) {
		return func(r *wire.Receipt) { r.Jobs = []wire.JobReceipt{{Job: "a", Received: n}} }
	}
	report, _ := exchange(t, s, received(2))
	if !report.More || len(report.Spans) != 0 || len(report.Jobs[0].Items) != 2 || !s.schedule.urgent {
		t.Errorf("got %d items and spans %s, more %v, urgent %v; want 2, none and the rest at once", len(report.Jobs[0].Items), held(report), report.More, s.schedule.urgent)
	}
	report, _ = exchange(t, s, received(3)) // the leader does not accept the second item
	wantHeld(t, report, "2a[4,9)")
	if report.More || report.Jobs[0].First != 3 || len(report.Jobs[0].Items) != 2 {
		t.Errorf("got %d items from %d, more %v; want 2 from 3 and no more", len(report.Jobs[0].Items), report.Jobs[0].First, report.More)
	}
	if s.schedule.urgent {
		t.Error("urgent though nothing is new")
	}
	if report, _ = exchange(t, s, received(4)); report.Jobs[0].First != 4 {
		t.Errorf("got items from %d, want 4 again", report.Jobs[0].First)
	}
}

func TestReportsAreNotUrgentIfTheLeaderTakesNothing(t *testing.T) {
	s := newSession(t)
	exchange(t, s, assign("a", 0, 1, engine.Span{Lo: 0, Hi: 4}))
	s.Opened("a")
	r := s.Take()
	for p := range uint64(3) {
		wantClaim(t, s, r, 1, p, p+1)
		partial := wire.NewPartial(engine.Leaf(p), make([]byte, wire.MaxInline))
		deliver(t, s, r, p+1, wire.Item{Partial: &partial})
	}
	if report, _ := exchange(t, s, nil); !report.More || s.schedule.urgent {
		t.Errorf("more %v, urgent %v, want more but not at once", report.More, s.schedule.urgent)
	}
}

func TestReportsStayWithinAMessage(t *testing.T) {
	s := newSession(t)
	long := strings.Repeat("j", wire.MaxJobID)
	many := func(number, lo, n uint64) func(*wire.Receipt) {
		return func(r *wire.Receipt) {
			r.Opens = []wire.Opening{{Job: long, Partitions: engine.MaxPartitions}}
			for i := range n {
				r.Assigned = append(r.Assigned, wire.Assignment{ID: wire.SpanID{Epoch: 1, Number: number + i}, Job: long, Span: engine.Span{Lo: lo + i, Hi: lo + i + 1}})
			}
		}
	}
	exchange(t, s, many(1<<63, 1<<61, MaxHeld))
	s.Opened(long)
	for range MaxHeld {
		r := s.Take()
		claim := s.Claim(r, 1, false)
		partial := wire.NewPartial(engine.Leaf(claim.Lo), make([]byte, itemBudget/MaxHeld-itemSize-1))
		deliver(t, s, r, claim.Hi, wire.Item{Partial: &partial})
		s.Release(r)
	}
	received := s.nextReport()
	if received.More {
		t.Fatal("the test's items do not fit")
	}
	orders, err := s.takeReceipt(func() wire.Receipt {
		r := wire.Receipt{Epoch: 1, Sequence: received.Sequence}
		many(1<<62, 1<<61+MaxHeld, MaxHeld+1)(&r)
		return r
	}())
	if err != nil || len(orders.ignored) != 1 {
		t.Errorf("ignored %v, %v, want the one span too many", orders.ignored, err)
	}
	report := s.nextReport()
	size := len(wire.Encode(report))
	if size > wire.MaxMessage || size < wire.MaxMessage*3/4 || len(report.Spans) != MaxHeld {
		t.Errorf("the fullest report has %d bytes and %d spans", size, len(report.Spans))
	}
}

func TestCutTakesOnlyPartitionsThatAreNotClaimed(t *testing.T) {
	s := newSession(t)
	exchange(t, s, assign("a", 0, 1, engine.Span{Lo: 0, Hi: 100}, engine.Span{Lo: 100, Hi: 200}, engine.Span{Lo: 200, Hi: 300}, engine.Span{Lo: 300, Hi: 400}))
	s.Opened("a")
	one, two := s.Take(), s.Take()
	wantClaim(t, s, one, 10, 0, 10)
	exchange(t, s, func(r *wire.Receipt) {
		for number, hi := range map[uint64]uint64{1: 5, 2: 0, 3: 250, 4: 0, 9: 0} {
			r.Cuts = append(r.Cuts, wire.Cut{ID: wire.SpanID{Epoch: 1, Number: number}, Hi: hi})
		}
	})
	if !s.schedule.urgent {
		t.Error("where a span ends now is not urgent")
	}
	report, _ := exchange(t, s, nil)
	wantHeld(t, report, "1a[0,10)! 3a[200,250)")
	wantClaim(t, s, one, 10, 0, 0)
	wantClaim(t, s, two, 10, 0, 0)
	deliver(t, s, one, 10, run(engine.Span{Lo: 0, Hi: 10})...)
	s.Release(one)
	s.Release(two)
	report, _ = exchange(t, s, nil)
	wantHeld(t, report, "3a[200,250)")
	if _, orders := exchange(t, s, func(r *wire.Receipt) { r.Cuts = []wire.Cut{{ID: wire.SpanID{Epoch: 1, Number: 3}, Hi: 900}} }); len(orders.ignored) > 0 {
		t.Errorf("ignored %v", orders.ignored)
	}
	report, _ = exchange(t, s, nil)
	wantHeld(t, report, "3a[200,250)") // a cut never lengthens a span
}

func TestAFailureStandsForItsPartition(t *testing.T) {
	s := newSession(t)
	exchange(t, s, assign("a", 0, 1, engine.Span{Lo: 0, Hi: 8}))
	s.Opened("a")
	r := s.Take()
	wantClaim(t, s, r, 8, 0, 8)
	deliver(t, s, r, 3, append(run(engine.Span{Lo: 0, Hi: 2}), wire.Item{Failure: &wire.Failure{Partition: 2, Error: "bad"}})...)
	if !s.schedule.urgent {
		t.Error("a failure is not urgent")
	}
	wantClaim(t, s, r, 8, 3, 8) // the same span continues after it
	report, _ := exchange(t, s, nil)
	wantHeld(t, report, "1a[3,8)!")

	s.Abandon(r, wire.Failure{Partition: 3, Error: "cannot encode"})
	wantClaim(t, s, r, 8, 0, 0)
	s.Release(r)
	report, _ = exchange(t, s, nil)
	wantHeld(t, report, "")
	if items := report.Jobs[0].Items; items[len(items)-1].Failure.Partition != 3 {
		t.Errorf("got %+v, want the failure of partition 3", items)
	}
}

func TestDeliverRefusesItemsThatDoNotCover(t *testing.T) {
	s := newSession(t)
	exchange(t, s, assign("a", 0, 1, engine.Span{Lo: 10, Hi: 20}))
	s.Opened("a")
	r := s.Take()
	wantClaim(t, s, r, 6, 10, 16)
	big := wire.NewPartial(engine.Leaf(10), make([]byte, wire.MaxInline+1))
	outside := wire.NewPartial(engine.Node{Level: 9, Index: 7}, nil)
	for name, c := range map[string]struct {
		hi    uint64
		items []wire.Item
	}{
		"a gap before":   {14, run(engine.Span{Lo: 12, Hi: 14})},
		"too little":     {14, run(engine.Span{Lo: 10, Hi: 12})},
		"too much":       {14, run(engine.Span{Lo: 10, Hi: 16})},
		"nothing":        {14, nil},
		"unclaimed":      {18, run(engine.Span{Lo: 10, Hi: 18})},
		"what was there": {16, run(engine.Span{Lo: 8, Hi: 16})},
		"too large":      {11, []wire.Item{{Partial: &big}}},
		"no node":        {11, []wire.Item{{Partial: &outside}}},
		"an empty item":  {10, []wire.Item{{}}},
	} {
		if err := s.Deliver(r, c.hi, c.hi, c.items); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if err := s.Deliver(r, 16, 14, run(engine.Span{Lo: 10, Hi: 16})); err == nil {
		t.Error("more than the slot has run was accepted")
	}
	if items, _ := s.Kept(); items != 0 {
		t.Errorf("%d items were kept", items)
	}
	deliver(t, s, r, 16, run(engine.Span{Lo: 10, Hi: 16})...)
}

// The end of a span is reported at once only if work is running short or the job may be at its end.
func TestTheEndOfASpanIsUrgentWhenWorkRunsShort(t *testing.T) {
	for _, c := range []struct {
		slots, queued int
		otherJob      bool
		want          bool
	}{
		{slots: 1, queued: 0, want: true},
		{slots: 1, queued: 1, want: true}, // the slot takes the only queued span
		{slots: 1, queued: 2, want: false},
		{slots: 8, queued: 4, want: true},
		{slots: 8, queued: 5, want: false},
		{slots: 1, queued: 5, otherJob: true, want: true},
	} {
		s := newSessionOf(t, c.slots)
		exchange(t, s, assign("a", 0, 1, engine.Span{Lo: 0, Hi: 8}))
		s.Opened("a")
		r := s.Take()
		rest := "a"
		if c.otherJob {
			rest = "b"
		}
		for i := range uint64(c.queued) {
			exchange(t, s, assign(rest, 0, 2+i, engine.Span{Lo: 8 * (i + 1), Hi: 8 * (i + 2)}))
		}
		wantClaim(t, s, r, 8, 0, 8)
		exchange(t, s, nil) // after this, nothing else is urgent
		deliver(t, s, r, 8, run(engine.Span{Lo: 0, Hi: 8})...)
		if at := s.schedule.shortAt; (s.schedule.urgent || at <= s.now) != c.want {
			t.Errorf("%+v: urgent is %v, and a report because work runs short is due at %v", c, s.schedule.urgent, at)
		}
	}
}

// A slot that continues delivers partitions that few nodes cover, and keeps the others. It waits for the end of its span if
// that takes less time than what it has not delivered.
func TestHandOverEndsAtATreeBoundary(t *testing.T) {
	s := newSession(t)
	exchange(t, s, assign("a", 0, 1, engine.Span{Lo: 32, Hi: 235}))
	s.Opened("a")
	r := s.Take()
	wantClaim(t, s, r, 101, 32, 133)
	if hi := s.HandOver(r, 133); hi != 128 {
		t.Fatalf("handed over up to %d, want 128", hi)
	}
	if err := s.Deliver(r, 128, 133, run(engine.Span{Lo: 32, Hi: 128})); err != nil {
		t.Fatal(err)
	}
	report, _ := exchange(t, s, nil)
	wantHeld(t, report, "1a[128,235)!")
	wantClaim(t, s, r, 49, 133, 182)
	if hi := s.HandOver(r, 182); hi != 128 {
		t.Errorf("handed over up to %d before the last 53 of 107 partitions, want nothing", hi)
	}
	wantClaim(t, s, r, 100, 182, 235)
	if hi := s.HandOver(r, 235); hi != 235 {
		t.Errorf("handed over up to %d, want all at the end", hi)
	}
}

func TestItemNumbersGoOnAfterAJobHasEnded(t *testing.T) {
	s := newSession(t)
	exchange(t, s, assign("a", 0, 1, engine.Span{Lo: 0, Hi: 8}, engine.Span{Lo: 8, Hi: 16}))
	s.Opened("a")
	r := s.Take()
	wantClaim(t, s, r, 8, 0, 8)
	deliver(t, s, r, 4, run(engine.Span{Lo: 0, Hi: 4})...)
	_, orders := exchange(t, s, func(r *wire.Receipt) { r.Jobs = []wire.JobReceipt{{Job: "a", Ended: true}, {Job: "b", Ended: true}} })
	if len(orders.ended) != 2 || orders.ended[0].Job != "a" || orders.ended[1].Job != "b" {
		t.Errorf("ended: got %v, want a and b", orders.ended)
	}
	wantClaim(t, s, r, 8, 0, 0)
	deliver(t, s, r, 8, run(engine.Span{Lo: 4, Hi: 8})...) // the delivery is too late, but not an error
	s.Release(r)
	if !s.Empty() {
		t.Error("something is left of the job")
	}
	exchange(t, s, assign("a", 0, 3, engine.Span{Lo: 0, Hi: 1}))
	s.Opened("a")
	r = s.Take()
	wantClaim(t, s, r, 8, 0, 1)
	deliver(t, s, r, 1, run(engine.Span{Lo: 0, Hi: 1})...)
	if report, _ := exchange(t, s, nil); report.Jobs[0].First != 2 {
		t.Errorf("items begin at %d, want 2: number 1 was given", report.Jobs[0].First)
	}
}

func TestAJobThatCannotBeOpened(t *testing.T) {
	s := newSession(t)
	exchange(t, s, assign("a", 0, 1, engine.Span{Lo: 0, Hi: 8}))
	_, orders := exchange(t, s, assign("a", 0, 2, engine.Span{Lo: 8, Hi: 16}))
	if len(orders.open) != 0 {
		t.Error("opens a job twice")
	}
	s.OpenFailed("a", wire.Failure{Error: "no", Function: wire.Open})
	report, orders := exchange(t, s, assign("a", 0, 3, engine.Span{Lo: 0, Hi: 8}))
	wantHeld(t, report, "")
	if len(report.Jobs) != 1 || report.Jobs[0].Items[0].Failure.Function != wire.Open {
		t.Errorf("got %+v, want the failure to open", report.Jobs)
	}
	if len(orders.open) != 1 {
		t.Error("the next assignment does not try again")
	}
	s.Opened("a")
	if s.Take() == nil {
		t.Error("the job's span does not run")
	}
	s.OpenFailed("gone", wire.Failure{Function: wire.Open})
	s.Opened("gone")
}

func TestTakePrefersPriorityThenFewestSlotsThenLongestWait(t *testing.T) {
	s := newSession(t)
	exchange(t, s, assign("a", 0, 1, engine.Span{Lo: 0, Hi: 10}, engine.Span{Lo: 10, Hi: 20}))
	exchange(t, s, assign("b", 0, 11, engine.Span{Lo: 0, Hi: 10}))
	exchange(t, s, assign("c", 5, 21, engine.Span{Lo: 0, Hi: 10}))
	for _, j := range []string{"a", "b", "c"} {
		s.Opened(j)
	}
	report, _ := exchange(t, s, nil)
	wantHeld(t, report, "21c[0,10) 1a[0,10) 2a[10,20) 11b[0,10)")
	one, two := s.Take(), s.Take()
	if one.Job() != "c" || two.Job() != "a" || s.Take() != nil {
		t.Fatalf("got %s and %s, want c and a, and no third", one.Job(), two.Job())
	}
	s.Release(one) // act as if the slot were to continue later
	if again := s.Take(); again != one {
		t.Errorf("got %s, want c again: nothing has a higher priority", again.Job())
	}
	wantClaim(t, s, two, 3, 0, 3)
	deliver(t, s, two, 3, run(engine.Span{Lo: 0, Hi: 3})...)
	if !s.Claim(two, 3, true).Empty() {
		t.Error("a keeps its slot for too long though b has none")
	}
	s.Release(two)
	if next := s.Take(); next.Job() != "b" {
		t.Errorf("got %s, want b", next.Job())
	}
	if s.Queued() != 2 || s.Busy() != 2 {
		t.Errorf("%d queued, %d busy, want 2 and 2", s.Queued(), s.Busy())
	}
}

func TestHigherPriorityTakesAsManySlotsAsItNeeds(t *testing.T) {
	s := newSession(t)
	exchange(t, s, assign("a", 0, 1, engine.Span{Lo: 0, Hi: 10}, engine.Span{Lo: 10, Hi: 20}))
	s.Opened("a")
	one := s.Take()
	exchange(t, s, assign("c", 5, 21, engine.Span{Lo: 0, Hi: 10}))
	wantClaim(t, s, one, 1, 0, 1) // job c is not open
	s.Opened("c")
	wantClaim(t, s, one, 1, 1, 2) // the idle slot is for job c
	two := s.Take()
	if two.Job() != "c" {
		t.Fatalf("got %s, want c", two.Job())
	}
	s.Release(two)
	exchange(t, s, assign("c", 5, 22, engine.Span{Lo: 10, Hi: 20}))
	two = s.Take()
	if !s.Claim(one, 1, false).Empty() {
		t.Error("a keeps its slot though a span of c waits")
	}
	s.Release(one)
	report, _ := exchange(t, s, nil)
	wantHeld(t, report, "21c[0,10)! 22c[10,20) 1a[0,10) 2a[10,20)")
	three := s.Take()
	wantClaim(t, s, two, 1, 0, 1)
	wantClaim(t, s, three, 1, 10, 11)
}

func TestOnlyAsManySlotsYieldAsAreNeeded(t *testing.T) {
	s := newSession(t)
	exchange(t, s, assign("a", 0, 1, engine.Span{Lo: 0, Hi: 10}, engine.Span{Lo: 10, Hi: 20}))
	s.Opened("a")
	one, two := s.Take(), s.Take()
	exchange(t, s, assign("c", 5, 21, engine.Span{Lo: 0, Hi: 10}))
	s.Opened("c")
	if !s.Claim(one, 1, false).Empty() {
		t.Fatal("no slot yields")
	}
	wantClaim(t, s, two, 1, 10, 11)
	wantClaim(t, s, one, 1, 0, 0) // a slot that was told to yield gets no more partitions
}

func TestReceiptsThatMakeNoSense(t *testing.T) {
	s := newSession(t)
	if _, err := s.takeReceipt(wire.Receipt{Epoch: 1, Sequence: 1}); !errors.Is(err, ErrStale) {
		t.Errorf("no report under way: got %v, want ErrStale", err)
	}
	report := s.nextReport()
	for name, r := range map[string]wire.Receipt{
		"other epoch":    {Epoch: 2, Sequence: 1},
		"other sequence": {Epoch: 1, Sequence: 2},
	} {
		if _, err := s.takeReceipt(r); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if _, err := s.takeReceipt(wire.Receipt{Epoch: 1, Sequence: report.Sequence, Every: time.Second}); err != nil {
		t.Fatal(err)
	}
	_, orders := exchange(t, s, func(r *wire.Receipt) {
		assign("a", 0, 1, engine.Span{Lo: 0, Hi: 8}, engine.Span{Lo: 990, Hi: 1001})(r)
		r.Assigned = append(r.Assigned, r.Assigned[0], wire.Assignment{ID: wire.SpanID{Epoch: 1, Number: 9}, Job: "x", Span: engine.Span{Lo: 0, Hi: 8}})
		r.Jobs = []wire.JobReceipt{{Job: "x", Received: 3, Durable: 9}}
	})
	if len(orders.ignored) != 3 {
		t.Errorf("ignored %v, want a span outside the job, one held already and one of an unknown job", orders.ignored)
	}
	exchange(t, s, func(r *wire.Receipt) { r.Jobs = []wire.JobReceipt{{Job: "a", Received: 100, Durable: 100}} })
	s.Opened("a")
	r := s.Take()
	wantClaim(t, s, r, 8, 0, 8)
	deliver(t, s, r, 8, run(engine.Span{Lo: 0, Hi: 8})...)
	if report := s.nextReport(); len(report.Jobs) != 1 || report.Jobs[0].First != 1 {
		t.Errorf("got %+v, want item 1: nobody can have had it", report.Jobs)
	}
}

func TestReportsAreDeterministic(t *testing.T) {
	report := func() wire.Report {
		s := newSession(t)
		for i, j := range []string{"c", "a", "b"} {
			exchange(t, s, assign(j, i, uint64(10*i+1), engine.Span{Lo: 0, Hi: 8}, engine.Span{Lo: 8, Hi: 16}))
			s.Opened(j)
		}
		for range 2 {
			r := s.Take()
			s.Claim(r, 4, false)
			deliver(t, s, r, r.claimed, run(engine.Span{Lo: r.lo, Hi: r.claimed})...)
		}
		return s.nextReport()
	}
	want := report()
	for range 5 {
		if got := report(); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	}
}

func TestNoPartitionIsBegunWhileTooMuchIsKept(t *testing.T) {
	s := newSession(t)
	s.cfg.MaxKept = 3 * itemSize
	exchange(t, s, assign("a", 0, 1, engine.Span{Lo: 0, Hi: 8}, engine.Span{Lo: 8, Hi: 16}))
	s.Opened("a")
	r := s.Take()
	wantClaim(t, s, r, 4, 0, 4)
	deliver(t, s, r, 4, slices.Concat(run(engine.Span{Lo: 0, Hi: 1}), run(engine.Span{Lo: 1, Hi: 2}), run(engine.Span{Lo: 2, Hi: 4}))...)
	if !s.Full() || s.Take() != nil || !s.Claim(r, 4, false).Empty() {
		t.Fatal("goes on though too much is kept")
	}
	s.Release(r)
	report, _ := exchange(t, s, func(r *wire.Receipt) { r.Jobs = []wire.JobReceipt{{Job: "a", Received: 3, Durable: 1}} })
	wantHeld(t, report, "1a[4,8) 2a[8,16)")
	if s.Full() {
		t.Error("still full")
	}
	if r = s.Take(); r == nil {
		t.Fatal("does not go on")
	}
	wantClaim(t, s, r, 4, 4, 8)
	exchange(t, s, func(r *wire.Receipt) { r.Jobs = []wire.JobReceipt{{Job: "a", Ended: true}} })
	if items, bytes := s.Kept(); items != 0 || bytes != 0 {
		t.Errorf("%d items of %d bytes are kept of a job that has ended", items, bytes)
	}
}

// Partials that several slots and calls are about to deliver must fit into one report.
func TestMayHoldCountsUndelivered(t *testing.T) {
	s := &Session{}
	s.cfg.Hello.Holds, s.leader.holds = true, true
	s.work.nodes = wire.MaxNodes - 2
	if !s.MayHold(1) || s.MayHold(2) {
		t.Errorf("of two nodes before the limit: one more: %v, two more: %v", s.MayHold(1), s.MayHold(2))
	}
}
