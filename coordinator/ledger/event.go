package ledger

import (
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Event is something that happened. Every kind of event is in this file.
type Event interface{ event() }

// Ref names a partial whose bytes the shell keeps. The ledger never sees them.
// Refs are the shell's choice, above 0, and never used twice.
type Ref uint64

// NoRef stands for the partial of a node all of whose partitions were skipped.
const NoRef Ref = 0

// JobAdded: a job is planned, or resumed from its manifest, and may be worked on.
// A new leader adds every job that it resumes before the first report is stepped,
// so that it settles with all of them.
type JobAdded struct {
	Spec       store.Spec
	Partitions uint64
	Data       []byte // of the plan, or nil where it is too large for a message
	InStore    bool   // the plan's data is too large for a message

	// What the manifest holds, where the job is resumed.
	Nodes      []FinishedNode
	Workers    []store.Contributor
	Executed   uint64
	Skipped    []uint64
	Attempts   []store.Attempt
	Suspects   []store.Suspect
	LeaderDied bool // the last leader died while it led the job, and may have died of it
}

// Finished is a finished node and its partial.
type FinishedNode struct {
	Node jobs.Node
	Ref  Ref
}

// JobCancelled: the user does not want the job any more.
type JobCancelled struct{ Job string }

// JobEnded: the end that an [EndJob] action asked for is durable, or that of a job
// that is not here: the answer to an [LookUpJob].
type JobEnded struct{ Job string }

// JobParked: a job has not ended, and this leader will not work on it as long as
// it leads. What workers hold and have kept of it is for the next.
type JobParked struct{ Job string }

// Reported: a worker's report arrived. It was checked: it is valid, its nodes are
// of the job's tree, and its partials are whole. Refs has one Ref per partial in
// the report, in order; those that are not needed come back in [DropPartial].
type Reported struct {
	Report wire.Report
	Refs   []Ref
}

// WorkerDied: a worker's process is gone, since nobody listens in its place.
type WorkerDied struct{ Worker string }

// Merged: a [Merge] was performed.
type Merged struct {
	Job  string
	Node jobs.Node
	Ref  Ref
}

// MergeFailed: a [Merge] was impossible, now and for ever.
type MergeFailed struct {
	Job   string
	Error string
}

// Checkpointed: storage acknowledged what a [Checkpoint] asked for.
type Checkpointed struct{ Job string }

// Stopping: this leader will stop. Nothing more is assigned, and everything that
// is there by now is checkpointed: [Ledger.Saved].
type Stopping struct{}

// Tick: time passed. Ticks come several times a second.
type Tick struct{}

func (JobAdded) event()     {}
func (JobCancelled) event() {}
func (JobEnded) event()     {}
func (JobParked) event()    {}
func (Reported) event()     {}
func (WorkerDied) event()   {}
func (Merged) event()       {}
func (MergeFailed) event()  {}
func (Checkpointed) event() {}
func (Stopping) event()     {}
func (Tick) event()         {}
