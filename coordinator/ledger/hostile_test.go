package ledger

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/fuzztest"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// liars are workers that send valid reports with false content: they list spans that were not
// assigned to them, repeat items, and omit numbers. The false reports come in any order, mixed with
// all other events.
type liars struct {
	*rapid.T
	ledger    *Ledger
	now       time.Duration
	trees     map[string]engine.Tree
	sequences map[string]uint64 // sequence number of each worker's last report
	refs      map[Ref]bool      // refs that the ledger has not dropped
	lastRef   Ref
	answers   []Event // answers to the ledger's actions that were not delivered yet

	taken, refused func() // called for a valid and for an invalid report
}

// TestFalseReports checks the ledger's invariants while liars report.
func TestFalseReports(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { lie(t, func() {}, func() {}) })
}

func FuzzFalseReports(f *testing.F) {
	for seed := range uint64(8) {
		random := rand.NewChaCha8([32]byte{byte(seed)})
		data := make([]byte, 8<<10)
		_, _ = random.Read(data) // Read never fails
		f.Add(data)
	}
	corpus := fuzztest.Watch(f)
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) { lie(t, corpus.Taken, corpus.Refused) }))
}

func lie(t *rapid.T, taken, refused func()) {
	l, err := New(Config{Epoch: 3, Self: "w0", MaxWorkers: 3, MaxFailing: 6, MaxTreeNodes: 60}, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := &liars{
		T: t, ledger: l,
		trees: map[string]engine.Tree{}, sequences: map[string]uint64{}, refs: map[Ref]bool{}, taken: taken, refused: refused,
	}
	for _, id := range []string{"j0", "j1"} {
		s.addJob(id)
	}
	for range rapid.IntRange(20, 80).Draw(t, "steps") {
		s.anything()
	}
	for _, id := range []string{"j0", "j1"} { // at the end the ledger drops every partial
		s.step(JobCancelled{id})
	}
	for len(s.answers) > 0 {
		s.answer(0)
	}
	if len(s.refs) > 0 || len(l.jobs) > 0 {
		t.Fatalf("%d jobs are left, and partials %v", len(l.jobs), s.refs)
	}
}

func (s *liars) addJob(id string) {
	tree, err := engine.NewTree(rapid.OneOf(rapid.Uint64Range(1, 4), rapid.Uint64Range(1, 40)).Draw(s.T, "partitions"))
	if err != nil {
		s.Fatal(err)
	}
	s.trees[id] = tree
	e := JobAdded{
		Spec:       store.Spec{ID: id, Job: "k", Version: "1", MaxAttempts: 2, MaxSkipped: 2},
		LeaderDied: rapid.Bool().Draw(s.T, "leader died"), CanMerge: rapid.Bool().Draw(s.T, "can merge"),
	}
	if rapid.IntRange(0, 3).Draw(s.T, "planned") > 0 {
		e.Partitions = tree.Partitions()
	}
	s.step(e)
}

// anything performs one random event. Rapid draws the first choices most often.
func (s *liars) anything() {
	worker := rapid.SampledFrom([]string{"w0", "w1", "w2", "w3"})
	job := rapid.SampledFrom([]string{"j0", "j1", "jx"})
	switch rapid.SampledFrom([]string{"report", "tick", "report", "answer", "report", "report", "died", "parked", "cancelled"}).Draw(s.T, "what") {
	case "report":
		s.report(worker.Draw(s.T, "worker"))
	case "tick":
		s.now += time.Duration(rapid.SampledFrom([]int{100, 1000, 3000, 10, 8000}).Draw(s.T, "ms")) * time.Millisecond
		s.step(Tick{})
	case "answer":
		if len(s.answers) > 0 {
			s.answer(rapid.IntRange(0, len(s.answers)-1).Draw(s.T, "answer"))
		}
	case "died":
		s.step(WorkerDied{worker.Draw(s.T, "worker")})
	case "parked":
		s.step(JobParked{job.Draw(s.T, "job")})
	case "cancelled":
		if s.rarely("cancelled", 3) {
			s.step(JobCancelled{job.Draw(s.T, "job")})
		}
	}
}

// rarely returns true less often than once in n draws, because rapid prefers small numbers.
func (s *liars) rarely(label string, n int) bool { return rapid.IntRange(0, n).Draw(s.T, label) == n }

func (s *liars) answer(i int) {
	e := s.answers[i]
	s.answers = slices.Delete(s.answers, i, i+1)
	if m, ok := e.(Merged); ok {
		if s.rarely("slow", 5) {
			e = MergeSlow{m.Job, m.Node}
		} else {
			m.Ref = s.newRef()
			e = m
		}
	}
	s.step(e)
}

func (s *liars) newRef() Ref {
	s.lastRef++
	s.refs[s.lastRef] = true
	return s.lastRef
}

// report draws a report, and passes it to the ledger if it is valid.
func (s *liars) report(worker string) {
	sequence := s.sequences[worker] + rapid.SampledFrom([]uint64{1, 1, 1, 1, 0, 2}).Draw(s.T, "sequence")
	r := wire.Report{
		Epoch: 3, Worker: worker, Sequence: sequence, Draining: s.rarely("draining", 9),
		Conversation: rapid.SampledFrom([]uint64{1, 1, 1, 1, 0, 2}).Draw(s.T, "conversation"),
		LostSlots:    rapid.SampledFrom([]int{0, 0, 0, 1, 4}).Draw(s.T, "lost slots"),
		LostCalls:    rapid.SampledFrom([]int{0, 0, 0, 1, 4}).Draw(s.T, "lost calls"),
	}
	if sequence < 2 || s.rarely("hello", 9) {
		r.Sequence = 1
		r.Hello = &wire.Hello{Slots: rapid.IntRange(1, 3).Draw(s.T, "slots"), Knows: []wire.JobKind{{Name: "k", Version: "1"}}}
	}
	trueItems, trueSpans := s.truth(worker)
	for _, id := range []string{"j0", "j1", "jx"} {
		if len(trueItems[id]) > 0 || rapid.Bool().Draw(s.T, "reports "+id) {
			r.Jobs = append(r.Jobs, s.jobReport(id, trueItems[id]))
		}
	}
	if r.More = s.rarely("more", 9); !r.More {
		r.Spans = trueSpans
		for range rapid.SampledFrom([]int{0, 0, 0, 1, 2, 3, 4}).Draw(s.T, "false spans") {
			r.Spans = append(r.Spans, s.falseSpan())
		}
	}
	if r.Validate() != nil {
		s.refused()
		return
	}
	s.taken()
	s.sequences[worker] = r.Sequence
	s.step(reported(r, s.newRef))
}

func (s *liars) jobReport(id string, items []wire.Item) wire.JobReport {
	r := wire.JobReport{Job: id, First: rapid.Uint64Range(1, 6).Draw(s.T, "first"), Items: items}
	for range rapid.SampledFrom([]int{0, 0, 0, 1, 2, 3, 4}).Draw(s.T, "false items") {
		tree, ok := s.trees[id]
		if !ok {
			tree = s.trees["j0"]
		}
		if j := s.ledger.jobsByID[id]; ok && j != nil && !j.planned() {
			ok = false // the caller refuses the partials of a job without a plan
		}
		switch item := rapid.IntRange(0, 9).Draw(s.T, "item"); {
		case item < 3 || !ok && item > 3:
			failure := &wire.Failure{
				Partition: rapid.Uint64Range(0, 50).Draw(s.T, "partition"), Error: "bad",
				Function:  rapid.SampledFrom([]wire.Function{wire.Map, wire.Map, wire.Open, wire.Plan, wire.Merge, wire.Finish}).Draw(s.T, "function"),
				Permanent: s.rarely("permanent", 30),
			}
			if failure.Function == wire.Merge {
				failure.Node = s.node(tree)
			}
			r.Items = append(r.Items, wire.Item{Failure: failure})
		case item == 3:
			function := rapid.SampledFrom([]wire.Function{wire.Plan, wire.Finish}).Draw(s.T, "function")
			output := wire.NewOutput(function, tree.Partitions(), nil)
			output.Epoch = rapid.Uint64Range(2, 3).Draw(s.T, "epoch")
			r.Items = append(r.Items, wire.Item{Output: &output})
		default:
			partial := wire.NewPartial(s.node(tree), nil)
			partial.MergedFor = rapid.SampledFrom([]uint64{0, 0, 0, 2}).Draw(s.T, "merged for")
			r.Items = append(r.Items, wire.Item{Partial: &partial})
		}
	}
	return r
}

func (s *liars) node(tree engine.Tree) engine.Node {
	partition := rapid.Uint64Range(0, tree.Partitions()-1).Draw(s.T, "partition")
	level := uint8(rapid.IntRange(0, int(tree.Root().Level)).Draw(s.T, "level"))
	return tree.Lift(engine.Node{Level: level, Index: partition >> level})
}

// truth returns a report of an honest worker: most of the spans that were assigned to the worker,
// and for each job the first partitions of some spans. Without honest reports the ledger would
// rarely cut spans or run speculative copies.
func (s *liars) truth(worker string) (items map[string][]wire.Item, spans []wire.HeldSpan) {
	w := s.ledger.worker(worker)
	if w == nil {
		return nil, nil
	}
	items = map[string][]wire.Item{}
	for _, a := range w.assignments {
		if a.call != nil {
			if rapid.Bool().Draw(s.T, "returns") {
				items[a.job.spec.ID] = append(items[a.job.spec.ID], s.returned(a))
			} else {
				spans = append(spans, wire.HeldSpan{ID: a.id, Job: a.job.spec.ID, Function: a.call.function, Node: a.call.node, Running: !s.rarely("waits", 3)})
			}
			continue
		}
		span := a.span
		switch rapid.SampledFrom([]string{"none", "some", "none", "lost"}).Draw(s.T, "progress") {
		case "lost":
			continue
		case "some":
			partial := wire.NewPartial(engine.Leaf(span.Lo), nil)
			items[a.job.spec.ID] = append(items[a.job.spec.ID], wire.Item{Partial: &partial})
			span.Lo++
		}
		if !span.Empty() {
			spans = append(spans, wire.HeldSpan{ID: a.id, Job: a.job.spec.ID, Span: span, Running: !s.rarely("waits", 3)})
		}
	}
	return items, spans
}

// returned returns the item of a call that has returned.
func (s *liars) returned(a *assignment) wire.Item {
	if a.call.function == wire.Merge {
		partial := wire.NewPartial(a.call.node, nil)
		partial.MergedFor = 3
		return wire.Item{Partial: &partial}
	}
	output := wire.NewOutput(a.call.function, s.trees[a.job.spec.ID].Partitions(), nil)
	output.Epoch = 3
	return wire.Item{Output: &output}
}

func (s *liars) falseSpan() wire.HeldSpan {
	if s.rarely("false call", 4) {
		return wire.HeldSpan{
			ID:       wire.SpanID{Epoch: rapid.Uint64Range(1, 4).Draw(s.T, "epoch"), Number: rapid.Uint64Range(1, 12).Draw(s.T, "number")},
			Job:      rapid.SampledFrom([]string{"j0", "j1", "jx"}).Draw(s.T, "job"),
			Function: rapid.SampledFrom([]wire.Function{wire.Plan, wire.Merge, wire.Finish}).Draw(s.T, "function"),
			Running:  rapid.Bool().Draw(s.T, "running"),
		}
	}
	lo := rapid.Uint64Range(0, 45).Draw(s.T, "lo")
	return wire.HeldSpan{
		ID:      wire.SpanID{Epoch: rapid.Uint64Range(1, 4).Draw(s.T, "epoch"), Number: rapid.Uint64Range(1, 12).Draw(s.T, "number")},
		Job:     rapid.SampledFrom([]string{"j0", "j1", "jx"}).Draw(s.T, "job"),
		Span:    engine.Span{Lo: lo, Hi: lo + rapid.Uint64Range(0, 45).Draw(s.T, "length")},
		Running: rapid.Bool().Draw(s.T, "running"),
	}
}

// step passes an event to the ledger, and checks the actions and the invariants.
func (s *liars) step(e Event) {
	for _, a := range s.ledger.Step(s.now, e) {
		switch a := a.(type) {
		case Reply:
			s.checkReceipt(a)
		case DropPartial:
			if !s.refs[a.Ref] {
				s.Fatalf("partial %d is dropped twice", a.Ref)
			}
			delete(s.refs, a.Ref)
		case Merge:
			if !s.refs[a.Left] || !s.refs[a.Right] {
				s.Fatalf("a merge needs %d and %d, and one of them was dropped", a.Left, a.Right)
			}
			s.answers = append(s.answers, Merged{Job: a.Job, FinishedNode: FinishedNode{Node: a.Node}})
		case StorePlan:
			s.answers = append(s.answers, JobPlanned{Job: a.Job, Plan: Plan{Partitions: a.Partitions}})
		case Checkpoint:
			s.checkSnapshot(a.Snapshot)
			s.answers = append(s.answers, Checkpointed{a.Job})
		case EndJob:
			s.checkSnapshot(a.Snapshot)
			if a.Outcome == store.Completed && !s.refs[a.Result] {
				s.Fatalf("the result %d was dropped", a.Result)
			}
			s.answers = append(s.answers, JobEnded{a.Job})
		case LookUpJob:
			s.answers = append(s.answers, JobEnded(a))
		}
	}
	s.checkWorkers()
	for _, j := range s.ledger.jobs {
		s.checkPartitions(j)
	}
}

// checkReceipt checks that the receipt is valid, that its assignments were not sent too early, and
// that a quarantined assignment runs alone.
func (s *liars) checkReceipt(a Reply) {
	if err := a.Receipt.Validate(); err != nil {
		s.Fatalf("receipt for %s: %v", a.Worker, err)
	}
	for _, sent := range a.Receipt.Assigned {
		j := s.ledger.jobsByID[sent.Job]
		if j == nil || j.assignments.find(sent.ID) == nil {
			continue // the receipt of a repeated report
		}
		assigned := j.assignments.find(sent.ID)
		if s.ledger.recovery.active {
			s.Fatalf("span %v was sent before recovery ended", sent.ID)
		}
		if j.checkpoint.durable < assigned.waitsFor {
			s.Fatalf("span %v was sent before checkpoint %d was durable", sent.ID, assigned.waitsFor)
		}
		if n := len(assigned.worker.assignments); assigned.quarantined && assigned.waitsFor == 0 && n > 1 {
			s.Fatalf("quarantined span %v was sent to a worker with %d assignments", sent.ID, n)
		}
	}
}

func (s *liars) checkSnapshot(snapshot Snapshot) {
	for _, n := range snapshot.Nodes {
		if n.Ref != NoRef && !s.refs[n.Ref] {
			s.Fatalf("a snapshot has node %v with partial %d, which was dropped", n.Node, n.Ref)
		}
	}
}

// checkWorkers checks the counters and indexes of the ledger's workers.
func (s *liars) checkWorkers() {
	slots, reserved := map[wire.JobKind]int{}, 0
	var idle []*worker
	for _, w := range s.ledger.workers {
		if w.idleSlots() > 0 {
			idle = append(idle, w)
		}
		for _, kind := range w.hello.Knows {
			if !w.draining && w.slots > 0 {
				slots[kind] += w.slots
			}
		}
		if w.reserved {
			reserved++
		}
		calls := 0
		for _, a := range w.assignments {
			if a.call != nil {
				calls++
			}
			if a.call != nil && !a.call.done && a.call.assignment != a {
				s.Fatalf("%v is assigned to %s, and the call does not have it so", a.call, w.id)
			}
			if a.job.assignments.find(a.id) != a || a.worker != w {
				s.Fatalf("span %v is assigned to %s, and job %s does not have it so", a.id, w.id, a.job.spec.ID)
			}
		}
		if calls != w.calls {
			s.Fatalf("%s has %d calls, the ledger counts %d", w.id, calls, w.calls)
		}
		if w.pendingSteals < 0 {
			s.Fatalf("%s has %d pending steals", w.id, w.pendingSteals)
		}
	}
	if listed := slices.Collect(s.ledger.idleWorkers()); !slices.Equal(idle, listed) {
		s.Fatalf("%d workers have idle slots, the ledger lists %d", len(idle), len(listed))
	}
	if !maps.Equal(slots, s.ledger.slotsByKind) || reserved != s.ledger.reserved {
		s.Fatalf("there are %v slots and %d reserved workers, the ledger counts %v and %d", slots, reserved, s.ledger.slotsByKind, s.ledger.reserved)
	}
}

// checkPartitions checks that every unfinished partition of a job is in exactly one place, and that
// no finished partition is queued.
func (s *liars) checkPartitions(j *job) {
	if j.ending() {
		return
	}
	s.checkCalls(j)
	places := make([]int, j.tree.Partitions())
	put := func(span engine.Span) {
		for p := span.Lo; p < span.Hi; p++ {
			places[p]++
		}
	}
	for _, span := range j.queue.fresh.spans {
		put(span)
	}
	failed, suspects := 0, uint64(0)
	for f := range j.queue.failed.list.from(failedPartition{}) {
		if f.queued {
			put(single(f.partition))
			failed++
		}
	}
	for _, x := range j.queue.suspects.list {
		put(x.span)
		suspects += x.span.Len()
	}
	if failed != j.queue.failed.retries.len || suspects != j.queue.suspects.size {
		s.Fatalf("job %s has %d failed partitions queued and %d suspects, it counts %d and %d", j.spec.ID, failed, suspects, j.queue.failed.retries.len, j.queue.suspects.size)
	}
	queued := slices.Clone(places)
	seen := map[*assignment]bool{}
	for a := range j.assignments.all() {
		if seen[a] = true; !seen[a.duplicate] {
			put(a.span)
		}
		if a.duplicate != nil && (a.duplicate.duplicate != a || a.duplicate.span != a.span) {
			s.Fatalf("span %v and its duplicate %v differ", a.span, a.duplicate.span)
		}
	}
	for p := range j.tree.Partitions() {
		switch finished := !j.forest.anyMissing(single(p)); {
		case finished && queued[p] != 0:
			s.Fatalf("job %s: partition %d is finished and queued", j.spec.ID, p)
		case !finished && places[p] != 1:
			s.Fatalf("job %s: partition %d is in %d places", j.spec.ID, p, places[p])
		}
	}
}

// checkCalls checks that a job has exactly the calls that it needs.
func (s *liars) checkCalls(j *job) {
	for c := range j.calls.all() {
		if _, wanted := j.operands(c); !wanted || c.function == wire.Plan && j.planned() {
			s.Fatalf("job %s waits for %v, which is done", j.spec.ID, c)
		}
	}
	if root := j.forest.root; root.finished && j.calls.find(wire.Finish, engine.Node{}) == nil {
		s.Fatalf("the root of job %s is finished, and no call of Finish is wanted", j.spec.ID)
	}
}
