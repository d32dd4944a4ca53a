package ledger

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// fleet is a ledger with many workers that all finish partitions at the same rate. It measures how
// much the ledger assigns and how long it takes, in clusters that are too large for the simulator.

type fleet struct {
	ledger  *Ledger
	trees   map[string]engine.Tree
	rate    float64 // partitions per second and slot
	now     time.Duration
	workers []*fleetWorker
	index   map[string]*fleetWorker
	lastRef Ref
	actions map[string]int
	answers []Event // answers to the ledger's actions that were not delivered yet
	ended   int
	failed  []string // errors of the jobs that failed
	nudged  []string
	epoch   uint64

	computed func(worker string, span engine.Span) // called for the partitions that a worker has computed, unless nil
}

type fleetWorker struct {
	id         string
	slots      int
	slow       float64 // factor by which the worker is slower than the fleet; 0 for a worker that is not
	knows      []wire.JobKind
	build      string
	seq        uint64
	reportedAt time.Duration
	spans      []wire.HeldSpan
	begun      map[wire.SpanID]float64 // finished fraction of the next partition
	items      map[string]uint64       // number of the last item, by job
	calls      []wire.Assignment       // calls that return with the next report
}

func newFleet(tb testing.TB, workers, slots int, rate float64) *fleet {
	l, err := New(Config{Epoch: 1, Self: "w0000", Build: "amd64/v1"}, 0)
	if err != nil {
		tb.Fatal(err)
	}
	f := &fleet{ledger: l, epoch: 1, rate: rate, trees: map[string]engine.Tree{}, index: map[string]*fleetWorker{}, actions: map[string]int{}}
	for i := range workers {
		f.addWorker(fmt.Sprintf("w%04d", i), slots)
	}
	return f
}

func (f *fleet) addWorker(id string, slots int) {
	w := &fleetWorker{id: id, slots: slots, knows: []wire.JobKind{{Name: "k", Version: "1"}}, reportedAt: f.now, begun: map[wire.SpanID]float64{}, items: map[string]uint64{}}
	f.workers = append(f.workers, w)
	f.index[w.id] = w
}

// remove kills a worker.
func (f *fleet) remove(w *fleetWorker) {
	f.workers = slices.DeleteFunc(f.workers, func(o *fleetWorker) bool { return o == w })
	f.step(WorkerDied{w.id})
}

func (f *fleet) add(id string, partitions uint64) { f.addSpec(store.Spec{ID: id}, partitions) }

func (f *fleet) addSpec(spec store.Spec, partitions uint64) {
	tree, err := engine.NewTree(partitions)
	if err != nil {
		panic(err)
	}
	f.trees[spec.ID] = tree
	spec.Job, spec.Version, spec.MaxAttempts = cmp.Or(spec.Job, "k"), "1", 3
	f.step(JobAdded{Spec: spec, Plan: Plan{Partitions: partitions}, CanMerge: true})
}

// addRound adds a round of a job, whose earlier rounds have ended.
func (f *fleet) addRound(number, partitions uint64) {
	id := engine.RoundID("job", number)
	tree, err := engine.NewTree(partitions)
	if err != nil {
		panic(err)
	}
	f.trees[id] = tree
	spec := store.Spec{ID: id, Job: "k", Version: "1", MaxAttempts: 3}
	f.step(JobAdded{Spec: spec, Plan: Plan{Partitions: partitions}, CanMerge: true, Round: Round{Rounds: true, Number: number}})
}

// ahead returns the amount of work that each slot of a worker has been assigned.
func (f *fleet) ahead(w *fleetWorker) (d time.Duration) {
	for _, a := range f.ledger.worker(w.id).assignments {
		_, left := f.ledger.remaining(a)
		d += left
	}
	return d / time.Duration(w.slots)
}

