package session

import (
	"errors"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// The tests here play a worker with two slots that follows epoch 1. Jobs have
// 1000 partitions.

func newBook(t *testing.T) *Book {
	t.Helper()
	b := New("w", wire.Hello{Slots: 2, Knows: []wire.JobKind{{Name: "k", Version: "1"}}})
	if b.Ready() {
		t.Fatal("ready before a leader is known")
	}
	if !b.Follow(1) || !b.Ready() || !b.Urgent() {
		t.Fatal("does not follow epoch 1")
	}
	return b
}

// exchange reports, and answers with the receipt that fill completes.
func exchange(t *testing.T, b *Book, fill func(*wire.Receipt)) (wire.Report, Orders) {
	t.Helper()
	if !b.Ready() {
		t.Fatal("not ready to report")
	}
	report := b.Report()
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
	orders, err := b.Receive(receipt)
	if err != nil {
		t.Fatalf("receipt: %v", err)
	}
	return report, orders
}

// assign adds spans of a job to a receipt, numbered from number.
func assign(job string, priority int, number uint64, spans ...jobs.Span) func(*wire.Receipt) {
	return func(r *wire.Receipt) {
		r.Opens = append(r.Opens, wire.Opening{Job: job, Partitions: 1000, Priority: priority})
		for i, s := range spans {
			r.Assigned = append(r.Assigned, wire.Assignment{ID: wire.SpanID{Epoch: r.Epoch, Number: number + uint64(i)}, Job: job, Span: s})
		}
	}
}

// run makes items for the partitions of s.
func run(s jobs.Span) []wire.Item {
	tree, _ := jobs.NewTree(1000)
	var items []wire.Item
	for _, n := range tree.Cover(s) {
		p := wire.NewPartial(tree.Lift(n), []byte(n.String()))
		items = append(items, wire.Item{Partial: &p})
	}
	return items
}

// held prints the spans of a report: number, job, range, and ! where it runs.
func held(r wire.Report) string {
	var list []string
	for _, s := range r.Spans {
		text := strconv.FormatUint(s.ID.Number, 10) + s.Job + s.Span.String()
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

func wantClaim(t *testing.T, b *Book, r *Run, want uint64, lo, hi uint64) {
	t.Helper()
	if got := b.Claim(r, want, false); got != (jobs.Span{Lo: lo, Hi: hi}) {
		t.Fatalf("claim: got %v, want [%d,%d)", got, lo, hi)
	}
}

func deliver(t *testing.T, b *Book, r *Run, next uint64, items ...wire.Item) {
	t.Helper()
	if err := b.Deliver(r, next, next, items); err != nil {
		t.Fatal(err)
	}
}

func TestASpanFromAssignmentToDurable(t *testing.T) {
	b := newBook(t)
	first, orders := exchange(t, b, assign("a", 0, 1, jobs.Span{Lo: 0, Hi: 8}))
	if first.Sequence != 1 || first.Hello == nil || first.Hello.Slots != 2 {
		t.Errorf("first report: got %+v", first)
	}
	if len(orders.Open) != 1 || orders.Open[0].Job != "a" {
		t.Errorf("orders: got %+v, want to open a", orders)
	}
	if b.Take() != nil {
		t.Error("a span runs before its job is open")
	}
	b.Opened("a")
	r := b.Take()
	wantClaim(t, b, r, 5, 0, 5)
	deliver(t, b, r, 5, run(jobs.Span{Lo: 0, Hi: 5})...)

	report, _ := exchange(t, b, func(r *wire.Receipt) { r.Jobs = []wire.JobReceipt{{Job: "a", Received: 2}} })
	wantHeld(t, report, "1a[5,8)!")
	if report.Hello != nil || report.Jobs[0].First != 1 || len(report.Jobs[0].Items) != 2 {
		t.Errorf("second report: got %+v, want items 1 and 2", report)
	}
	wantClaim(t, b, r, 5, 5, 8)
	if b.Urgent() {
		t.Error("urgent while a span runs")
	}
	deliver(t, b, r, 8, run(jobs.Span{Lo: 5, Hi: 8})...)
	wantClaim(t, b, r, 5, 0, 0)
	b.Release(r)
	if !b.Urgent() {
		t.Error("the end of a span is not urgent")
	}
	report, _ = exchange(t, b, func(r *wire.Receipt) { r.Jobs = []wire.JobReceipt{{Job: "a", Received: 4, Durable: 3}} })
	wantHeld(t, report, "")
	if report.Jobs[0].First != 3 || len(report.Jobs[0].Items) != 2 {
		t.Errorf("third report: got %+v, want items 3 and 4", report.Jobs)
	}
	if items, _ := b.Kept(); items != 1 {
		t.Errorf("keeps %d items, want the one that is not durable", items)
	}
	if report, _ = exchange(t, b, nil); len(report.Jobs) != 0 {
		t.Errorf("reports again what was received: %+v", report.Jobs)
	}
}

func TestANewLeaderIsToldEverything(t *testing.T) {
	b := newBook(t)
	exchange(t, b, assign("a", 0, 1, jobs.Span{Lo: 0, Hi: 8}, jobs.Span{Lo: 8, Hi: 16}))
	b.Opened("a")
	r := b.Take()
	wantClaim(t, b, r, 4, 0, 4)
	deliver(t, b, r, 4, run(jobs.Span{Lo: 0, Hi: 4})...)
	exchange(t, b, func(r *wire.Receipt) { r.Jobs = []wire.JobReceipt{{Job: "a", Received: 1}} })
	lost := b.Report()

	if b.Follow(1) || b.Follow(0) {
		t.Error("follows an epoch that is not above its own")
	}
	if !b.Follow(2) {
		t.Fatal("does not follow epoch 2")
	}
	if _, err := b.Receive(wire.Receipt{Epoch: 1, Sequence: lost.Sequence}); !errors.Is(err, ErrStale) {
		t.Errorf("receipt of the old leader: got %v, want ErrStale", err)
	}
	report, _ := exchange(t, b, nil)
	if report.Epoch != 2 || report.Sequence != 1 || report.Hello == nil || report.Jobs[0].First != 1 || len(report.Jobs[0].Items) != 1 {
		t.Errorf("first report to the new leader: got %+v", report)
	}
	wantHeld(t, report, "1a[4,8)! 2a[8,16)")
	if report.Spans[0].ID.Epoch != 1 {
		t.Errorf("the span's ID changed to %v", report.Spans[0].ID)
	}
}

func TestWhatDoesNotFitFollowsBeforeTheSpansMoveOn(t *testing.T) {
	b := newBook(t)
	exchange(t, b, assign("a", 0, 1, jobs.Span{Lo: 0, Hi: 4}, jobs.Span{Lo: 4, Hi: 9}))
	b.Opened("a")
	r := b.Take()
	for p := range uint64(4) {
		wantClaim(t, b, r, 1, p, p+1)
		partial := wire.NewPartial(jobs.Leaf(p), make([]byte, MaxInline))
		deliver(t, b, r, p+1, wire.Item{Partial: &partial})
	}
	b.Release(r)

	received := func(n uint64) func(*wire.Receipt) {
		return func(r *wire.Receipt) { r.Jobs = []wire.JobReceipt{{Job: "a", Received: n}} }
	}
	report, _ := exchange(t, b, received(2))
	if !report.More || len(report.Spans) != 0 || len(report.Jobs[0].Items) != 2 || !b.Urgent() {
		t.Errorf("got %d items and spans %s, more %v, urgent %v; want 2, none and the rest at once", len(report.Jobs[0].Items), held(report), report.More, b.Urgent())
	}
	report, _ = exchange(t, b, received(3)) // the second item is not taken
	wantHeld(t, report, "2a[4,9)")
	if report.More || report.Jobs[0].First != 3 || len(report.Jobs[0].Items) != 2 {
		t.Errorf("got %d items from %d, more %v; want 2 from 3 and no more", len(report.Jobs[0].Items), report.Jobs[0].First, report.More)
	}
	if b.Urgent() {
		t.Error("urgent though nothing is new")
	}
	if report, _ = exchange(t, b, received(4)); report.Jobs[0].First != 4 {
		t.Errorf("got items from %d, want 4 again", report.Jobs[0].First)
	}
}

func TestALeaderThatTakesNothingIsNotHurried(t *testing.T) {
	b := newBook(t)
	exchange(t, b, assign("a", 0, 1, jobs.Span{Lo: 0, Hi: 4}))
	b.Opened("a")
	r := b.Take()
	for p := range uint64(3) {
		wantClaim(t, b, r, 1, p, p+1)
		partial := wire.NewPartial(jobs.Leaf(p), make([]byte, MaxInline))
		deliver(t, b, r, p+1, wire.Item{Partial: &partial})
	}
	if report, _ := exchange(t, b, nil); !report.More || b.Urgent() {
		t.Errorf("more %v, urgent %v, want more but not at once", report.More, b.Urgent())
	}
}

func TestReportsStayWithinAMessage(t *testing.T) {
	b := newBook(t)
	long := strings.Repeat("j", wire.MaxJobID)
	many := func(number, lo, n uint64) func(*wire.Receipt) {
		return func(r *wire.Receipt) {
			r.Opens = []wire.Opening{{Job: long, Partitions: jobs.MaxPartitions}}
			for i := range n {
				r.Assigned = append(r.Assigned, wire.Assignment{ID: wire.SpanID{Epoch: 1, Number: number + i}, Job: long, Span: jobs.Span{Lo: lo + i, Hi: lo + i + 1}})
			}
		}
	}
	exchange(t, b, many(1<<63, 1<<61, MaxHeld))
	b.Opened(long)
	for range MaxHeld {
		r := b.Take()
		s := b.Claim(r, 1, false)
		partial := wire.NewPartial(jobs.Leaf(s.Lo), make([]byte, itemBudget/MaxHeld-itemSize-1))
		deliver(t, b, r, s.Hi, wire.Item{Partial: &partial})
		b.Release(r)
	}
	received := b.Report()
	if received.More {
		t.Fatal("the test's items do not fit")
	}
	orders, err := b.Receive(func() wire.Receipt {
		r := wire.Receipt{Epoch: 1, Sequence: received.Sequence}
		many(1<<62, 1<<61+MaxHeld, MaxHeld+1)(&r)
		return r
	}())
	if err != nil || len(orders.Ignored) != 1 {
		t.Errorf("ignored %v, %v, want the one span too many", orders.Ignored, err)
	}
	report := b.Report()
	size := len(wire.Encode(report))
	if size > wire.MaxMessage || size < wire.MaxMessage*3/4 || len(report.Spans) != MaxHeld {
		t.Errorf("the fullest report has %d bytes and %d spans", size, len(report.Spans))
	}
}

func TestACutTakesWhatIsNotClaimed(t *testing.T) {
	b := newBook(t)
	exchange(t, b, assign("a", 0, 1, jobs.Span{Lo: 0, Hi: 100}, jobs.Span{Lo: 100, Hi: 200}, jobs.Span{Lo: 200, Hi: 300}, jobs.Span{Lo: 300, Hi: 400}))
	b.Opened("a")
	one, two := b.Take(), b.Take()
	wantClaim(t, b, one, 10, 0, 10)
	exchange(t, b, func(r *wire.Receipt) {
		for number, hi := range map[uint64]uint64{1: 5, 2: 0, 3: 250, 4: 0, 9: 0} {
			r.Cuts = append(r.Cuts, wire.Cut{ID: wire.SpanID{Epoch: 1, Number: number}, Hi: hi})
		}
	})
	if !b.Urgent() {
		t.Error("where a span ends now is not urgent")
	}
	report, _ := exchange(t, b, nil)
	wantHeld(t, report, "1a[0,10)! 3a[200,250)")
	wantClaim(t, b, one, 10, 0, 0)
	wantClaim(t, b, two, 10, 0, 0)
	deliver(t, b, one, 10, run(jobs.Span{Lo: 0, Hi: 10})...)
	b.Release(one)
	b.Release(two)
	report, _ = exchange(t, b, nil)
	wantHeld(t, report, "3a[200,250)")
	if _, orders := exchange(t, b, func(r *wire.Receipt) { r.Cuts = []wire.Cut{{ID: wire.SpanID{Epoch: 1, Number: 3}, Hi: 900}} }); len(orders.Ignored) > 0 {
		t.Errorf("ignored %v", orders.Ignored)
	}
	report, _ = exchange(t, b, nil)
	wantHeld(t, report, "3a[200,250)") // a cut never lengthens
}

func TestAFailureStandsForItsPartition(t *testing.T) {
	b := newBook(t)
	exchange(t, b, assign("a", 0, 1, jobs.Span{Lo: 0, Hi: 8}))
	b.Opened("a")
	r := b.Take()
	wantClaim(t, b, r, 8, 0, 8)
	deliver(t, b, r, 3, append(run(jobs.Span{Lo: 0, Hi: 2}), wire.Item{Failure: &wire.Failure{Partition: 2, Error: "bad"}})...)
	if !b.Urgent() {
		t.Error("a failure is not urgent")
	}
	wantClaim(t, b, r, 8, 3, 8) // the same span goes on after it
	report, _ := exchange(t, b, nil)
	wantHeld(t, report, "1a[3,8)!")

	b.Abandon(r, wire.Failure{Partition: 3, Error: "cannot encode"})
	wantClaim(t, b, r, 8, 0, 0)
	b.Release(r)
	report, _ = exchange(t, b, nil)
	wantHeld(t, report, "")
	if items := report.Jobs[0].Items; items[len(items)-1].Failure.Partition != 3 {
		t.Errorf("got %+v, want the failure of partition 3", items)
	}
}

func TestDeliverRefusesWhatDoesNotCover(t *testing.T) {
	b := newBook(t)
	exchange(t, b, assign("a", 0, 1, jobs.Span{Lo: 10, Hi: 20}))
	b.Opened("a")
	r := b.Take()
	wantClaim(t, b, r, 6, 10, 16)
	big := wire.NewPartial(jobs.Leaf(10), make([]byte, MaxInline+1))
	outside := wire.NewPartial(jobs.Node{Level: 9, Index: 7}, nil)
	for name, c := range map[string]struct {
		hi    uint64
		items []wire.Item
	}{
		"a gap before":   {14, run(jobs.Span{Lo: 12, Hi: 14})},
		"too little":     {14, run(jobs.Span{Lo: 10, Hi: 12})},
		"too much":       {14, run(jobs.Span{Lo: 10, Hi: 16})},
		"nothing":        {14, nil},
		"unclaimed":      {18, run(jobs.Span{Lo: 10, Hi: 18})},
		"what was there": {16, run(jobs.Span{Lo: 8, Hi: 16})},
		"too large":      {11, []wire.Item{{Partial: &big}}},
		"no node":        {11, []wire.Item{{Partial: &outside}}},
		"an empty item":  {10, []wire.Item{{}}},
	} {
		if err := b.Deliver(r, c.hi, c.hi, c.items); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if err := b.Deliver(r, 16, 14, run(jobs.Span{Lo: 10, Hi: 16})); err == nil {
		t.Error("more than the slot has run was accepted")
	}
	if items, _ := b.Kept(); items != 0 {
		t.Errorf("%d items were kept", items)
	}
	deliver(t, b, r, 16, run(jobs.Span{Lo: 10, Hi: 16})...)
}

// At the end of a span the leader is told at once only if the work runs short, or the
// job may be at its end.
func TestTheEndOfASpanIsUrgentWhenWorkRunsShort(t *testing.T) {
	for _, c := range []struct {
		slots, queued int
		otherJob      bool
		want          bool
	}{
		{slots: 1, queued: 0, want: true},
		{slots: 1, queued: 1, want: true}, // the slot takes it, and none is left
		{slots: 1, queued: 2, want: false},
		{slots: 8, queued: 4, want: true},
		{slots: 8, queued: 5, want: false},
		{slots: 1, queued: 5, otherJob: true, want: true},
	} {
		b := New("w1", wire.Hello{Slots: c.slots})
		b.Follow(1)
		exchange(t, b, assign("a", 0, 1, jobs.Span{Lo: 0, Hi: 8}))
		b.Opened("a")
		r := b.Take()
		rest := "a"
		if c.otherJob {
			rest = "b"
		}
		for i := range uint64(c.queued) {
			exchange(t, b, assign(rest, 0, 2+i, jobs.Span{Lo: 8 * (i + 1), Hi: 8 * (i + 2)}))
		}
		wantClaim(t, b, r, 8, 0, 8)
		exchange(t, b, nil) // so that nothing else is urgent
		deliver(t, b, r, 8, run(jobs.Span{Lo: 0, Hi: 8})...)
		if b.Urgent() != c.want {
			t.Errorf("%+v: urgent is %v", c, b.Urgent())
		}
	}
}

// A slot that goes on hands over what few nodes cover, and keeps the rest.
func TestASlotThatGoesOnKeepsTheRest(t *testing.T) {
	b := newBook(t)
	exchange(t, b, assign("a", 0, 1, jobs.Span{Lo: 32, Hi: 200}))
	b.Opened("a")
	r := b.Take()
	wantClaim(t, b, r, 101, 32, 133)
	if hi := b.HandOver(r, 133); hi != 128 {
		t.Fatalf("handed over up to %d, want 128", hi)
	}
	if err := b.Deliver(r, 128, 133, run(jobs.Span{Lo: 32, Hi: 128})); err != nil {
		t.Fatal(err)
	}
	report, _ := exchange(t, b, nil)
	wantHeld(t, report, "1a[128,200)!")
	wantClaim(t, b, r, 100, 133, 200)
	if hi := b.HandOver(r, 200); hi != 200 {
		t.Errorf("handed over up to %d, want all at the end", hi)
	}
}

func TestAJobThatEndedIsDroppedButItsNumbersGoOn(t *testing.T) {
	b := newBook(t)
	exchange(t, b, assign("a", 0, 1, jobs.Span{Lo: 0, Hi: 8}, jobs.Span{Lo: 8, Hi: 16}))
	b.Opened("a")
	r := b.Take()
	wantClaim(t, b, r, 8, 0, 8)
	deliver(t, b, r, 4, run(jobs.Span{Lo: 0, Hi: 4})...)
	_, orders := exchange(t, b, func(r *wire.Receipt) { r.Jobs = []wire.JobReceipt{{Job: "a", Ended: true}, {Job: "b", Ended: true}} })
	if len(orders.Ended) != 2 || orders.Ended[0].Job != "a" || orders.Ended[1].Job != "b" {
		t.Errorf("ended: got %v, want a and b", orders.Ended)
	}
	wantClaim(t, b, r, 8, 0, 0)
	deliver(t, b, r, 8, run(jobs.Span{Lo: 4, Hi: 8})...) // comes too late, and is no error
	b.Release(r)
	if !b.Empty() {
		t.Error("something is left of the job")
	}
	exchange(t, b, assign("a", 0, 3, jobs.Span{Lo: 0, Hi: 1}))
	b.Opened("a")
	r = b.Take()
	wantClaim(t, b, r, 8, 0, 1)
	deliver(t, b, r, 1, run(jobs.Span{Lo: 0, Hi: 1})...)
	if report, _ := exchange(t, b, nil); report.Jobs[0].First != 2 {
		t.Errorf("items begin at %d, want 2: number 1 was given", report.Jobs[0].First)
	}
}

func TestAJobThatCannotBeOpened(t *testing.T) {
	b := newBook(t)
	exchange(t, b, assign("a", 0, 1, jobs.Span{Lo: 0, Hi: 8}))
	_, orders := exchange(t, b, assign("a", 0, 2, jobs.Span{Lo: 8, Hi: 16}))
	if len(orders.Open) != 0 {
		t.Error("opens a job twice")
	}
	b.OpenFailed("a", wire.Failure{Error: "no", Open: true})
	report, orders := exchange(t, b, assign("a", 0, 3, jobs.Span{Lo: 0, Hi: 8}))
	wantHeld(t, report, "")
	if len(report.Jobs) != 1 || !report.Jobs[0].Items[0].Failure.Open {
		t.Errorf("got %+v, want the failure to open", report.Jobs)
	}
	if len(orders.Open) != 1 {
		t.Error("the next assignment does not try again")
	}
	b.Opened("a")
	if b.Take() == nil {
		t.Error("the job's span does not run")
	}
	b.OpenFailed("gone", wire.Failure{Open: true})
	b.Opened("gone")
}

func TestSlotsGoByPriorityThenEvenlyThenInTurn(t *testing.T) {
	b := newBook(t)
	exchange(t, b, assign("a", 0, 1, jobs.Span{Lo: 0, Hi: 10}, jobs.Span{Lo: 10, Hi: 20}))
	exchange(t, b, assign("b", 0, 11, jobs.Span{Lo: 0, Hi: 10}))
	exchange(t, b, assign("c", 5, 21, jobs.Span{Lo: 0, Hi: 10}))
	for _, j := range []string{"a", "b", "c"} {
		b.Opened(j)
	}
	report, _ := exchange(t, b, nil)
	wantHeld(t, report, "21c[0,10) 1a[0,10) 2a[10,20) 11b[0,10)")
	one, two := b.Take(), b.Take()
	if one.Job() != "c" || two.Job() != "a" || b.Take() != nil {
		t.Fatalf("got %s and %s, want c and a, and no third", one.Job(), two.Job())
	}
	b.Release(one) // as if it was to go on later
	if again := b.Take(); again != one {
		t.Errorf("got %s, want c again: nothing has a higher priority", again.Job())
	}
	wantClaim(t, b, two, 3, 0, 3)
	deliver(t, b, two, 3, run(jobs.Span{Lo: 0, Hi: 3})...)
	if !b.Claim(two, 3, true).Empty() {
		t.Error("a keeps its slot though b has none and it is time")
	}
	b.Release(two)
	if next := b.Take(); next.Job() != "b" {
		t.Errorf("got %s, want b", next.Job())
	}
	if b.Queued() != 2 || b.Busy() != 2 {
		t.Errorf("%d queued, %d busy, want 2 and 2", b.Queued(), b.Busy())
	}
}

func TestAHigherPriorityTakesAsManySlotsAsItNeeds(t *testing.T) {
	b := newBook(t)
	exchange(t, b, assign("a", 0, 1, jobs.Span{Lo: 0, Hi: 10}, jobs.Span{Lo: 10, Hi: 20}))
	b.Opened("a")
	one := b.Take()
	exchange(t, b, assign("c", 5, 21, jobs.Span{Lo: 0, Hi: 10}))
	wantClaim(t, b, one, 1, 0, 1) // c is not open
	b.Opened("c")
	wantClaim(t, b, one, 1, 1, 2) // and then the idle slot is for it
	two := b.Take()
	if two.Job() != "c" {
		t.Fatalf("got %s, want c", two.Job())
	}
	b.Release(two)
	exchange(t, b, assign("c", 5, 22, jobs.Span{Lo: 10, Hi: 20}))
	two = b.Take()
	if !b.Claim(one, 1, false).Empty() {
		t.Error("a keeps its slot though a span of c waits")
	}
	b.Release(one)
	report, _ := exchange(t, b, nil)
	wantHeld(t, report, "21c[0,10)! 22c[10,20) 1a[0,10) 2a[10,20)")
	three := b.Take()
	wantClaim(t, b, two, 1, 0, 1)
	wantClaim(t, b, three, 1, 10, 11)
}

func TestOnlyAsManyMakeRoomAsAreNeeded(t *testing.T) {
	b := newBook(t)
	exchange(t, b, assign("a", 0, 1, jobs.Span{Lo: 0, Hi: 10}, jobs.Span{Lo: 10, Hi: 20}))
	b.Opened("a")
	one, two := b.Take(), b.Take()
	exchange(t, b, assign("c", 5, 21, jobs.Span{Lo: 0, Hi: 10}))
	b.Opened("c")
	if !b.Claim(one, 1, false).Empty() {
		t.Fatal("nobody makes room")
	}
	wantClaim(t, b, two, 1, 10, 11)
	wantClaim(t, b, one, 1, 0, 0) // told is told
}

func TestDrain(t *testing.T) {
	b := newBook(t)
	exchange(t, b, assign("a", 0, 1, jobs.Span{Lo: 0, Hi: 8}, jobs.Span{Lo: 8, Hi: 16}))
	b.Opened("a")
	r := b.Take()
	wantClaim(t, b, r, 4, 0, 4)
	b.Drain()
	if b.Take() != nil || b.Drained() {
		t.Error("a worker that drains takes a span or calls itself drained")
	}
	report, orders := exchange(t, b, assign("a", 0, 5, jobs.Span{Lo: 16, Hi: 24}))
	wantHeld(t, report, "1a[0,8)!")
	if !report.Draining || len(orders.Ignored) != 0 {
		t.Errorf("got %+v, %+v", report, orders)
	}
	wantClaim(t, b, r, 4, 0, 0)
	deliver(t, b, r, 4, run(jobs.Span{Lo: 0, Hi: 4})...)
	b.Release(r)
	report, _ = exchange(t, b, func(r *wire.Receipt) { r.Jobs = []wire.JobReceipt{{Job: "a", Received: 1}} })
	wantHeld(t, report, "")
	if b.Drained() {
		t.Error("drained before its item is durable")
	}
	exchange(t, b, func(r *wire.Receipt) { r.Jobs = []wire.JobReceipt{{Job: "a", Received: 1, Durable: 1}} })
	if !b.Drained() {
		t.Error("not drained")
	}
}

func TestARefusalMakesItStartOver(t *testing.T) {
	b := newBook(t)
	exchange(t, b, assign("a", 0, 1, jobs.Span{Lo: 0, Hi: 8}))
	b.Opened("a")
	r := b.Take()
	wantClaim(t, b, r, 8, 0, 8)
	deliver(t, b, r, 8, run(jobs.Span{Lo: 0, Hi: 8})...)
	_, orders := exchange(t, b, func(r *wire.Receipt) {
		r.Refused = "who are you?"
		r.Jobs = []wire.JobReceipt{{Job: "a", Ended: true}}
	})
	if orders.Refused == "" || len(orders.Ended) > 0 {
		t.Errorf("orders: got %+v, want the refusal alone", orders)
	}
	report, _ := exchange(t, b, nil)
	if report.Sequence != 1 || report.Hello == nil || len(report.Jobs) != 1 {
		t.Errorf("got %+v, want a first report with everything", report)
	}
}

func TestSenselessReceipts(t *testing.T) {
	b := newBook(t)
	if _, err := b.Receive(wire.Receipt{Epoch: 1, Sequence: 1}); !errors.Is(err, ErrStale) {
		t.Errorf("no report under way: got %v, want ErrStale", err)
	}
	report := b.Report()
	for name, r := range map[string]wire.Receipt{
		"other epoch":    {Epoch: 2, Sequence: 1},
		"other sequence": {Epoch: 1, Sequence: 2},
		"malformed":      {Epoch: 1, Sequence: 1, Every: -1},
	} {
		if _, err := b.Receive(r); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	orders, err := b.Receive(wire.Receipt{Epoch: 1, Sequence: report.Sequence, Every: time.Second})
	if err != nil || orders.Every != time.Second {
		t.Fatalf("got %+v, %v", orders, err)
	}
	_, orders = exchange(t, b, func(r *wire.Receipt) {
		assign("a", 0, 1, jobs.Span{Lo: 0, Hi: 8}, jobs.Span{Lo: 990, Hi: 1001})(r)
		r.Assigned = append(r.Assigned, r.Assigned[0], wire.Assignment{ID: wire.SpanID{Epoch: 1, Number: 9}, Job: "x", Span: jobs.Span{Lo: 0, Hi: 8}})
		r.Jobs = []wire.JobReceipt{{Job: "x", Received: 3, Durable: 9}}
	})
	if len(orders.Ignored) != 3 {
		t.Errorf("ignored %v, want a span outside the job, one held already and one of an unknown job", orders.Ignored)
	}
	exchange(t, b, func(r *wire.Receipt) { r.Jobs = []wire.JobReceipt{{Job: "a", Received: 100, Durable: 100}} })
	b.Opened("a")
	r := b.Take()
	wantClaim(t, b, r, 8, 0, 8)
	deliver(t, b, r, 8, run(jobs.Span{Lo: 0, Hi: 8})...)
	if report := b.Report(); len(report.Jobs) != 1 || report.Jobs[0].First != 1 {
		t.Errorf("got %+v, want item 1: nobody can have had it", report.Jobs)
	}
}

func TestReportsAreDeterministic(t *testing.T) {
	report := func() wire.Report {
		b := newBook(t)
		for i, j := range []string{"c", "a", "b"} {
			exchange(t, b, assign(j, i, uint64(10*i+1), jobs.Span{Lo: 0, Hi: 8}, jobs.Span{Lo: 8, Hi: 16}))
			b.Opened(j)
		}
		for range 2 {
			r := b.Take()
			b.Claim(r, 4, false)
			deliver(t, b, r, r.claimed, run(jobs.Span{Lo: r.lo, Hi: r.claimed})...)
		}
		return b.Report()
	}
	want := report()
	for range 5 {
		if got := report(); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	}
}

// TestImports keeps the book pure: nothing it imports can do I/O, start a
// goroutine or read a clock ("time" is for Duration alone).
func TestImports(t *testing.T) {
	allowed := []string{
		"cmp", "errors", "fmt", "slices", "time",
		"github.com/bellwether-compute/bellwether/jobs",
		"github.com/bellwether-compute/bellwether/jobs/wire",
	}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		files++
		f, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			if path, _ := strconv.Unquote(i.Path.Value); !slices.Contains(allowed, path) {
				t.Errorf("%s imports %s", e.Name(), path)
			}
		}
		source, err := os.ReadFile(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(source), "time.Now") || strings.Contains(string(source), "\tgo ") {
			t.Errorf("%s reads the clock or starts a goroutine", e.Name())
		}
	}
	if files == 0 {
		t.Error("no files found")
	}
}

func TestNothingIsBegunWhileTooMuchIsKept(t *testing.T) {
	b := newBook(t)
	b.keepMost = 3 * itemSize
	exchange(t, b, assign("a", 0, 1, jobs.Span{Lo: 0, Hi: 8}, jobs.Span{Lo: 8, Hi: 16}))
	b.Opened("a")
	r := b.Take()
	wantClaim(t, b, r, 4, 0, 4)
	deliver(t, b, r, 4, slices.Concat(run(jobs.Span{Lo: 0, Hi: 1}), run(jobs.Span{Lo: 1, Hi: 2}), run(jobs.Span{Lo: 2, Hi: 4}))...)
	if !b.Full() || b.Take() != nil || !b.Claim(r, 4, false).Empty() {
		t.Fatal("goes on though too much is kept")
	}
	b.Release(r)
	report, _ := exchange(t, b, func(r *wire.Receipt) { r.Jobs = []wire.JobReceipt{{Job: "a", Received: 3, Durable: 1}} })
	wantHeld(t, report, "1a[4,8) 2a[8,16)")
	if b.Full() {
		t.Error("still full")
	}
	if r = b.Take(); r == nil {
		t.Fatal("does not go on")
	}
	wantClaim(t, b, r, 4, 4, 8)
	exchange(t, b, func(r *wire.Receipt) { r.Jobs = []wire.JobReceipt{{Job: "a", Ended: true}} })
	if items, bytes := b.Kept(); items != 0 || bytes != 0 {
		t.Errorf("%d items of %d bytes are kept of a job that has ended", items, bytes)
	}
}
