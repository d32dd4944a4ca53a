package term

import (
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// Observation is an event or a measurement of a term, for metrics.
type Observation interface{ observation() }

// MergeDone means that a merge in the leader has succeeded or failed.
type MergeDone struct{ Took time.Duration }

// CheckpointDone means that a checkpoint is durable. Took is the time between the ledger's request
// and the durable checkpoint.
type CheckpointDone struct{ Took time.Duration }

// Progress means that a job's manifest is durable. Done is the number of partitions that are
// finished in this manifest and were not finished in the previous manifest. Repeated is the number
// of further executions that this manifest adds: its new executions minus Done. Partitions that a
// dead leader did not make durable are counted when the manifest of a later leader contains them.
// Summed over all terms, Done therefore counts each partition once.
type Progress struct {
	Done, Repeated           uint64
	SlotSeconds, LostSeconds float64 // time for which slots were occupied, and the part of it whose work was lost
}

// PhaseDone means that the term has completed one of its first phases.
type PhaseDone struct {
	Phase string // one of Phases
	Took  time.Duration
}

// Phases lists the phases of a change of leader, in order, as in [store.TermRecord].
var Phases = []string{"detect", "elect", "fence", "resume", "first_assignment", "first_result"}

// Figures contains statistics of the cluster. The term reports Figures with each beacon, after the
// active jobs are loaded.
type Figures struct {
	Workers int // number of workers that the leader knows
	Desired int // number of workers that the jobs need: see ledger.Ledger.Demand

	Planning int // number of jobs that are being planned or resumed
	Running  int // number of active jobs
	Queued   int // number of jobs that wait because there are too many active jobs
	Waiting  int // number of parked jobs

	// Unsaved is the time since the oldest checkpoint in flight was requested; 0 if no checkpoint
	// is in flight.
	Unsaved time.Duration
}

func (MergeDone) observation()      {}
func (CheckpointDone) observation() {}
func (Progress) observation()       {}
func (PhaseDone) observation()      {}
func (Figures) observation()        {}

// targetDuration is how long the active jobs should take with the desired number of workers. It is
// long compared with the time that a machine takes to start.
const targetDuration = 5 * time.Minute

func (t *Term) observeFigures() {
	if t.ledger == nil {
		return
	}
	f := Figures{
		Workers: t.ledger.WorkerCount(), Desired: t.ledger.Demand(targetDuration),
		Planning: len(t.jobs.pending) - len(t.jobs.waiting), Running: len(t.jobs.active), Queued: len(t.jobs.waiting), Waiting: len(t.jobs.parked),
	}
	if f.Planning+f.Queued+f.Waiting > 0 { // these jobs have an unknown number of partitions
		f.Desired = max(1, f.Desired)
	}
	for _, j := range t.jobs.active {
		if requested := j.manifest.checkpointSince; !requested.IsZero() {
			f.Unsaved = max(f.Unsaved, t.since(requested))
		}
	}
	t.cfg.Observe(f)
}

// observePhases reports the phases that the new record contains and the old record does not.
func (t *Term) observePhases(before, after store.TermRecord) {
	earlier := before.Phases()
	for i, took := range after.Phases() {
		if took != nil && earlier[i] == nil {
			t.cfg.Observe(PhaseDone{Phases[i], *took})
		}
	}
}
