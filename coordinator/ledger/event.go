package ledger

import (
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Event is an input of [Ledger.Step]. All kinds of events are in this file.
type Event interface{ event() }

// Ref refers to a partial whose bytes the caller keeps. The ledger never sees the bytes. The caller
// chooses Refs above 0 and never uses a Ref for two partials.
type Ref uint64

// NoRef is used instead of a Ref for a node whose partitions were all skipped.
const NoRef Ref = 0

// JobAdded means that a job has begun, or is resumed from its manifest, so that its work may be
// assigned. A new leader adds all jobs that it resumes before the first report, so that one
// recovery covers them all.
type JobAdded struct {
	Spec       store.Spec
	Partitions uint64        // number of partitions; 0 if the job is not planned
	Data       []byte        // the plan's data, or nil if it is too large for a message
	InStore    bool          // true if the plan's data is only in storage, because it is too large for a message
	Elapsed    time.Duration // time since the job began
	CanMerge   bool          // true if the leader can merge: its program has the job's definition, which has no Merger

	// ExpectLarge means that the job's partials are probably large, because its codec does not copy
	// them. Only the first report shows whether they are.
	ExpectLarge bool

	// ParamsSHA256 is set if the parameters are too large for a message: see [wire.Opening].
	ParamsSHA256 []byte

	// The following fields contain the state in the manifest, if the job is resumed.
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
	LeaderDied    bool // true if the last leader died while it led the job, so that the job may be the cause
	LeaderSilent  bool // true if the last leader gave no sign of life, so that it may be dying
}

// FinishedNode is a finished node and its partial.
type FinishedNode struct {
	Node jobs.Node
	Ref  Ref
	Size int // number of bytes of the partial in a message; 0 if the partial is in a blob

	Large bool // true if the partial is too large for messages, so that workers merge it
}

// JobPlanned means that the plan of a job is durable. JobPlanned answers [StorePlan].
type JobPlanned struct {
	Job        string
	Partitions uint64
	Data       []byte // data of the plan, as in [JobAdded]
	InStore    bool
}

// PlanRefused means that storage will never accept the plan of a job.
type PlanRefused struct {
	Job   string
	Error string
}

// JobCancelled means that the user has cancelled a job.
type JobCancelled struct{ Job string }

// JobEnded means that a job's end is durable. JobEnded answers [EndJob], or [LookUpJob] for a job
// that ended earlier.
type JobEnded struct{ Job string }

// JobParked means that a job has not ended but that this leader cannot work on it. The workers keep
// the job's items and spans for the next leader.
type JobParked struct{ Job string }

// Reported means that a worker's report has arrived. The caller has checked the report: it is
// valid, its nodes are in the job's tree, and the checksums of its partials are correct. Refs
// contains one Ref for each partial in the report, in order. For a ref that is not needed, the
// ledger returns the action [DropPartial].
type Reported struct {
	Report wire.Report
	Refs   []Ref
}

// WorkerDied means that a worker's process has died: no process subscribes to the worker's NATS subject any
// more.
type WorkerDied struct{ Worker string }

// Merged means that the requested [Merge] has returned a partial.
type Merged struct {
	Job string
	FinishedNode
}

// MergeSlow means that the caller has given up a [Merge] because the job's code takes too long.
type MergeSlow struct {
	Job  string
	Node jobs.Node
}

// MergeFailed means that a [Merge] has failed, and would fail again.
type MergeFailed struct {
	Job   string
	Error string
}

// Checkpointed means that storage has acknowledged a [Checkpoint].
type Checkpointed struct{ Job string }

// Stopping means that this leader will stop. After this event nothing is assigned, and the current
// state is checkpointed (see [Ledger.AllDurable]).
type Stopping struct{}

// Tick means that time has passed. The caller sends several ticks a second.
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
