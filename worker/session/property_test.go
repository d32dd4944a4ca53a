package session

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// world consists of a worker's session, the slots that use it, a network that loses and duplicates
// messages, and a sequence of leaders. Like real leaders, the leaders assign partitions that are
// neither finished nor held.
type world struct {
	*rapid.T
	session *Session
	jobs    []*jobTruth
	slots   []*slotState

	report  *wire.Report // report in flight
	epoch   uint64
	taken   uint64            // sequence of the last report that the leader processed
	heard   bool              // the leader has received a report that lists spans
	receipt *wire.Receipt     // answer to the report in flight
	orders  wire.Receipt      // orders for the next receipt
	given   []wire.Assignment // assignments since the last report that listed spans
	number  uint64            // number of the last span that this leader assigned
}

// jobTruth is the true state of a job, and the knowledge of leader and worker about it.
type jobTruth struct {
	id       string
	tree     engine.Tree
	executed []int // number of executions of each partition
	excused  []int // number of necessary repetitions of each partition, because it failed or its results were lost

	log      []logged // all delivered items, in order
	received uint64   // number of items that the current leader has received
	durable  uint64   // number of items in a checkpoint
	told     uint64   // number of items that the worker knows to be durable
	held     []wire.HeldSpan
	sent     uint64 // number of items when the report in flight was made
}

type logged struct {
	item   wire.Item
	covers engine.Span
}

type slotState struct {
	run   *HeldSpan
	claim engine.Span // partitions that were claimed and not run yet
	from  uint64      // first partition that was run and not delivered
	next  uint64      // first partition that was not run
	begun bool        // the fields from and next are set
}

const (
	propertySlots = 3
	attempts      = 2 // number of failures of each failing partition
)

func (w *world) job(id string) *jobTruth {
	return w.jobs[slices.IndexFunc(w.jobs, func(j *jobTruth) bool { return j.id == id })]
}

// finished marks the partitions that the job's first n items finish.
func (j *jobTruth) finished(n uint64) []bool {
	done := make([]bool, len(j.executed))
	for _, l := range j.log[:n] {
		for p := l.covers.Lo; p < l.covers.Hi && l.item.Failure == nil; p++ {
			done[p] = true
		}
	}
	return done
}

// free lists the spans that the leader must assign: they are not finished, not held in the worker's
// last report, and not assigned since then.
func (w *world) free(j *jobTruth) []engine.Span {
	taken := j.finished(j.received)
	mark := func(s engine.Span) {
		for p := s.Lo; p < s.Hi; p++ {
			taken[p] = true
		}
	}
	for _, h := range j.held {
		mark(h.Span)
	}
	for _, a := range slices.Concat(w.given, w.orders.Assigned) {
		if a.Job == j.id {
			mark(a.Span)
		}
	}
	var free []engine.Span
	for p := range uint64(len(taken)) {
		switch {
		case taken[p]:
		case len(free) > 0 && free[len(free)-1].Hi == p:
			free[len(free)-1].Hi++
		default:
			free = append(free, engine.Span{Lo: p, Hi: p + 1})
		}
	}
	return free
}

// assign adds a part of a free span to the next receipt, if the leader knows what the worker holds.
func (w *world) assign(j *jobTruth, most uint64) {
	free := w.free(j)
	if len(free) == 0 || !w.heard {
		return
	}
	s := rapid.SampledFrom(free).Draw(w.T, "free")
	s.Hi = min(s.Hi, s.Lo+most)
	w.number++
	w.orders.Opens = append(w.orders.Opens, wire.Opening{Job: j.id, Partitions: j.tree.Partitions(), Priority: rapid.IntRange(0, 1).Draw(w.T, "priority")})
	w.orders.Assigned = append(w.orders.Assigned, wire.Assignment{ID: wire.SpanID{Epoch: w.epoch, Number: w.number}, Job: j.id, Span: s})
}

