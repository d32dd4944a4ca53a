package ledger

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/fuzztest"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// liars tell a ledger what is valid and not true: spans that nobody gave them, or
// that others hold, results twice, numbers that are missing, all in any order and
// mixed with all else that may happen.
type liars struct {
	*rapid.T
	ledger  *Ledger
	books   *model // which checks them
	now     time.Duration
	trees   map[string]jobs.Tree
	told    map[string]uint64 // the last sequence number of each worker
	refs    map[Ref]bool      // that the ledger has
	lastRef Ref
	todo    []Event // answers to what it has asked for

	taken, refused func()
}

func TestLies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { lie(t, func() {}, func() {}) })
}

func FuzzLies(f *testing.F) {
	for seed := range uint64(8) {
		random := rand.NewChaCha8([32]byte{byte(seed)})
		data := make([]byte, 8<<10)
		_, _ = random.Read(data) // never fails
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
		T: t, ledger: l, books: &model{ledger: l},
		trees: map[string]jobs.Tree{}, told: map[string]uint64{}, refs: map[Ref]bool{}, taken: taken, refused: refused,
	}
	for _, id := range []string{"j0", "j1"} {
		s.addJob(id)
	}
	for range rapid.IntRange(1, 60).Draw(t, "steps") {
		s.anything()
	}
	for _, id := range []string{"j0", "j1"} { // every partial is let go of in the end
		s.step(JobCancelled{id})
	}
	for len(s.todo) > 0 {
		s.answer(0)
	}
	if len(s.refs) > 0 || len(l.jobs) > 0 {
		t.Fatalf("%d jobs are left, and partials %v", len(l.jobs), s.refs)
	}
}

func (s *liars) addJob(id string) {
	tree, err := jobs.NewTree(rapid.Uint64Range(1, 40).Draw(s.T, "partitions"))
	if err != nil {
		s.Fatal(err)
	}
	s.trees[id] = tree
	e := JobAdded{Spec: store.Spec{ID: id, Job: "k", Version: "1", MaxAttempts: 2, MaxSkipped: 2}, Partitions: tree.Partitions()}
	s.step(e)
}

// anything lets one thing happen.
func (s *liars) anything() {
	worker := rapid.SampledFrom([]string{"w0", "w1", "w2", "w3"})
	job := rapid.SampledFrom([]string{"j0", "j1", "jx"})
	switch rapid.IntRange(0, 14).Draw(s.T, "what") {
	case 0:
		s.step(WorkerDied{worker.Draw(s.T, "worker")})
	case 1:
		s.step(JobParked{job.Draw(s.T, "job")})
	case 2:
		if rapid.IntRange(0, 9).Draw(s.T, "cancelled") == 0 {
			s.step(JobCancelled{job.Draw(s.T, "job")})
		}
	case 3, 4:
		s.now += time.Duration(rapid.IntRange(0, 8000).Draw(s.T, "ms")) * time.Millisecond
		s.step(Tick{})
	case 5, 6, 7:
		if len(s.todo) > 0 {
			s.answer(rapid.IntRange(0, len(s.todo)-1).Draw(s.T, "answer"))
		}
	default:
		s.report(worker.Draw(s.T, "worker"))
	}
}

func (s *liars) answer(i int) {
	e := s.todo[i]
	s.todo = slices.Delete(s.todo, i, i+1)
	if m, ok := e.(Merged); ok {
		m.Ref = s.newRef()
		e = m
	}
	s.step(e)
}

func (s *liars) newRef() Ref {
	s.lastRef++
	s.refs[s.lastRef] = true
	return s.lastRef
}

// report makes a report, if it is one that a leader would take.
func (s *liars) report(worker string) {
	said := s.told[worker] + rapid.SampledFrom([]uint64{1, 1, 1, 1, 0, 2}).Draw(s.T, "sequence")
	r := wire.Report{Epoch: 3, Worker: worker, Sequence: said, Conversation: rapid.SampledFrom([]uint64{1, 1, 1, 1, 0, 2}).Draw(s.T, "conversation"), Draining: rapid.IntRange(0, 9).Draw(s.T, "draining") == 0}
	if said < 2 || rapid.IntRange(0, 9).Draw(s.T, "anew") == 0 {
		r.Sequence = 1
		r.Hello = &wire.Hello{Slots: rapid.IntRange(1, 3).Draw(s.T, "slots"), Knows: []wire.JobKind{{Name: "k", Version: "1"}}}
	}
	for _, id := range []string{"j0", "j1", "jx"} {
		if rapid.Bool().Draw(s.T, "reports "+id) {
			r.Jobs = append(r.Jobs, s.jobReport(id))
		}
	}
	if r.More = rapid.IntRange(0, 9).Draw(s.T, "more") == 0; !r.More {
		for range rapid.IntRange(0, 4).Draw(s.T, "spans") {
			r.Spans = append(r.Spans, s.span())
		}
	}
	if r.Validate() != nil {
		s.refused()
		return
	}
	s.taken()
	s.told[worker] = r.Sequence
	var refs []Ref
	for _, j := range r.Jobs {
		for _, item := range j.Items {
			if item.Partial != nil {
				refs = append(refs, s.newRef())
			}
		}
	}
	s.step(Reported{r, refs})
}

