package ledger

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

var (
	modelSeed = flag.Uint64("seed", 0, "run the model with this seed only, and print what happens")
	modelRuns = flag.Int("runs", 0, "how many runs of the model, from a random seed on; 0 means a few thousand fixed ones")
)

// TestModel drives a ledger with a model of everything around it: workers,
// network, merges, storage and leaders that die, in thousands of short runs. Each
// is decided by its seed alone.
func TestModel(t *testing.T) {
	if *modelSeed != 0 {
		if err := newModel(*modelSeed, t.Logf).run(); err != nil {
			t.Fatal(err)
		}
		return
	}
	first, runs := uint64(1), 1500
	if testing.Short() {
		runs = 300
	}
	if *modelRuns > 0 {
		first, runs = rand.Uint64N(1<<40), *modelRuns
	}
	total := modelStats{}
	for seed := first; seed < first+uint64(runs); seed++ {
		m := newModel(seed, nil)
		if err := m.run(); err != nil {
			t.Fatalf("seed %d: %v\nreplay: go test ./coordinator/ledger -run TestModel -seed %d -v", seed, err, seed)
		}
		total.add(m.stats)
	}
	t.Logf("%d runs: %+v", runs, total)
	if total.Leaders == 0 || total.Deaths == 0 || total.Copies == 0 || total.Cuts == 0 || total.Adopted == 0 || total.Skipped == 0 || total.Repeats == 0 || total.Parked == 0 || total.Told == 0 {
		t.Errorf("something never happened: %+v", total)
	}
}

