package ledger

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// fleet is many workers that run whatever they get at a given speed.
type fleet struct {
	ledger  *Ledger
	trees   map[string]jobs.Tree
	speed   float64 // partitions per second and slot
	now     time.Duration
	workers []*fleetWorker
	index   map[string]*fleetWorker
	lastRef Ref
	actions map[string]int
	todo    []Event
	ended   int
	nudged  []string
	epoch   uint64
}

type fleetWorker struct {
	id    string
	slots int
	knows []wire.JobKind
	seq   uint64
	told  time.Duration
	spans []wire.HeldSpan
	spare map[wire.SpanID]float64 // what part of the next partition is done
	items map[string]uint64
}

func newFleet(tb testing.TB, workers, slots int, speed float64) *fleet {
	l, err := New(Config{Epoch: 1, Self: "w0000"}, 0)
	if err != nil {
		tb.Fatal(err)
	}
	f := &fleet{ledger: l, epoch: 1, speed: speed, trees: map[string]jobs.Tree{}, index: map[string]*fleetWorker{}, actions: map[string]int{}}
	for i := range workers {
		w := &fleetWorker{id: fmt.Sprintf("w%04d", i), slots: slots, knows: []wire.JobKind{{Name: "k", Version: "1"}}, spare: map[wire.SpanID]float64{}, items: map[string]uint64{}}
		f.workers = append(f.workers, w)
		f.index[w.id] = w
	}
	return f
}

func (f *fleet) add(id string, partitions uint64) { f.addSpec(store.Spec{ID: id}, partitions) }

func (f *fleet) addSpec(spec store.Spec, partitions uint64) {
	tree, err := jobs.NewTree(partitions)
	if err != nil {
		panic(err)
	}
	f.trees[spec.ID] = tree
	spec.Job, spec.Version, spec.MaxAttempts = cmp.Or(spec.Job, "k"), "1", 3
	f.step(JobAdded{Spec: spec, Partitions: partitions})
}

// ahead is how much work each slot of a worker has.
func (f *fleet) ahead(w *fleetWorker) (d time.Duration) {
	for _, h := range f.ledger.worker(w.id).held {
		_, left := f.ledger.remaining(h)
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
				w.spans = append(w.spans, wire.HeldSpan{ID: s.ID, Job: s.Job, Span: s.Span})
			}
			for _, j := range a.Receipt.Jobs {
				if j.Ended {
					w.spans = slices.DeleteFunc(w.spans, func(s wire.HeldSpan) bool { return s.Job == j.Job })
				}
			}
			f.actions["reply"]++
			f.actions["assigned"] += len(a.Receipt.Assigned)
			f.actions["cut"] += len(a.Receipt.Cuts)
		case Nudge:
			f.actions["nudge"]++
			f.nudged = append(f.nudged, a.Worker)
		case Merge:
			f.actions["merge"]++
			f.lastRef++
			f.todo = append(f.todo, Merged{a.Job, a.Node, f.lastRef})
		case Checkpoint:
			f.actions["checkpoint"]++
			f.todo = append(f.todo, Checkpointed{a.Job})
		case EndJob:
			f.ended++
			f.todo = append(f.todo, JobEnded{a.Job})
		}
	}
}

// drain performs what the ledger has asked for.
func (f *fleet) drain() {
	for len(f.todo) > 0 {
		e := f.todo[0]
		f.todo = f.todo[1:]
		f.step(e)
	}
}

