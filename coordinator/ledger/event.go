package ledger

import (
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Event is something that happened. All kinds of events are in this file.
type Event interface{ event() }

// Ref names a partial whose bytes the caller keeps. The ledger never sees the bytes. The
// caller chooses Refs above 0 and never uses a Ref twice.
type Ref uint64

// NoRef stands for the partial of a node whose partitions were all skipped.
const NoRef Ref = 0

// JobAdded says that a job has begun, or is resumed from its manifest, so its work may be
// assigned. A new leader adds all jobs that it resumes before the first report, so that one
// recovery covers them all.
type JobAdded struct {
	Spec       store.Spec
	Partitions uint64        // 0 if the job is not planned
	Data       []byte        // the plan's data, or nil if it is too large for a message
	InStore    bool          // the plan's data is too large for a message
	Elapsed    time.Duration // time since the job began
	CanMerge   bool          // the leader's program has the job's definition, so the leader can merge

	// ParamsSHA256 is set if the parameters are too large for a message: see [wire.Opening].
	ParamsSHA256 []byte

	// The state in the manifest, if the job is resumed.
	Nodes         []FinishedNode
	Workers       []store.Contributor
	Executed      uint64
	Builds        []string
	Skipped       []uint64
	Attempts      []store.Attempt
	CrashSuspects []store.CrashSuspect
	Errors        []store.ErrorText
	OtherErrors   uint64
	Calls         []store.CallRecord
	Retried       []jobs.Span
	LeaderDied    bool // the last leader died while it led the job, and the job may be the cause
	LeaderSilent  bool // the last leader gave no sign of life: it may be dying
}

// FinishedNode is a finished node and its partial.
type FinishedNode struct {
	Node jobs.Node
	Ref  Ref
	Size int // bytes of the partial that go into a message with it; 0 if the partial is in a blob

	Large bool // workers merge the partial, since it is too large for messages
}

// JobPlanned says that the plan of a job is durable. It answers [StorePlan].
type JobPlanned struct {
	Job        string
	Partitions uint64
	Data       []byte // as in [JobAdded]
	InStore    bool
}

// PlanRefused says that storage will never take the plan of a job.
type PlanRefused struct {
	Job   string
	Error string
}

// JobCancelled says that the user cancelled a job.
type JobCancelled struct{ Job string }

// JobEnded says that a job's end is durable. It answers [EndJob], or [LookUpJob] for
// a job that ended earlier.
type JobEnded struct{ Job string }

// JobParked says that a job has not ended and that this leader cannot work on it.
// The workers keep its items and spans for the next leader.
type JobParked struct{ Job string }

// Reported says that a worker's report arrived. The caller has checked the report: it is
// valid, its nodes are in the job's tree, and its partials are whole. Refs has one Ref
// for each partial in the report, in order. [DropPartial] returns the refs that are not
// needed.
type Reported struct {
	Report wire.Report
	Refs   []Ref
}

// WorkerDied says that a worker's process is gone: no process subscribes to the worker's
// subject any more.
type WorkerDied struct{ Worker string }

// Merged says that a [Merge] is done.
type Merged struct {
	Job string
	FinishedNode
}

// MergeSlow says that the caller has given up a [Merge] because the job's code takes long.
type MergeSlow struct {
	Job  string
	Node jobs.Node
}

// MergeFailed says that a [Merge] failed, and would fail again.
type MergeFailed struct {
	Job   string
	Error string
}

// Checkpointed says that storage acknowledged a [Checkpoint].
type Checkpointed struct{ Job string }

// Stopping says that this leader will stop. After this event nothing is assigned, and the
// present state is checkpointed (see [Ledger.AllDurable]).
type Stopping struct{}

// Tick says that time passed. The caller sends several ticks a second.
type Tick struct{}

func (JobAdded) event()     {}
func (JobCancelled) event() {}
func (JobEnded) event()     {}
func (JobPlanned) event()   {}
func (PlanRefused) event()  {}
func (JobParked) event()    {}
func (Reported) event()     {}
func (WorkerDied) event()   {}
func (Merged) event()       {}
func (MergeSlow) event()    {}
func (MergeFailed) event()  {}
func (Checkpointed) event() {}
func (Stopping) event()     {}
func (Tick) event()         {}