func (s *liars) jobReport(id string) wire.JobReport {
	r := wire.JobReport{Job: id, First: rapid.Uint64Range(1, 6).Draw(s.T, "first")}
	for range rapid.IntRange(0, 4).Draw(s.T, "items") {
		switch rapid.IntRange(0, 9).Draw(s.T, "item") {
		case 0, 1, 2:
			r.Items = append(r.Items, wire.Item{Failure: &wire.Failure{
				Partition: rapid.Uint64Range(0, 50).Draw(s.T, "partition"), Error: "bad",
				Open:      rapid.IntRange(0, 5).Draw(s.T, "open") == 0,
				Permanent: rapid.IntRange(0, 30).Draw(s.T, "permanent") == 0,
			}})
		default:
			tree, ok := s.trees[id]
			if !ok {
				tree = s.trees["j0"]
			}
			partition := rapid.Uint64Range(0, tree.Partitions()-1).Draw(s.T, "partition")
			level := uint8(rapid.IntRange(0, int(tree.Root().Level)).Draw(s.T, "level"))
			partial := wire.NewPartial(tree.Lift(jobs.Node{Level: level, Index: partition >> level}), nil)
			r.Items = append(r.Items, wire.Item{Partial: &partial})
		}
	}
	return r
}

func (s *liars) span() wire.HeldSpan {
	lo := rapid.Uint64Range(0, 45).Draw(s.T, "lo")
	return wire.HeldSpan{
		ID:      wire.SpanID{Epoch: rapid.Uint64Range(1, 4).Draw(s.T, "epoch"), Number: rapid.Uint64Range(1, 12).Draw(s.T, "number")},
		Job:     rapid.SampledFrom([]string{"j0", "j1", "jx"}).Draw(s.T, "job"),
		Span:    jobs.Span{Lo: lo, Hi: lo + rapid.Uint64Range(0, 45).Draw(s.T, "length")},
		Running: rapid.Bool().Draw(s.T, "running"),
	}
}

// step checks the books after a step, and that what the actions name is there.
func (s *liars) step(e Event) {
	for _, a := range s.ledger.Step(s.now, e) {
		switch a := a.(type) {
		case Reply:
			if err := a.Receipt.Validate(); err != nil {
				s.Fatalf("receipt for %s: %v", a.Worker, err)
			}
		case DropPartial:
			if !s.refs[a.Ref] {
				s.Fatalf("partial %d is let go of twice", a.Ref)
			}
			delete(s.refs, a.Ref)
		case Merge:
			if !s.refs[a.Left] || !s.refs[a.Right] {
				s.Fatalf("merge of %d and %d, which are gone", a.Left, a.Right)
			}
			s.todo = append(s.todo, Merged{Job: a.Job, Node: a.Node})
		case Checkpoint:
			s.checkSnapshot(a.Snapshot)
			s.todo = append(s.todo, Checkpointed{a.Job})
		case EndJob:
			s.checkSnapshot(a.Snapshot)
			if a.Outcome == store.Completed && !s.refs[a.Root] {
				s.Fatalf("the root is partial %d, which is gone", a.Root)
			}
			s.todo = append(s.todo, JobEnded{a.Job})
		case LookUpJob:
			s.todo = append(s.todo, JobEnded(a))
		}
	}
	slots := map[wire.JobKind]int{}
	for _, w := range s.ledger.workers {
		for _, kind := range w.hello.Knows {
			if !w.draining {
				slots[kind] += w.slots
			}
		}
	}
	if !maps.Equal(slots, s.ledger.slots) {
		s.Fatalf("there are %v slots, the ledger counts %v", slots, s.ledger.slots)
	}
	for _, j := range s.ledger.jobs {
		s.books.checkPartitions(j)
	}
}

func (s *liars) checkSnapshot(state Snapshot) {
	for _, n := range state.Nodes {
		if n.Ref != NoRef && !s.refs[n.Ref] {
			s.Fatalf("a checkpoint has node %v with partial %d, which is gone", n.Node, n.Ref)
		}
	}
}
