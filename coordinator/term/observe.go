package term

import (
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// Observation is something that a term did or saw, for whoever measures it. Every
// kind of observation is in this file.
type Observation interface{ observation() }

// MergeDone: the job's own code has merged two partials, or failed to, in that
// time.
type MergeDone struct{ Took time.Duration }

// CheckpointDone: a checkpoint is durable, that long after it was asked for.
type CheckpointDone struct{ Took time.Duration }

// Progress: a job's manifest is durable, and has so many partitions done that the
// one before had not, and so many more that were executed beyond once each. What
// a dead leader had not made durable counts when the next one has; so the sum over
// all terms is each partition once.
type Progress struct{ Done, Repeated uint64 }

// PhaseDone: the term has come through a phase of its beginning.
type PhaseDone struct {
	Phase string // one of Phases
	Took  time.Duration
}

// Phases are the phases of a change of leader, in their order: as in
// [store.TermRecord].
var Phases = []string{"detect", "elect", "fence", "resume", "first_assignment", "first_result"}

// Figures is what the leader sees of its cluster. It comes with each beacon, once
// the active jobs are loaded.
type Figures struct {
	Workers int // that it knows
	Desired int // that there is work for: see ledger.Ledger.Demand

	Planning int // jobs that are being planned or resumed
	Running  int // jobs that are worked on
	Waiting  int // jobs that this leader cannot work on

	// Unsaved is for how long the oldest checkpoint under way has been asked for;
	// 0 where there is none.
	Unsaved time.Duration
}

func (MergeDone) observation()      {}
func (CheckpointDone) observation() {}
func (Progress) observation()       {}
func (PhaseDone) observation()      {}
func (Figures) observation()        {}

// observeFigures tells what the leader sees.
func (t *Term) observeFigures() {
	if t.ledger == nil {
		return
	}
	f := Figures{
		Workers: t.ledger.WorkerCount(), Desired: t.ledger.Demand(lasting),
		Planning: len(t.pending), Running: len(t.jobs), Waiting: len(t.parked),
	}
	if len(t.pending)+len(t.parked) > 0 { // whose size is not known
		f.Desired = max(1, f.Desired)
	}
	for _, j := range t.jobs {
		if !j.saving.IsZero() {
			f.Unsaved = max(f.Unsaved, t.since(j.saving))
		}
	}
	t.cfg.Observe(f)
}

// lasting is how long the active jobs should take with as many workers as are
// desired: long against the time that a machine takes to start.
const lasting = 5 * time.Minute

// observeProgress compares a manifest that is durable with the one before.
func (t *Term) observeProgress(j *activeJob, before, after store.Manifest) {
	done := doneIn(j.tree, after)
	if after.State.Final() && after.State != store.Completed {
		done = doneIn(j.tree, before) // it lists none
	}
	p := Progress{Done: done - min(done, doneIn(j.tree, before))}
	if executed := after.Executed - min(after.Executed, before.Executed); executed > p.Done {
		p.Repeated = executed - p.Done
	}
	t.cfg.Observe(p)
}

func doneIn(tree jobs.Tree, m store.Manifest) uint64 {
	if m.State == store.Completed {
		return tree.Partitions()
	}
	done := uint64(0)
	for _, n := range m.Nodes {
		done += tree.Span(n.Node).Len()
	}
	return done
}

// observePhases tells the phases of the term's beginning that are new in its
// record.
func (t *Term) observePhases(before, after store.TermRecord) {
	earlier := phases(before)
	for i, took := range phases(after) {
		if took != nil && earlier[i] == nil {
			t.cfg.Observe(PhaseDone{Phases[i], *took})
		}
	}
}

// phases returns how long each of the Phases took, nil if it is not known.
func phases(t store.TermRecord) []*time.Duration {
	known := func(d time.Duration) *time.Duration {
		if d == 0 {
			return nil
		}
		return &d
	}
	return []*time.Duration{known(t.Detect), known(t.Elect), known(t.Fence), known(t.Resume), t.FirstAssignment, t.FirstResult}
}