func (f *fleet) step(e Event) {
	for _, a := range f.ledger.Step(f.now, e) {
		switch a := a.(type) {
		case Reply:
			w := f.index[a.Worker]
			for _, c := range a.Receipt.Cuts {
				for i := range w.spans {
					if s := &w.spans[i]; s.ID == c.ID {
						s.Span.Hi = min(s.Span.Hi, max(c.Hi, s.Span.Lo+map[bool]uint64{true: 1}[s.Running]))
					}
				}
			}
			for _, s := range a.Receipt.Assigned {
				if s.Call != nil {
					w.calls = append(w.calls, s)
					continue
				}
				f.actions["assigned"]++
				w.spans = append(w.spans, wire.HeldSpan{ID: s.ID, Job: s.Job, Span: s.Span})
			}
			for _, j := range a.Receipt.Jobs {
				if j.Ended {
					w.spans = slices.DeleteFunc(w.spans, func(s wire.HeldSpan) bool { return s.Job == j.Job })
				}
			}
			f.actions["reply"]++
			f.actions["cut"] += len(a.Receipt.Cuts)
		case Nudge:
			f.actions["nudge"]++
			f.nudged = append(f.nudged, a.Worker)
		case Merge:
			f.actions["merge"]++
			f.lastRef++
			f.answers = append(f.answers, Merged{a.Job, FinishedNode{Node: a.Node, Ref: f.lastRef}})
		case Checkpoint:
			f.actions["checkpoint"]++
			f.answers = append(f.answers, Checkpointed{a.Job})
		case EndRound:
			f.ended++
			f.answers = append(f.answers, JobEnded{a.Job})
		case EndJob:
			f.ended++
			if a.Error != "" {
				f.failed = append(f.failed, a.Error)
			}
			f.answers = append(f.answers, JobEnded{a.Job})
		}
	}
}

// drain delivers the answers to the ledger's actions.
func (f *fleet) drain() {
	for len(f.answers) > 0 {
		e := f.answers[0]
		f.answers = f.answers[1:]
		f.step(e)
	}
}

// report runs a worker until the current time and sends its report.
func (f *fleet) report(w *fleetWorker) {
	w.seq++
	r := wire.Report{Epoch: f.epoch, Worker: w.id, Sequence: w.seq}
	if w.seq == 1 {
		r.Hello = &wire.Hello{Slots: w.slots, Knows: w.knows, Build: w.build}
	}
	budget := make([]float64, w.slots)
	for i := range budget {
		budget[i] = f.rate / max(1, w.slow) * (f.now - w.reportedAt).Seconds()
	}
	w.reportedAt = f.now
	done := map[string][]wire.Item{}
	var order []string
	slot := 0
	for i := range w.spans {
		s := &w.spans[i]
		s.Running = false
		for ; slot < len(budget); slot++ {
			budget[slot] += w.begun[s.ID]
			delete(w.begun, s.ID)
			k := min(uint64(budget[slot]+1e-9), s.Span.Len())
			if k > 0 {
				budget[slot] -= float64(k)
				if done[s.Job] == nil {
					order = append(order, s.Job)
				}
				if f.computed != nil {
					f.computed(w.id, engine.Span{Lo: s.Span.Lo, Hi: s.Span.Lo + k})
				}
				for _, n := range f.trees[s.Job].Cover(engine.Span{Lo: s.Span.Lo, Hi: s.Span.Lo + k}) {
					done[s.Job] = append(done[s.Job], wire.Item{Partial: &wire.Partial{Node: n}})
				}
				s.Span.Lo += k
			}
			if s.Span.Empty() {
				break
			}
			s.Running = true
			w.begun[s.ID] = budget[slot]
			slot++
			break
		}
	}
	w.spans = slices.DeleteFunc(w.spans, func(s wire.HeldSpan) bool { return s.Span.Empty() })
	for _, c := range w.calls {
		if done[c.Job] == nil {
			order = append(order, c.Job)
		}
		output := wire.NewOutput(c.Call.Function, 0, nil)
		output.Epoch = f.epoch
		_, round := engine.SplitRound(c.Job)
		output.Continues = round > 0
		item := wire.Item{Output: &output}
		if c.Call.Function == wire.Merge {
			item = wire.Item{Partial: &wire.Partial{Node: c.Call.Node, MergedFor: f.epoch}}
		}
		done[c.Job] = append(done[c.Job], item)
	}
	w.calls = nil
	for _, id := range order {
		r.Jobs = append(r.Jobs, wire.JobReport{Job: id, First: w.items[id] + 1, Items: done[id]})
		w.items[id] += uint64(len(done[id]))
	}
	r.Spans = slices.Clone(w.spans)
	f.step(reported(r, func() Ref { f.lastRef++; return f.lastRef }))
}