// TestSameEventsSameActions runs the model twice with the same seeds.
func TestSameEventsSameActions(t *testing.T) {
	for seed := uint64(1); seed <= 60; seed++ {
		var first, second []string
		for _, log := range []*[]string{&first, &second} {
			m := newModel(seed, func(format string, args ...any) { *log = append(*log, fmt.Sprintf(format, args...)) })
			if err := m.run(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		if len(first) == 0 || !slices.Equal(first, second) {
			t.Fatalf("seed %d: two runs differ", seed)
		}
	}
}

// modelStats counts what happened in runs, to see that everything does.
type modelStats struct {
	Steps, Leaders, Deaths, Silences, Copies, Cuts, Adopted, Repeats, Skipped, Failed, Executed, Partitions int

	Parked, Told int // jobs set aside, and jobs that the ledger heard of by a worker
}

func (s *modelStats) add(o modelStats) {
	s.Steps += o.Steps
	s.Leaders += o.Leaders
	s.Deaths += o.Deaths
	s.Silences += o.Silences
	s.Copies += o.Copies
	s.Cuts += o.Cuts
	s.Adopted += o.Adopted
	s.Repeats += o.Repeats
	s.Skipped += o.Skipped
	s.Failed += o.Failed
	s.Executed += o.Executed
	s.Partitions += o.Partitions
	s.Parked += o.Parked
	s.Told += o.Told
}

// model is the world around a ledger.
type model struct {
	rng     *rand.Rand
	logf    func(string, ...any)
	verbose bool
	now     time.Duration
	stats   modelStats

	clean bool // nobody but leaders dies, and no answer comes late: then nothing runs twice
	calm  bool // faults have ceased

	epoch    uint64
	self     string
	ledger   *Ledger
	crashed  bool // the last leader died
	bereft   bool // some leader did, so that innocents may have been blamed
	resuming bool // living workers have yet to be heard by the new leader
	refs     map[Ref][]uint64
	lastRef  Ref
	assigned map[wire.SpanID]bool
	todo     []Action // merges, checkpoints and ends under way

	jobs    []*modelJob
	workers []*modelWorker // in order of birth, dead ones included
	born    int
}

// modelJob is what is true of a job, and what storage has of it.
type modelJob struct {
	spec    store.Spec
	tree    jobs.Tree
	kills   map[uint64]bool
	fails   map[uint64]int // how often each partition still fails
	durable Snapshot
	values  map[jobs.Node][]uint64 // of the durable nodes
	copied  bool                   // some of it may run twice though nothing has gone wrong
	ended   store.State
	absent  bool // the ledger has not been told of it
}

// modelWorker keeps the simplest correct books.
type modelWorker struct {
	id       string
	slots    int
	alive    bool
	draining bool
	cut      time.Duration // no message passes until then
	stalled  time.Duration // its partitions get no further until then

	epoch    uint64
	talk     uint64
	sequence uint64
	underWay *wire.Report
	runs     []*modelRun
	jobs     map[string]*modelItems
	out      []wire.Report
	in       []wire.Receipt
	nudged   bool
	probed   bool
	due      time.Duration
	said     bool // it has told the present leader all it holds
}

type modelItems struct {
	items             []wire.Item // all there ever were
	received, durable uint64
}

type modelRun struct {
	id              wire.SpanID
	job             string
	lo, claimed, hi uint64
	running         bool
}

func newModel(seed uint64, logf func(string, ...any)) *model {
	m := &model{rng: rand.New(rand.NewPCG(seed, 1)), logf: logf, verbose: logf != nil, refs: map[Ref][]uint64{}, assigned: map[wire.SpanID]bool{}}
	if m.logf == nil {
		m.logf = func(string, ...any) {}
	}
	m.clean = m.chance(0.5)
	for i := range 1 + m.rng.IntN(3) {
		n := uint64(1 + m.rng.IntN(40))
		if m.chance(0.2) {
			n = uint64(1 + m.rng.IntN(300))
		}
		tree, _ := jobs.NewTree(n)
		j := &modelJob{
			spec: store.Spec{
				ID: fmt.Sprintf("j%d", i), Job: "k", Version: "1",
				Priority: m.rng.IntN(2), MaxAttempts: 1 + m.rng.IntN(4), MaxSkipped: uint64(m.rng.IntN(3)),
			},
			tree: tree, kills: map[uint64]bool{}, fails: map[uint64]int{},
		}
		if !m.clean && m.chance(0.3) {
			j.kills[m.rng.Uint64N(n)] = true
		}
		if m.chance(0.4) {
			for range 1 + m.rng.IntN(3) {
				j.fails[m.rng.Uint64N(n)] = 1 + m.rng.IntN(4)
			}
		}
		m.jobs = append(m.jobs, j)
	}
	for range 1 + m.rng.IntN(5) {
		m.birth()
	}
	m.lead()
	return m
}

func (m *model) chance(p float64) bool { return m.rng.Float64() < p }

func (m *model) living() []*modelWorker {
	var list []*modelWorker
	for _, w := range m.workers {
		if w.alive {
			list = append(list, w)
		}
	}
	return list
}

func (m *model) birth() {
	m.born++
	w := &modelWorker{id: fmt.Sprintf("w%d", m.born), slots: 1 + m.rng.IntN(3), alive: true, jobs: map[string]*modelItems{}}
	m.workers = append(m.workers, w)
	m.logf("%v birth of %s with %d slots", m.now, w.id, w.slots)
}

// lead begins a term with what storage has.
func (m *model) lead() {
	living := m.living()
	m.epoch++
	m.self = living[m.rng.IntN(len(living))].id
	m.logf("%v epoch %d, led by %s", m.now, m.epoch, m.self)
	silent := 2 * time.Second
	if m.clean {
		silent = time.Hour
	}
	l, err := New(Config{Epoch: m.epoch, Self: m.self, SilentAfter: silent, CheckpointEvery: 300 * time.Millisecond}, m.now)
	if err != nil {
		panic(err)
	}
	m.ledger = l
	m.todo = nil
	m.refs = map[Ref][]uint64{}
	m.resuming = true
	for _, w := range m.workers {
		w.out, w.in, w.said, w.probed = nil, nil, false, false
	}
	for _, j := range m.jobs {
		j.absent = true
		switch {
		case j.ended != "":
		case m.epoch > 1 && !m.calm && m.chance(0.1): // its definition is not known there
			m.stats.Parked++
			m.step(JobParked{j.spec.ID})
		case m.epoch > 1 && m.chance(0.1): // begun by the old leader since; it comes by a worker's word, or later
			j.copied = true // the leader does not settle once more
		default:
			m.add(j)
		}
	}
}

// add tells the ledger of a job as storage has it.
func (m *model) add(j *modelJob) {
	j.absent = false
	e := JobAdded{Spec: j.spec, Partitions: j.tree.Partitions(), LeaderDied: m.crashed && m.epoch > 1}
	s := j.durable
	e.Workers, e.Executed, e.Skipped, e.Attempts, e.Suspects = s.Workers, s.Executed, s.Skipped, s.Attempts, s.Suspects
	for _, n := range s.Nodes {
		f := FinishedNode{Node: n.Node}
		if n.Ref != NoRef {
			f.Ref = m.ref(j.values[n.Node])
		}
		e.Nodes = append(e.Nodes, f)
	}
	m.step(e)
}

// parked reports whether a job is for the next leader.
func (m *model) parked(j *modelJob) bool { return m.ledger.absent.parked[j.spec.ID] }

// answer answers an inquiry.
func (m *model) answer(a LookUpJob) {
	switch j := m.job(a.Job); {
	case j.ended != "":
		m.step(JobEnded(a))
	case j.absent:
		m.stats.Told++
		m.add(j)
	}
}

func (m *model) ref(value []uint64) Ref {
	m.lastRef++
	m.refs[m.lastRef] = value
	return m.lastRef
}

func (m *model) job(id string) *modelJob {
	return m.jobs[slices.IndexFunc(m.jobs, func(j *modelJob) bool { return j.spec.ID == id })]
}

func (m *model) worker(id string) *modelWorker {
	return m.workers[slices.IndexFunc(m.workers, func(w *modelWorker) bool { return w.id == id })]
}

type modelError struct{ error }

func (m *model) failf(format string, args ...any) {
	panic(modelError{fmt.Errorf("at %v: %w", m.now, fmt.Errorf(format, args...))})
}

// run lets things happen until every job has ended.
func (m *model) run() (err error) {
	defer func() {
		if v := recover(); v != nil {
			fault, ok := v.(modelError)
			if !ok {
				panic(v)
			}
			err = fault.error
		}
	}()
	troubled := m.rng.IntN(1000)
	for i := 0; ; i++ {
		m.calm = i > troubled
		if m.calm && i > troubled+60_000 {
			m.failf("the jobs do not end:\n%s%d actions under way", briefBooks(m.ledger), len(m.todo))
		}
		if !slices.ContainsFunc(m.jobs, func(j *modelJob) bool { return j.ended == "" }) {
			return nil
		}
		m.stats.Steps++
		if !slices.ContainsFunc(m.workers, func(w *modelWorker) bool { return w.alive && !w.draining }) {
			m.birth()
			m.birth()
		}
		if w := m.worker(m.self); !w.alive { // its process was the leader's
			m.lead()
		}
		m.something()
	}
}

func (m *model) something() {
	switch {
	case m.chance(0.1):
		m.pass()
	case !m.calm && m.chance(0.004):
		m.leaderDies()
	case !m.calm && !m.clean && m.chance(0.003):
		if list := m.living(); len(list) > 0 {
			m.kill(list[m.rng.IntN(len(list))])
		}
	case !m.calm && !m.clean && m.chance(0.003):
		list := m.living()
		w := list[m.rng.IntN(len(list))]
		w.cut = m.now + time.Duration(m.rng.IntN(6000))*time.Millisecond
		m.stats.Silences++
		m.logf("%v %s is cut off until %v", m.now, w.id, w.cut)
	case !m.calm && m.chance(0.003):
		m.birth()
	case !m.calm && m.chance(0.002):
		list := m.living()
		list[m.rng.IntN(len(list))].stalled = m.now + time.Duration(m.rng.IntN(8000))*time.Millisecond
	case !m.calm && m.chance(0.001) && len(m.living()) > 2:
		list := m.living()
		if w := list[m.rng.IntN(len(list))]; w.id != m.self {
			m.drain(w)
		}
	case m.chance(0.002):
		for _, j := range m.jobs {
			switch {
			case !j.absent || j.ended != "":
			case !m.parked(j):
				m.add(j)
			case m.calm:
				m.leaderDies()
				return
			}
		}
	case m.chance(0.2) && len(m.todo) > 0:
		i := m.rng.IntN(len(m.todo))
		a := m.todo[i]
		m.todo = slices.Delete(m.todo, i, i+1)
		m.complete(a)
	default:
		list := m.living()
		m.act(list[m.rng.IntN(len(list))])
	}
}

// pass lets time pass. In a clean run it waits for all to be heard by a new leader.
func (m *model) pass() {
	if m.clean && m.resuming {
		m.resuming = slices.ContainsFunc(m.living(), func(w *modelWorker) bool { return !w.said })
		if m.resuming {
			return
		}
	}
	m.now += time.Duration(m.rng.IntN(30)) * time.Millisecond
	m.step(Tick{})
}

func (m *model) step(e Event) {
	if m.verbose {
		m.logf("%v %s", m.now, brief(e))
	}
	m.perform(m.ledger.Step(m.now, e))
	if _, tick := e.(Tick); !tick || m.chance(0.1) {
		m.check()
	}
}

func (m *model) leaderDies() {
	m.stats.Leaders++
	for _, a := range m.todo { // a write under way may have happened all the same
		if m.chance(0.5) {
			m.save(a)
		}
	}
	m.todo = nil
	w := m.worker(m.self)
	m.crashed = len(m.living()) > 1 && m.chance(0.7)
	m.logf("%v leader %s is gone, its process %v", m.now, m.self, m.crashed)
	if m.crashed {
		w.alive, m.bereft = false, true
	}
	m.lead()
}

func (m *model) kill(w *modelWorker) {
	if !w.alive {
		return
	}
	m.stats.Deaths++
	w.alive = false
	m.logf("%v %s dies", m.now, w.id)
	if w.id == m.self {
		for _, a := range m.todo {
			if m.chance(0.5) {
				m.save(a)
			}
		}
		m.todo = nil
		m.crashed = true
	}
}

func (m *model) drain(w *modelWorker) {
	m.logf("%v %s drains", m.now, w.id)
	w.draining = true
	w.runs = slices.DeleteFunc(w.runs, func(r *modelRun) bool {
		r.hi = max(r.claimed, r.lo)
		return !r.running || r.lo == r.hi
	})
}

// act has a worker do one of the things it may do, if there is any.
func (m *model) act(w *modelWorker) {
	if w.epoch != m.epoch {
		if m.chance(0.3) && m.now >= w.cut {
			w.epoch, w.sequence, w.underWay, w.in = m.epoch, 0, nil, nil
			w.talk++
			for _, j := range w.jobs {
				j.received = j.durable
			}
		}
		m.work(w)
		return
	}
	for i, first := 0, m.rng.IntN(4); i < 4; i++ {
		done := false
		switch (first + i) % 4 {
		case 0:
			if done = w.underWay == nil && (m.now >= w.due || w.nudged || m.chance(0.1)); done {
				m.report(w)
			} else if done = w.underWay != nil && len(w.out)+len(w.in) == 0 && m.chance(0.3); done {
				w.out = append(w.out, *w.underWay) // once more
			} else if done = w.underWay != nil && m.chance(0.02); done {
				w.out = append(w.out, *w.underWay) // too early
			}
		case 1:
			if done = len(w.out) > 0; done {
				m.toLeader(w)
			}
		case 2:
			if done = len(w.in) > 0; done {
				m.toWorker(w)
			}
		case 3:
			if done = len(w.runs) > 0 || w.draining; done {
				m.work(w)
			}
		}
		if done {
			return
		}
	}
}

// report makes a report.
func (m *model) report(w *modelWorker) {
	w.sequence++
	w.nudged = false
	r := wire.Report{Epoch: w.epoch, Worker: w.id, Conversation: w.talk, Sequence: w.sequence, Draining: w.draining}
	if w.sequence == 1 {
		r.Hello = &wire.Hello{Slots: w.slots, Knows: []wire.JobKind{{Name: "k", Version: "1"}}}
	}
	room := 1 + m.rng.IntN(30)
	for _, id := range sortedNames(w.jobs) {
		j := w.jobs[id]
		items := j.items[j.received:]
		if len(items) > room {
			items, r.More = items[:room], true
		}
		room -= len(items)
		if len(items) > 0 {
			r.Jobs = append(r.Jobs, wire.JobReport{Job: id, First: j.received + 1, Items: slices.Clone(items)})
		}
		if r.More {
			break
		}
	}
	if !r.More {
		for _, run := range w.runs {
			r.Spans = append(r.Spans, wire.HeldSpan{ID: run.id, Job: run.job, Span: jobs.Span{Lo: run.lo, Hi: run.hi}, Running: run.running})
		}
	}
	if err := r.Validate(); err != nil {
		m.failf("the model's worker makes a bad report: %w", err)
	}
	w.underWay = &r
	w.out = append(w.out, r)
}

// toLeader delivers a worker's oldest message to the leader, or loses it.
func (m *model) toLeader(w *modelWorker) {
	r := w.out[0]
	w.out = w.out[1:]
	if m.now < w.cut || !m.calm && m.chance(0.05) || r.Epoch != m.epoch {
		return
	}
	e := Reported{Report: r}
	for _, j := range r.Jobs {
		for _, item := range j.Items {
			if item.Partial != nil {
				e.Refs = append(e.Refs, m.ref(m.valueOf(j.Job, item.Partial.Node)))
			}
		}
	}
	known := m.ledger.worker(w.id)
	before := 0
	if known == nil || r.Hello != nil {
		for _, s := range r.Spans {
			if s.ID.Epoch < m.epoch {
				before++
			}
		}
	}
	m.step(e)
	if k := m.ledger.worker(w.id); k != nil && before > 0 {
		m.stats.Adopted += len(k.held)
	}
	if k := m.ledger.worker(w.id); k != nil && !r.More {
		w.said = true
	}
}

// valueOf is the partial of a node: the partitions that it has, in order.
func (m *model) valueOf(job string, n jobs.Node) []uint64 {
	span := m.job(job).tree.Span(n)
	value := make([]uint64, 0, span.Len())
	for p := span.Lo; p < span.Hi; p++ {
		value = append(value, p)
	}
	return value
}

// toWorker delivers a receipt, or loses it.
func (m *model) toWorker(w *modelWorker) {
	r := w.in[0]
	w.in = w.in[1:]
	if m.now < w.cut || !m.calm && m.chance(0.05) {
		return
	}
	if w.underWay == nil || r.Epoch != w.epoch || r.Sequence != w.sequence {
		return
	}
	w.underWay = nil
	if r.Refused != "" {
		w.sequence = 0
		w.talk++
		w.due = m.now + 100*time.Millisecond
		for _, j := range w.jobs {
			j.received = j.durable
		}
		return
	}
	w.due = m.now + r.Every
	for _, jr := range r.Jobs {
		j := w.jobs[jr.Job]
		if j == nil {
			continue
		}
		last := uint64(len(j.items))
		if jr.Ended {
			j.received, j.durable = last, last
			w.runs = slices.DeleteFunc(w.runs, func(run *modelRun) bool { return run.job == jr.Job })
			continue
		}
		if jr.Durable > last || jr.Received > last {
			m.failf("%s is told of items %d and %d of job %s and has made %d", w.id, jr.Received, jr.Durable, jr.Job, last)
		}
		j.durable = max(j.durable, jr.Durable)
		j.received = max(j.received, jr.Received, j.durable)
	}
	for _, c := range r.Cuts {
		for i, run := range w.runs {
			if run.id == c.ID {
				m.stats.Cuts++
				run.hi = min(run.hi, max(c.Hi, run.claimed))
				if run.lo == run.hi {
					w.runs = slices.Delete(w.runs, i, i+1)
				}
				w.nudged = true
				break
			}
		}
	}
	for _, a := range r.Assigned {
		if w.draining {
			continue
		}
		if slices.ContainsFunc(w.runs, func(run *modelRun) bool { return run.id == a.ID }) {
			m.failf("%s is given span %v twice", w.id, a.ID)
		}
		if w.jobs[a.Job] == nil {
			if !slices.ContainsFunc(r.Opens, func(o wire.Opening) bool { return o.Job == a.Job }) {
				m.failf("%s is given span %v of a job that it was not told of", w.id, a.ID)
			}
			w.jobs[a.Job] = &modelItems{}
		}
		w.runs = append(w.runs, &modelRun{id: a.ID, job: a.Job, lo: a.Span.Lo, claimed: a.Span.Lo, hi: a.Span.Hi})
	}
}

// work has a slot begin or finish some partitions.
func (m *model) work(w *modelWorker) {
	if m.now < w.stalled {
		return
	}
	running := 0
	for _, r := range w.runs {
		if r.running {
			running++
		}
	}
	if len(w.runs) == 0 {
		if w.draining && w.underWay == nil && w.epoch == m.epoch && !slices.ContainsFunc(sortedNames(w.jobs), func(id string) bool {
			return w.jobs[id].durable < uint64(len(w.jobs[id].items))
		}) && w.id != m.self {
			m.logf("%v %s leaves", m.now, w.id)
			w.alive = false
		}
		return
	}
	if running < w.slots && !w.draining {
		for _, r := range w.runs {
			if !r.running {
				r.running = true
				break
			}
		}
	}
	var begun []int
	for i, r := range w.runs {
		if r.running {
			begun = append(begun, i)
		}
	}
	if len(begun) == 0 {
		return
	}
	i := begun[m.rng.IntN(len(begun))]
	r := w.runs[i]
	switch {
	case r.claimed == r.lo:
		if m.chance(0.5) || m.calm {
			r.claimed = min(r.hi, r.lo+1+uint64(m.rng.IntN(4)))
		}
	default:
		if m.deliver(w, r); w.alive && r.lo == r.hi {
			w.runs = slices.Delete(w.runs, i, i+1)
		}
	}
}

// deliver finishes the partitions that a run has begun, one way or another.
func (m *model) deliver(w *modelWorker, r *modelRun) {
	j, items := m.job(r.job), w.jobs[r.job]
	lo := r.lo
	flush := func(hi uint64) {
		for _, n := range j.tree.Cover(jobs.Span{Lo: lo, Hi: hi}) {
			items.items = append(items.items, wire.Item{Partial: &wire.Partial{Node: n}})
		}
	}
	for p := r.lo; p < r.claimed; p++ {
		if j.kills[p] {
			m.kill(w)
			return
		}
		if j.fails[p] > 0 {
			j.fails[p]--
			flush(p)
			items.items = append(items.items, wire.Item{Failure: &wire.Failure{Partition: p, Error: "e"}})
			lo = p + 1
		}
	}
	flush(r.claimed)
	r.lo = r.claimed
}

// perform does what the ledger asks for, or puts it on the list.
func (m *model) perform(actions []Action) {
	for _, a := range actions {
		if m.verbose {
			m.logf("    %s", brief(a))
		}
		switch a := a.(type) {
		case Reply:
			m.checkReceipt(a)
			if w := m.worker(a.Worker); w.alive {
				if m.clean && a.Receipt.Sequence == 1 {
					w.in = nil // an earlier answer to the hello does not come late
				}
				w.in = append(w.in, a.Receipt)
			}
		case Nudge:
			m.worker(a.Worker).nudged = true
		case Probe:
			if w := m.worker(a.Worker); !w.probed {
				w.probed = true
				m.todo = append(m.todo, a)
			}
		case Checkpoint, EndJob, Merge, LookUpJob:
			m.todo = append(m.todo, a)
		case DropPartial:
			if m.refs[a.Ref] == nil {
				m.failf("ref %d is forgotten twice", a.Ref)
			}
			// What was asked before still needs its bytes: keep those under way.
			m.refs[a.Ref] = append([]uint64(nil), m.refs[a.Ref]...)
		}
	}
}

// complete performs an action at last.
func (m *model) complete(a Action) {
	switch a := a.(type) {
	case Merge:
		left, right := m.refs[a.Left], m.refs[a.Right]
		if len(left) == 0 || len(right) == 0 || left[len(left)-1] >= right[0] {
			m.failf("merge of %v has %v and %v", a.Node, left, right)
		}
		m.step(Merged{a.Job, a.Node, m.ref(slices.Concat(left, right))})
	case Checkpoint:
		m.save(a)
		m.step(Checkpointed{a.Job})
	case EndJob:
		m.save(a)
		m.step(JobEnded{a.Job})
	case LookUpJob:
		m.answer(a)
	case Probe:
		w := m.worker(a.Worker)
		if w.probed = false; !w.alive {
			m.step(WorkerDied(a))
		}
	}
}

// save makes a checkpoint or an end durable.
func (m *model) save(a Action) {
	switch a := a.(type) {
	case Checkpoint:
		j := m.job(a.Job)
		if j.ended != "" {
			return
		}
		values := map[jobs.Node][]uint64{}
		for _, n := range a.Snapshot.Nodes {
			values[n.Node] = m.refs[n.Ref]
		}
		j.durable, j.values = a.Snapshot, values
	case EndJob:
		m.checkEnd(m.job(a.Job), a)
		m.job(a.Job).ended = a.Outcome
	}
}

// checkEnd checks that a job ended as it should.
func (m *model) checkEnd(j *modelJob, e EndJob) {
	m.logf("%v job %s %s %s", m.now, e.Job, e.Outcome, e.Error)
	m.stats.Executed += int(e.Snapshot.Executed)
	m.stats.Partitions += int(j.tree.Partitions())
	if e.Outcome == store.Failed {
		m.stats.Failed++
		if len(j.kills) == 0 && len(j.fails) == 0 && m.clean && !m.bereft {
			m.failf("job %s failed without a cause: %s", e.Job, e.Error)
		}
		return
	}
	var want []uint64
	for p := range j.tree.Partitions() {
		if _, skipped := slices.BinarySearch(e.Snapshot.Skipped, p); !skipped {
			want = append(want, p)
		}
	}
	m.stats.Skipped += len(e.Snapshot.Skipped)
	if uint64(len(e.Snapshot.Skipped)) > j.spec.MaxSkipped {
		m.failf("job %s skipped %v", e.Job, e.Snapshot.Skipped)
	}
	if got := m.refs[e.Root]; !slices.Equal(got, want) {
		m.failf("job %s has the root %v, want %v", e.Job, got, want)
	}
	repeats := int(e.Snapshot.Executed) + len(e.Snapshot.Skipped) - int(j.tree.Partitions())
	if m.clean && !j.copied && repeats != 0 {
		m.failf("job %s executed %d of %d partitions, skipped %v: something ran twice", e.Job, e.Snapshot.Executed, j.tree.Partitions(), e.Snapshot.Skipped)
	}
	m.stats.Repeats += max(0, repeats)
}

func sortedNames[V any](of map[string]V) []string {
	var names []string
	for name := range of {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