// take lets the leader process the report in flight.
func (w *world) take() {
	r := *w.report
	if r.Epoch != w.epoch || r.Sequence == w.taken {
		return // the report is a duplicate or for an earlier leader
	}
	if r.Sequence != w.taken+1 {
		w.Fatalf("report %d came after %d", r.Sequence, w.taken)
	}
	w.taken = r.Sequence
	for _, jr := range r.Jobs {
		j := w.job(jr.Job)
		if jr.First != j.received+1 && !(r.Sequence == 1 && jr.First == j.told+1) {
			w.Fatalf("job %s: items from %d, but the leader has %d and the worker knows of %d durable ones", jr.Job, jr.First, j.received, j.told)
		}
		for i, item := range jr.Items {
			number := jr.First + uint64(i)
			if number > uint64(len(j.log)) || j.log[number-1].item != item {
				w.Fatalf("job %s: item %d is not what was delivered under this number", jr.Job, number)
			}
			j.received = max(j.received, number)
		}
	}
	if !r.More {
		w.given, w.heard = nil, true
		for _, j := range w.jobs {
			j.held = nil
		}
		for _, s := range r.Spans {
			j := w.job(s.Job)
			j.held = append(j.held, s)
		}
	}
	receipt := w.orders
	w.given = append(w.given, receipt.Assigned...)
	w.orders = wire.Receipt{}
	receipt.Epoch, receipt.Sequence = r.Epoch, r.Sequence
	for _, j := range w.jobs {
		receipt.Jobs = append(receipt.Jobs, wire.JobReceipt{Job: j.id, Received: j.received, Durable: min(j.durable, j.received)})
	}
	w.receipt = &receipt
	w.checkNothingVanished(r)
}

// checkNothingVanished checks that, after a report that lists spans, the leader has every item that
// existed when the report was made.
func (w *world) checkNothingVanished(r wire.Report) {
	for _, j := range w.jobs {
		if !r.More && j.received != j.sent {
			w.Fatalf("job %s: the report lists spans, and the leader has %d of %d items", j.id, j.received, j.sent)
		}
	}
}

// answer delivers the receipt to the session.
func (w *world) answer() {
	if w.receipt == nil || w.report == nil || w.receipt.Epoch != w.report.Epoch || w.receipt.Sequence != w.report.Sequence {
		return
	}
	orders, err := w.session.takeReceipt(*w.receipt)
	if err != nil {
		w.Fatalf("receipt: %v", err)
	}
	if len(orders.ignored) > 0 {
		w.Fatalf("ignored %v", orders.ignored)
	}
	if _, err := w.session.takeReceipt(*w.receipt); err == nil {
		w.Fatalf("a receipt was taken twice")
	}
	for _, j := range w.receipt.Jobs {
		w.job(j.Job).told = max(w.job(j.Job).told, j.Durable)
	}
	w.report = nil
	for _, o := range orders.open {
		if rapid.IntRange(0, 9).Draw(w.T, "opens") == 0 {
			j := w.job(o.Job)
			f := wire.Failure{Function: wire.Open, Error: "cannot open"}
			w.session.OpenFailed(o.Job, f)
			j.log = append(j.log, logged{item: w.session.lastItem(o.Job)})
		} else {
			w.session.Opened(o.Job)
		}
	}
}

// lastItem returns the last delivered item.
func (s *Session) lastItem(id string) wire.Item {
	j, _ := s.find(id)
	return j.items[len(j.items)-1].Item
}

// newLeader replaces the dead leader with a successor, which sends a beacon.
func (w *world) newLeader() {
	w.epoch++
	w.taken, w.heard, w.receipt, w.orders, w.given, w.number = 0, false, nil, wire.Receipt{}, nil, 0
	for _, j := range w.jobs {
		j.received, j.held = j.durable, nil
	}
	if !w.session.follow(w.epoch) || w.session.follow(w.epoch-1) {
		w.Fatalf("does not follow epoch %d", w.epoch)
	}
	w.report = nil
}

// send makes a report, unless a report is in flight.
func (w *world) send() {
	if w.report == nil {
		r := w.session.nextReport()
		if err := r.Validate(); err != nil {
			w.Fatalf("report: %v", err)
		}
		w.report = &r
		for _, j := range w.jobs {
			j.sent = uint64(len(j.log))
		}
	}
}