// round makes each worker report once, evenly distributed over the report interval.
func (f *fleet) round() {
	every := f.ledger.reportInterval()
	start := f.now
	for i, w := range f.workers {
		f.now = start + every*time.Duration(i+1)/time.Duration(len(f.workers))
		f.report(w)
		if i%100 == 99 || i == len(f.workers)-1 {
			f.drain()
			f.step(Tick{})
		}
	}
}

// next returns the time of a worker's next report: after the report interval, or when a span is
// finished, but at least 20 ms after the last report.
func (f *fleet) next(w *fleetWorker) time.Duration {
	at := f.ledger.worker(w.id).reportInterval
	if len(w.calls) > 0 {
		at = 0
	}
	for i, s := range w.spans[:min(w.slots, len(w.spans))] {
		left := (float64(w.spans[i].Span.Len()) - w.begun[s.ID]) * max(1, w.slow) / f.rate
		at = min(at, duration(left)+time.Microsecond)
	}
	return f.now + max(at, 20*time.Millisecond)
}

// run makes all workers report when they are due, until every job has ended. It returns false if
// the limit is reached first.
func (f *fleet) run(limit time.Duration) bool {
	due := make([]time.Duration, len(f.workers))
	for i := range due {
		due[i] = f.now + time.Duration((i+f.ended)%len(due))*time.Microsecond // another worker is the first in each round
	}
	tick := f.now
	for f.ended < len(f.trees) {
		i := 0
		for k := range due {
			if due[k] < due[i] {
				i = k
			}
		}
		f.nudged = f.nudged[:0]
		if tick < due[i] {
			f.now = tick
			f.step(Tick{})
			tick += 100 * time.Millisecond
		} else {
			f.now = due[i]
			f.report(f.workers[i])
			due[i] = f.next(f.workers[i])
		}
		if f.now > limit {
			return false
		}
		f.drain()
		for _, id := range f.nudged {
			if k := slices.IndexFunc(f.workers, func(w *fleetWorker) bool { return w.id == id }); k >= 0 { // silent workers are nudged too
				due[k] = min(due[k], f.now+time.Millisecond)
			}
		}
	}
	return true
}

// busyFleet returns 1,000 workers with 8 slots each, which have worked on a job of 10^9 partitions for some time.
func busyFleet(tb testing.TB) (*fleet, *job) {
	f := newFleet(tb, 1000, 8, 100)
	f.add("job", 1_000_000_000)
	for range 5 {
		f.round()
	}
	return f, f.ledger.jobsByID["job"]
}

// BenchmarkReports measures a report of one of 1,000 workers with 8 slots each, with its
// merges and checkpoints, in a job of 10^9 partitions.
func BenchmarkReports(b *testing.B) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f, j := busyFleet(b)
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; n += len(f.workers) {
		f.round()
	}
	b.StopTimer()
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB")
	b.ReportMetric(float64(j.assignments.len()), "assignments")
	runtime.KeepAlive(f)
}