// report lets a worker run until now and report.
func (f *fleet) report(w *fleetWorker) {
	w.seq++
	r := wire.Report{Epoch: f.epoch, Worker: w.id, Sequence: w.seq}
	if w.seq == 1 {
		r.Hello = &wire.Hello{Slots: w.slots, Knows: w.knows}
	}
	budget := make([]float64, w.slots)
	for i := range budget {
		budget[i] = f.speed * (f.now - w.told).Seconds()
	}
	w.told = f.now
	done := map[string][]wire.Item{}
	var refs []Ref
	var order []string
	slot := 0
	for i := range w.spans {
		s := &w.spans[i]
		s.Running = false
		for ; slot < len(budget); slot++ {
			budget[slot] += w.spare[s.ID]
			delete(w.spare, s.ID)
			k := min(uint64(budget[slot]+1e-9), s.Span.Len())
			if k > 0 {
				budget[slot] -= float64(k)
				if done[s.Job] == nil {
					order = append(order, s.Job)
				}
				for _, n := range f.trees[s.Job].Cover(jobs.Span{Lo: s.Span.Lo, Hi: s.Span.Lo + k}) {
					done[s.Job] = append(done[s.Job], wire.Item{Partial: &wire.Partial{Node: n}})
				}
				s.Span.Lo += k
			}
			if s.Span.Empty() {
				break
			}
			s.Running = true
			w.spare[s.ID] = budget[slot]
			slot++
			break
		}
	}
	w.spans = slices.DeleteFunc(w.spans, func(s wire.HeldSpan) bool { return s.Span.Empty() })
	for _, id := range order {
		r.Jobs = append(r.Jobs, wire.JobReport{Job: id, First: w.items[id] + 1, Items: done[id]})
		w.items[id] += uint64(len(done[id]))
		for range done[id] {
			f.lastRef++
			refs = append(refs, f.lastRef)
		}
	}
	r.Spans = slices.Clone(w.spans)
	f.step(Reported{r, refs})
}

// round has each worker report once, evenly spread over the interval.
func (f *fleet) round() {
	every := f.ledger.interval()
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

// next is when a worker reports again: after the interval, or once one of its
// spans is done, but not at once.
func (f *fleet) next(w *fleetWorker) time.Duration {
	at := f.ledger.worker(w.id).every
	for i, s := range w.spans[:min(w.slots, len(w.spans))] {
		left := (float64(w.spans[i].Span.Len()) - w.spare[s.ID]) / f.speed
		at = min(at, duration(left)+time.Microsecond)
	}
	return f.now + max(at, 20*time.Millisecond)
}

// run lets all workers report when it is time, until every job has ended.
func (f *fleet) run(limit time.Duration) bool {
	due := make([]time.Duration, len(f.workers))
	for i := range due {
		due[i] = time.Duration(i) * time.Microsecond
	}
	tick := time.Duration(0)
	for f.ended < len(f.trees) {
		i := 0
		for k := range due {
			if due[k] < due[i] {
				i = k
			}
		}
		if f.now = due[i]; f.now > limit {
			return false
		}
		if f.now >= tick {
			f.step(Tick{})
			tick = f.now + 100*time.Millisecond
		}
		f.nudged = f.nudged[:0]
		f.report(f.workers[i])
		due[i] = f.next(f.workers[i])
		f.drain()
		for _, id := range f.nudged {
			k := slices.IndexFunc(f.workers, func(w *fleetWorker) bool { return w.id == id })
			due[k] = min(due[k], f.now+time.Millisecond)
		}
	}
	return true
}

// BenchmarkReports is the cost of a report of one of 1,000 workers with 8 slots
// each, merges and checkpoints included, in a job of 10^9 partitions.
func BenchmarkReports(b *testing.B) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f := newFleet(b, 1000, 8, 100)
	f.add("job", 1_000_000_000)
	for range 5 {
		f.round()
	}
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; n += len(f.workers) {
		f.round()
	}
	b.StopTimer()
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB")
	b.ReportMetric(float64(f.ledger.byID["job"].held.len()), "spans")
	runtime.KeepAlive(f)
}

// BenchmarkManyJobs is the cost of a report where 300 jobs share 100 workers.
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

// TestLongJobEnds runs a job of 10^9 partitions that do next to nothing: neither
// may it be chopped into millions of spans, nor one slot be left with a long tail.
func TestLongJobEnds(t *testing.T) {
	for _, c := range []struct {
		workers, slots int
		partitions     uint64
		speed          float64
		assigned       int           // at most
		over           time.Duration // longer than ideal, at most
	}{
		{4, 2, 1_000_000_000, 20e6, 200, 500 * time.Millisecond},
		{4, 2, 1_000_000, 1e4, 250, 500 * time.Millisecond},
		{2, 1, 10_000, 1160, 60, 200 * time.Millisecond},
		{3, 2, 600, 10, 150, 500 * time.Millisecond},
		{2, 8, 12, 0.5, 12, 500 * time.Millisecond},
		{1, wire.MaxSlots, 50_000, 10, 10_000, 1500 * time.Millisecond},
		{1000, 8, 1_000_000_000, 20e6, 20_000, time.Second}, // half of the interval of reports
	} {
		f := newFleet(t, c.workers, c.slots, c.speed)
		f.add("job", c.partitions)
		if !f.run(time.Minute) {
			t.Fatalf("%+v: the job does not end:\n%s", c, briefBooks(f.ledger))
		}
		ideal := time.Duration(math.Ceil(float64(c.partitions)/float64(c.workers*c.slots)) / c.speed * float64(time.Second))
		t.Logf("%d workers, %d partitions: took %v, ideal %v, %v", c.workers, c.partitions, f.now, ideal, f.actions)
		if f.now > ideal+c.over || f.actions["assigned"] > c.assigned {
			t.Errorf("%+v: took %v, ideal is %v; %v", c, f.now, ideal, f.actions)
		}
	}
}