// run lets a slot run some of its claimed partitions, or claim more.
func (w *world) run(s *slotState, upTo uint64) {
	if s.run == nil {
		if s.run = w.session.Take(); s.run == nil {
			return
		}
		s.begun, s.claim = false, engine.Span{}
	}
	if s.claim.Empty() {
		if s.claim = w.session.Claim(s.run, upTo, rapid.Bool().Draw(w.T, "long")); s.claim.Empty() {
			if s.begun {
				w.deliver(s, s.next)
			}
			w.session.Release(s.run)
			s.run = nil
			return
		}
		if !s.begun {
			s.from, s.next, s.begun = s.claim.Lo, s.claim.Lo, true
		}
		if s.claim.Lo != s.next {
			w.Fatalf("claimed %v when %d was next", s.claim, s.next)
		}
	}
	j := w.job(s.run.Job())
	for ; upTo > 0 && !s.claim.Empty(); upTo-- {
		p := s.claim.Lo
		s.claim.Lo++
		j.executed[p]++
		if p%7 == 3 && j.excused[p] < attempts {
			j.excused[p]++
			w.fail(s, p)
			return
		}
		s.next = p + 1
	}
}

// items returns the nodes of the partitions before hi that a slot has run and not delivered. Some
// of the nodes have large partials.
func (w *world) items(j *jobTruth, s *slotState, hi uint64) []logged {
	var list []logged
	for _, n := range j.tree.Cover(engine.Span{Lo: s.from, Hi: hi}) {
		n = j.tree.Lift(n)
		p := &wire.Partial{Node: n}
		if n.Index%3 == 0 {
			p.Data = large
		}
		list = append(list, logged{wire.Item{Partial: p}, j.tree.Span(n)})
	}
	return list
}

var large = make([]byte, wire.MaxInline)

// deliver delivers the results of the partitions before hi.
func (w *world) deliver(s *slotState, hi uint64) {
	j := w.job(s.run.Job())
	w.hand(j, s, hi, s.next, w.items(j, s, hi))
}

func (w *world) fail(s *slotState, p uint64) {
	j := w.job(s.run.Job())
	list := append(w.items(j, s, s.next), logged{wire.Item{Failure: &wire.Failure{Partition: p}}, engine.Span{Lo: p, Hi: p + 1}})
	w.hand(j, s, p+1, p+1, list)
}

func (w *world) hand(j *jobTruth, s *slotState, hi, next uint64, list []logged) {
	var items []wire.Item
	for _, l := range list {
		items = append(items, l.item)
	}
	if err := w.session.Deliver(s.run, hi, next, items); err != nil {
		w.Fatalf("deliver: %v", err)
	}
	j.log = append(j.log, list...)
	s.from, s.next, s.claim = hi, next, engine.Span{}
}

// lose makes a slot lose the partitions that it has run and not delivered.
func (w *world) lose(s *slotState) {
	if s.run == nil {
		return
	}
	j := w.job(s.run.Job())
	for p := s.from; s.begun && p < s.next; p++ {
		j.excused[p]++
	}
	w.session.Release(s.run)
	s.run = nil
}

// check compares the session with the true state of its jobs.
func (w *world) check() {
	for _, j := range w.jobs {
		inside, _ := w.session.find(j.id)
		if inside == nil {
			if len(j.log) > 0 {
				w.Fatalf("job %s was dropped", j.id)
			}
			continue
		}
		if inside.last() != uint64(len(j.log)) {
			w.Fatalf("job %s: item %d is the last, want %d", j.id, inside.last(), len(j.log))
		}
		if inside.durable > j.durable {
			w.Fatalf("job %s: dropped up to %d, durable is %d", j.id, inside.durable, j.durable)
		}
		for i, kept := range inside.items {
			if kept.Item != j.log[inside.durable+uint64(i)].item {
				w.Fatalf("job %s: item %d changed", j.id, inside.durable+uint64(i)+1)
			}
		}
		// Each finished partition is in one item, and in no held span.
		where := make([]string, len(j.executed))
		put := func(p uint64, what string) {
			if where[p] != "" {
				w.Fatalf("job %s: partition %d is in %s and in %s", j.id, p, where[p], what)
			}
			where[p] = what
		}
		for _, l := range j.log {
			for p := l.covers.Lo; p < l.covers.Hi && l.item.Failure == nil; p++ {
				put(p, fmt.Sprintf("node %v", l.item.Partial.Node))
			}
		}
		for _, r := range slices.Concat(inside.queued, inside.running) {
			if r.lo >= r.hi || r.claimed < r.lo || r.claimed > r.hi {
				w.Fatalf("job %s: span %v is [%d,%d) and claimed to %d", j.id, r.id, r.lo, r.hi, r.claimed)
			}
			for p := r.lo; p < r.hi; p++ {
				put(p, "span "+r.id.String())
			}
		}
		for p, n := range j.executed {
			if n > 1+j.excused[p] {
				w.Fatalf("job %s: partition %d was run %d times, %d of them excused", j.id, p, n, j.excused[p])
			}
		}
	}
}