// BenchmarkMap measures how much a viewer costs the leader of 1,000 workers with 8 slots each in a
// job of 10^9 partitions: the maps for a browser window of 1,400 by 900 pixels, and the answers
// about workers and the job that all viewers share.
func BenchmarkMap(b *testing.B) {
	f, j := busyFleet(b)
	var durable spanSet
	for _, n := range j.forest.finishedNodes() {
		durable.add(j.tree.Span(n.Node))
	}
	windows := []wire.Window{{Step: 735_295, Cells: 1360}, {Lo: 0, Step: 2048, Cells: 2212}}
	answer := func(b *testing.B, windows []wire.Window) {
		bytes, v := 0, f.ledger.View("job")
		b.ReportAllocs()
		for b.Loop() {
			if windows == nil {
				v = f.ledger.View("job")
			}
			bytes = len(wire.Encode(wire.Jobs{Jobs: []wire.JobProgress{v.Progress}, Map: v.Map(windows, durable.spans)}))
		}
		b.ReportMetric(float64(bytes), "bytes")
		b.ReportMetric(float64(len(durable.spans)), "spans")
	}
	b.Run("own", func(b *testing.B) { answer(b, windows) })
	b.Run("shared", func(b *testing.B) { answer(b, nil) })
	b.Run("workers", func(b *testing.B) {
		bytes := 0
		b.ReportAllocs()
		for b.Loop() {
			workers, _ := f.ledger.WorkersAfter("", wire.MaxQueried)
			totals := f.ledger.Totals()
			bytes = len(wire.Encode(wire.Workers{Workers: workers, Totals: &totals}))
		}
		b.ReportMetric(float64(bytes), "bytes")
	})
}

// BenchmarkManyJobs measures a report while 300 jobs share 100 workers.
func BenchmarkManyJobs(b *testing.B) {
	f := newFleet(b, 100, 8, 100)
	for i := range 300 {
		f.add(fmt.Sprintf("job%03d", i), 1_000_000_000)
	}
	for range 5 {
		f.round()
	}
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; n += len(f.workers) {
		f.round()
	}
}

// TestFewAssignmentsAndShortTail runs jobs from beginning to end. The number of assignments stays
// small even with 10^9 partitions, and no slot runs long after the others have finished.
func TestFewAssignmentsAndShortTail(t *testing.T) {
	for _, c := range []struct {
		workers, slots int
		partitions     uint64
		rate           float64
		assigned       int           // maximum number of assignments
		over           time.Duration // maximum excess over the ideal duration
	}{
		{4, 2, 1_000_000_000, 20e6, 200, 500 * time.Millisecond},
		{4, 2, 1_000_000, 1e4, 250, 500 * time.Millisecond},
		{2, 1, 10_000, 1160, 60, 200 * time.Millisecond},
		{3, 2, 600, 10, 150, 500 * time.Millisecond},
		{2, 8, 12, 0.5, 16, 800 * time.Millisecond}, // the second worker begins when the first has opened the job
		{1, wire.MaxSlots, 50_000, 10, 10_000, 1500 * time.Millisecond},
		{1000, 8, 1_000_000_000, 20e6, 20_000, time.Second}, // half of the report interval
	} {
		f := newFleet(t, c.workers, c.slots, c.rate)
		f.add("job", c.partitions)
		if !f.run(time.Minute) {
			t.Fatalf("%+v: the job does not end:\n%s", c, formatState(f.ledger))
		}
		ideal := time.Duration(math.Ceil(float64(c.partitions)/float64(c.workers*c.slots)) / c.rate * float64(time.Second))
		t.Logf("%d workers, %d partitions: took %v, ideal %v, %v", c.workers, c.partitions, f.now, ideal, f.actions)
		if f.now > ideal+c.over || f.actions["assigned"] > c.assigned {
			t.Errorf("%+v: took %v, ideal is %v; %v", c, f.now, ideal, f.actions)
		}
	}
}