// TestLittleThatIsUrgent gives little work of a high priority, and much of a low one.
// Until the first ends its share of each slot is small, and all have the other ahead.
func TestLittleThatIsUrgent(t *testing.T) {
	f := newFleet(t, 300, 8, 100)
	f.addSpec(store.Spec{ID: "high", Priority: 1}, 300*8*100*10)
	f.add("low", 300*8*100*3600)
	for f.ended == 0 {
		f.round()
		for _, w := range f.workers {
			if d := f.ahead(w); f.now > 5*time.Second && d < 2*time.Second {
				t.Fatalf("after %v worker %s has %v ahead", f.now, w.id, d)
			}
		}
	}
}

// TestShareOfThoseWhoCan has two workers who know a job, and others who do not. Those
// make no difference.
func TestShareOfThoseWhoCan(t *testing.T) {
	var alone time.Duration
	for _, others := range []int{0, 50} {
		f := newFleet(t, 2+others, 1, 100)
		for _, w := range f.workers[:2] {
			w.knows = append(w.knows, wire.JobKind{Name: "rare", Version: "1"})
		}
		f.addSpec(store.Spec{ID: "job", Job: "rare"}, 2*100*60)
		for f.ledger.byID["job"].waiting() > 2*100*10 {
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

// BenchmarkTakeover is what a new leader's ledger takes to hear 1,000 workers that
// hold 16 spans each, and then to learn that half of them are dead.
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
					ID: wire.SpanID{Epoch: 1, Number: number}, Job: "job", Span: jobs.Span{Lo: lo, Hi: lo + 15_000}, Running: k < 8,
				})
			}
		}
		for _, w := range f.workers {
			f.epoch = 2
			f.report(w)
		}
		if held := f.ledger.byID["job"].held.len(); held != 16_000 {
			b.Fatalf("%d spans were adopted", held)
		}
		for _, w := range f.workers[:500] {
			f.step(WorkerDied{w.id})
		}
	}
}

// BenchmarkIdle is the cost of a report of an idle worker at a job's end, while
// 1,000 others hold 16,000 spans and more that are too short to be cut.
func BenchmarkIdle(b *testing.B) {
	f := newFleet(b, 1000, 8, 100)
	f.add("job", 1_000_000_000)
	for range 5 {
		f.round()
	}
	j := f.ledger.byID["job"]
	j.fresh = spanSet{}
	for h := range j.held.all() {
		h.part.pace, j.pace = pace{1e9, 1}, pace{1e9, 1}
	}
	idle := &fleetWorker{id: "w9999", slots: 8, knows: f.workers[0].knows}
	f.index[idle.id] = idle
	f.speed = 0
	b.ResetTimer()
	for range b.N {
		f.report(idle)
	}
	if f.actions["cut"] > 0 || j.held.len() < 16_000 {
		b.Fatalf("%d spans are held, %v", j.held.len(), f.actions)
	}
}

// BenchmarkRetries is the cost of a report where 9,000 partitions wait to be tried
// again.
func BenchmarkRetries(b *testing.B) {
	f := newFleet(b, 100, 8, 100)
	f.add("job", 1_000_000_000)
	for range 3 {
		f.round()
	}
	j := f.ledger.byID["job"]
	for p := range uint64(9000) {
		p = 900_000_000 + p*1000
		j.fresh.remove(single(p))
		a := j.attempts.get(p)
		a.Failed, a.due = 1, 1000*time.Hour
		j.attempts.setWaiting(a, true)
	}
	b.ResetTimer()
	for n := 0; n < b.N; n += len(f.workers) {
		f.round()
	}
}