// TestNothingIsLostOrRunTwice plays random schedules of runs, deliveries, failures, lost messages,
// cuts, checkpoints and changes of leader. After every step, the test checks that the session is
// consistent, and that a partition runs again only if it failed or its slot lost it. At the end,
// the test checks that all partitions are finished.
func TestNothingIsLostOrRunTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, err := New(Config{Worker: "w", Hello: wire.Hello{Slots: propertySlots}})
		if err != nil {
			t.Fatal(err)
		}
		w := &world{T: t, session: s}
		for _, id := range []string{"a", "b"} {
			tree, err := engine.NewTree(rapid.Uint64Range(1, 60).Draw(t, "partitions"))
			if err != nil {
				t.Fatal(err)
			}
			n := tree.Partitions()
			w.jobs = append(w.jobs, &jobTruth{id: id, tree: tree, executed: make([]int, n), excused: make([]int, n)})
		}
		for range propertySlots {
			w.slots = append(w.slots, new(slotState))
		}
		w.newLeader()
		job := func() *jobTruth { return rapid.SampledFrom(w.jobs).Draw(t, "job") }
		slot := func() *slotState { return rapid.SampledFrom(w.slots).Draw(t, "slot") }
		run := func(*rapid.T) { w.run(slot(), rapid.Uint64Range(1, 9).Draw(t, "run")) }
		t.Repeat(map[string]func(*rapid.T){
			"":                     func(*rapid.T) { w.check() },
			"assign":               func(*rapid.T) { w.assign(job(), rapid.Uint64Range(1, 30).Draw(t, "most")) },
			"run":                  run,
			"run on":               run,
			"hand over":            func(*rapid.T) { w.handOver(slot()) },
			"lose results":         func(*rapid.T) { w.lose(slot()) },
			"report, lost":         func(*rapid.T) { w.send() },
			"report, receipt lost": func(*rapid.T) { w.send(); w.take() },
			"report":               func(*rapid.T) { w.send(); w.take(); w.answer() },
			"report, duplicated":   func(*rapid.T) { w.send(); w.take(); w.take(); w.answer() },
			"cut":                  func(*rapid.T) { w.cut(job()) },
			"checkpoint":           func(*rapid.T) { j := job(); j.durable = j.received },
			"the leader dies":      func(*rapid.T) { w.newLeader() },
			"a late receipt":       func(*rapid.T) { w.answer() },
		})
		w.finish()
	})
}

func (w *world) handOver(s *slotState) {
	if s.run != nil && s.begun {
		w.deliver(s, rapid.Uint64Range(s.from, s.next).Draw(w.T, "hi"))
	}
}

// cut shortens a span that the leader knows to be held.
func (w *world) cut(j *jobTruth) {
	if len(j.held) == 0 {
		return
	}
	h := rapid.SampledFrom(j.held).Draw(w.T, "held")
	w.orders.Cuts = append(w.orders.Cuts, wire.Cut{ID: h.ID, Hi: rapid.Uint64Range(0, h.Span.Hi+1).Draw(w.T, "hi")})
}

// finish continues without faults until all partitions are finished and durable.
func (w *world) finish() {
	for range 10_000 {
		for _, s := range w.slots {
			w.run(s, 8)
			w.handOver(s)
		}
		w.send()
		w.take()
		w.answer()
		w.check()
		left := 0
		for _, j := range w.jobs {
			j.durable = j.received
			w.assign(j, 30)
			left += len(j.executed) - count(j.finished(j.received))
		}
		if items, _ := w.session.Kept(); left == 0 && items == 0 && w.session.work.held == 0 {
			if w.session.work.busy != 0 || w.session.work.yielding != 0 || !w.session.Empty() {
				w.Fatalf("everything is done, but %d slots are busy and %d yield", w.session.work.busy, w.session.work.yielding)
			}
			return
		}
	}
	w.Fatalf("it does not end: %+v", w.session)
}

func count(list []bool) (n int) {
	for _, set := range list {
		if set {
			n++
		}
	}
	return n
}