// TestReportIntervalDelaysNoJob runs a job of 100 s on idle workers that report each 20 s, as 10,000 workers do. The job
// begins on all workers, and its last partitions are spread over them, without waiting for reports that are due later.
func TestReportIntervalDelaysNoJob(t *testing.T) {
	f := newFleet(t, 200, 8, 1.25)
	f.ledger.cfg.ReportsPerSecond = 10
	for range 2 { // the first report's receipt counts only the workers before
		for _, w := range f.workers {
			f.report(w)
		}
	}
	f.now += f.ledger.cfg.RecoveryTimeout
	f.step(Tick{})
	began := f.now
	f.add("job", 200*8*125)
	if !f.run(3 * time.Minute) {
		t.Fatalf("the job does not end:\n%s", formatState(f.ledger))
	}
	if took := f.now - began; took > 105*time.Second {
		t.Errorf("took %v, want at most 105s, the ideal is 100s; %v", took, f.actions)
	}
}

// TestIdleWorkersReportSeldom leads many workers without a job. Idle workers obey ReportsPerSecond too,
// and the first job does not wait for their next reports.
func TestIdleWorkersReportSeldom(t *testing.T) {
	f := newFleet(t, 1500, 1, 100)
	for _, w := range f.workers {
		f.report(w) // the last report is the first of which the receipt counts all workers
	}
	for _, w := range f.workers {
		f.report(w)
		if every := f.ledger.worker(w.id).reportInterval; every != 3*time.Second {
			t.Fatalf("idle worker %s reports every %v, want 500 reports a second of 1,500 workers", w.id, every)
		}
	}
	f.add("job", 1_000_000_000)
	f.now += f.ledger.cfg.RecoveryTimeout
	f.step(Tick{})
	if n := f.actions["nudge"]; n != maxTrialWorkers { // the others wait for the end of the trial
		t.Errorf("nudged %d idle workers when a job began, want %d", n, maxTrialWorkers)
	}
}

// TestLostNudge leads many idle workers, whose reports are rare, and loses the nudges for a job. All are sent again.
func TestLostNudge(t *testing.T) {
	f := idleFleet(t)
	f.add("job", 1_000_000_000)
	f.step(Tick{})
	lost := map[string]bool{}
	for _, id := range f.nudged {
		lost[id] = true
	}
	began := f.now
	for len(lost) > 0 {
		if f.now += 100 * time.Millisecond; f.now > began+time.Minute {
			t.Fatalf("%d workers are not nudged again", len(lost))
		}
		f.nudged = nil
		f.step(Tick{})
		if n := len(f.nudged); n > maxTrialWorkers {
			t.Fatalf("%d workers are nudged at one time, want at most %d", n, maxTrialWorkers)
		}
		for _, id := range f.nudged {
			if lost[id] && f.now < began+nudgeAgain {
				t.Fatalf("worker %s was nudged again after %v, before its report could be there", id, f.now-began)
			}
			delete(lost, id)
		}
	}
}

// TestLongTrial leads many idle workers, whose reports are rare, and a job that opens for a minute. The first workers are
// asked again and again, more and more rarely.
func TestLongTrial(t *testing.T) {
	f := idleFleet(t)
	f.add("job", 1_000_000_000)
	for _, w := range f.workers {
		w.slots = 0 // their slots do not begin the spans
	}
	for began := f.now; f.now < began+time.Minute; f.now += 100 * time.Millisecond {
		f.nudged = nil
		f.step(Tick{})
		for _, id := range slices.Clone(f.nudged) {
			f.report(f.index[id])
		}
	}
	if n := f.actions["nudge"]; n < 3*maxTrialWorkers || n > 200 {
		t.Errorf("%d nudges in a minute", n)
	}
}

// idleFleet returns 1,500 idle workers, which report every 3 s. The ledger has recovered.
func idleFleet(t *testing.T) *fleet {
	f := newFleet(t, 1500, 1, 100)
	for range 2 { // the first report's receipt counts only the workers before
		for _, w := range f.workers {
			f.report(w)
		}
	}
	f.now += f.ledger.cfg.RecoveryTimeout
	f.step(Tick{})
	return f
}

// TestSilentWorkers lets each of some workers fall silent after another number of reports. Each is probed at the first
// tick after half an interval, and removed at the first tick after Config.SilentAfter, whatever the others report.
func TestSilentWorkers(t *testing.T) {
	f := newFleet(t, 1500, 1, 100)
	for range 2 {
		for _, w := range f.workers {
			f.report(w)
		}
	}
	silent := func(i int) bool { return i%5 == 0 && f.now > time.Duration(i+20)*10*time.Millisecond }
	last, every := map[string]time.Duration{}, map[string]time.Duration{}
	probed, removed := map[string]time.Duration{}, map[string]time.Duration{}
	for begun := false; len(removed) < 300; begun = true {
		f.now += 100 * time.Millisecond
		for _, a := range f.ledger.Step(f.now, Tick{}) {
			switch a := a.(type) {
			case Probe:
				if _, again := probed[a.Worker]; !again {
					probed[a.Worker] = f.now
				}
			case Log:
				removed[a.Worker] = f.now
			}
		}
		for i, w := range f.workers {
			if !silent(i) && (!begun || (f.now/(100*time.Millisecond))%30 == time.Duration(i%30)) {
				f.report(w)
				last[w.id], every[w.id] = f.now, f.ledger.worker(w.id).reportInterval
			}
		}
		if f.now > time.Minute {
			t.Fatalf("removed %d of 300 silent workers", len(removed))
		}
	}
	const tick = 100 * time.Millisecond
	for id, at := range removed {
		if late := at - last[id] - every[id] - f.ledger.cfg.SilentAfter; late <= 0 || late > tick {
			t.Errorf("worker %s was removed %v after its last report, its interval was %v", id, at-last[id], every[id])
		}
		if late := probed[id] - last[id] - every[id]*3/2; late <= 0 || late > tick {
			t.Errorf("worker %s was probed %v after its last report, its interval was %v", id, probed[id]-last[id], every[id])
		}
	}
}

// TestSmallUrgentJob runs a small job of high priority and a large job of low priority. The small
// job does not fill the horizon of all slots, so slots also get the large job.
func TestSmallUrgentJob(t *testing.T) {
	f := newFleet(t, 100, 8, 100)
	f.addSpec(store.Spec{ID: "high", Priority: 1}, 100*8*100*10)
	f.add("low", 100*8*100*3600)
	for f.ended == 0 {
		f.round()
		for _, w := range f.workers {
			if d := f.ahead(w); f.now > 5*time.Second && d < 2*time.Second {
				t.Fatalf("after %v worker %s has %v ahead", f.now, w.id, d)
			}
		}
	}
}

// TestFairShareOfWorkersThatKnowTheJob runs a job that only two workers know. Workers that do not
// know the job do not change the fair shares.
func TestFairShareOfWorkersThatKnowTheJob(t *testing.T) {
	var alone time.Duration
	for _, others := range []int{0, 50} {
		f := newFleet(t, 2+others, 1, 100)
		for _, w := range f.workers[:2] {
			w.knows = append(w.knows, wire.JobKind{Name: "rare", Version: "1"})
		}
		f.addSpec(store.Spec{ID: "job", Job: "rare"}, 2*100*60)
		for f.ledger.jobsByID["job"].queue.size() > 2*100*10 {
			f.round()
			if d := f.ahead(f.workers[0]); f.now > 5*time.Second && d < 2*time.Second {
				t.Fatalf("with %d others, after %v: %v ahead", others, f.now, d)
			}
		}
		if !f.run(2 * time.Minute) {
			t.Fatalf("with %d others the job does not end", others)
		}
		if others == 0 {
			alone = f.now
		} else if f.now > alone+time.Second {
			t.Errorf("with %d others the job took %v, alone %v", others, f.now, alone)
		}
	}
}

// BenchmarkTakeover measures a new leader's ledger: 1,000 workers report 16 spans each, and
// then half of them die.
func BenchmarkTakeover(b *testing.B) {
	for b.Loop() {
		f := newFleet(b, 1000, 8, 100)
		f.add("job", 1_000_000_000)
		f.ledger.cfg.Epoch = 2
		number := uint64(0)
		for k := range 16 {
			for _, w := range f.workers {
				lo := uint64(k)*30_000_000 + number%1000*20_000 + 7
				number++
				w.spans = append(w.spans, wire.HeldSpan{
					ID: wire.SpanID{Epoch: 1, Number: number}, Job: "job", Span: engine.Span{Lo: lo, Hi: lo + 15_000}, Running: k < 8,
				})
			}
		}
		for _, w := range f.workers {
			f.epoch = 2
			f.report(w)
		}
		if n := f.ledger.jobsByID["job"].assignments.len(); n != 16_000 {
			b.Fatalf("%d spans were adopted", n)
		}
		for _, w := range f.workers[:500] {
			f.step(WorkerDied{w.id})
		}
	}
}

// BenchmarkIdle measures a report of an idle worker at the end of a job, while 1,000 other workers
// have 16,000 assignments that are too short to be cut.
func BenchmarkIdle(b *testing.B) {
	f, j := busyFleet(b)
	j.queue.fresh = spanSet{}
	for a := range j.assignments.all() {
		a.share.rate, j.rate = rate{1e9, 1}, rate{1e9, 1}
	}
	idle := &fleetWorker{id: "w9999", slots: 8, knows: f.workers[0].knows}
	f.index[idle.id] = idle
	f.rate = 0
	b.ResetTimer()
	for range b.N {
		f.report(idle)
	}
	if f.actions["cut"] > 0 || j.assignments.len() < 16_000 {
		b.Fatalf("%d assignments, %v", j.assignments.len(), f.actions)
	}
}

// BenchmarkRetries measures a report while 9,000 failed partitions are queued.
func BenchmarkRetries(b *testing.B) {
	f := newFleet(b, 100, 8, 100)
	f.add("job", 1_000_000_000)
	for range 3 {
		f.round()
	}
	j := f.ledger.jobsByID["job"]
	for p := range uint64(9000) {
		p = 900_000_000 + p*1000
		j.queue.fresh.remove(single(p))
		x := j.queue.failed.get(p)
		x.failed, x.due = 1, 1000*time.Hour
		j.queue.failed.setQueued(x, true)
	}
	b.ResetTimer()
	for n := 0; n < b.N; n += len(f.workers) {
		f.round()
	}
}

// TestSilentWorkersAreProbedFirst checks that silent workers are probed before they are removed, however long the interval
// between their reports is, because only a probe tells that a worker has died.
func TestSilentWorkersAreProbedFirst(t *testing.T) {
	f := newFleet(t, 200, 1, 100)
	f.ledger.cfg.ReportsPerSecond = 10
	for range 2 {
		for _, w := range f.workers {
			f.report(w)
		}
	}
	last, probed := f.now, map[string]bool{}
	for removed := 0; removed < len(f.workers); {
		f.now += 100 * time.Millisecond
		if f.now-last > time.Minute {
			t.Fatalf("%d of %d silent workers are removed after a minute", removed, len(f.workers))
		}
		for _, a := range f.ledger.Step(f.now, Tick{}) {
			switch a := a.(type) {
			case Probe:
				probed[a.Worker] = true
			case Log:
				if !strings.HasPrefix(a.Text, "Worker is silent") {
					break
				}
				if removed++; !probed[a.Worker] {
					t.Fatalf("worker %s is removed without a probe", a.Worker)
				}
			}
		}
	}
}
