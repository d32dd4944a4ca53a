package ledger

import (
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Event is an input of [Ledger.Step].
type Event interface{ event() }

// Ref refers to a partial whose bytes the ledger's caller keeps. The caller uses Refs above 0, and
// never uses a Ref for two partials.
type Ref uint64

// NoRef stands for the partial of a node whose partitions were all skipped.
const NoRef Ref = 0

// JobAdded means that a job has begun, or is resumed from its manifest. A new leader adds all jobs
// that it resumes before the first report, so that one recovery covers all jobs.
type JobAdded struct {
	Spec     store.Spec
	Plan          // zero if the job has no plan yet
	Snapshot      // from the manifest of a resumed job
	CanMerge bool // the leader can merge, because its program has the job's definition and the definition has no Merger

	// ExpectLarge means that the job's partials are probably large, because the job's codec does
	// not copy them.
	ExpectLarge bool

	Round // zero for a job without rounds

	// ParamsSHA256 is set if the parameters are too large for a message: see [wire.Opening].
	ParamsSHA256 []byte

	LeaderDied   bool // the last leader died while it led the job, so the job may be the cause
	LeaderSilent bool // the last leader gave no sign of life, so it may be dying
}

// Round is a round of a job with rounds. Each round is a job of the ledger. Its Spec.ID is the ID of the round, as
// [engine.RoundID] returns it.
type Round struct {
	Rounds  bool   // the job has rounds
	Number  uint64 // number of the round; round 0 has no partitions, and its call of Finish computes the state of round 1
	Last    bool   // the round has no partitions, and its call of Finish computes the result from its state, the last one
	TimeUp  bool   // the state is the last one because Spec.StopAfter had passed
	Earlier uint64 // number of partitions that earlier rounds have finished; their executions are in Work.Executed

	State     []byte // encoded state of the round; nil if it is too large for a message, or if round 0 has none
	StateBlob string // name of the blob with the state
}

// Plan is a job's plan, as workers get it in an [wire.Opening].
type Plan struct {
	Partitions uint64
	Data       []byte // nil if the data is too large for a message
	InStore    bool   // the data is only in storage, because it is too large for a message
}

// FinishedNode is a finished node and its partial.
type FinishedNode struct {
	Node engine.Node
	Ref  Ref
	Size int // number of bytes of the partial in a message; 0 if the partial is in a blob

	Large bool // the partial is too large for messages, so workers merge it
}

// JobPlanned means that the plan of a job is durable. It is the answer to [StorePlan].
type JobPlanned struct {
	Job string
	Plan
	Nodes  []FinishedNode // kept partials of earlier jobs; they are durable
	Reused *store.Reused  // describes the nodes; nil if the job reuses nothing
}

// JobFailed means that a job cannot be completed: storage can never accept its plan, or a [Merge] or a
// [Checkpoint] of the job has failed, and a retry would fail too.
type JobFailed struct {
	Job   string
	Error string
}

// JobCancelled means that the user has cancelled a job.
type JobCancelled struct{ Job string }

// JobEnded means that a job's end is durable. It is the answer to [EndJob], or to [LookUpJob] for a
// job that ended earlier.
type JobEnded struct{ Job string }

// JobParked means that this leader cannot work on a job that has not ended. The workers keep a
// parked job's items and spans for the next leader.
type JobParked struct{ Job string }

// Reported means that a worker's report has arrived. The caller has checked the report: the report
// is valid, its nodes are in the job's tree, and its partials have correct checksums. The ledger
// returns a [DropPartial] action for each ref that it does not need.
type Reported struct {
	Report wire.Report // the ledger does not use its field Jobs
	Jobs   []JobReport
}

// JobReport has items First, First+1, … of one job, as a [wire.JobReport].
type JobReport struct {
	Job   string
	First uint64
	Items []Item
}

// Item is an item of a report. Ref refers to the item's partial, or to the data of its output. An
// item without either has NoRef, and so has an item of a job that the caller does not know.
type Item struct {
	wire.Item
	Ref Ref
}

// WorkerDied means that a worker's process has died: no process subscribes to the worker's NATS subject any
// more.
type WorkerDied struct{ Worker string }

// Merged means that the requested [Merge] has returned a partial.
type Merged struct {
	Job string
	FinishedNode
}

// MergeSlow means that the caller has given up a [Merge] because the job's Merge takes too long.
type MergeSlow struct {
	Job  string
	Node engine.Node
}

// Checkpointed means that storage has acknowledged a [Checkpoint].
type Checkpointed struct{ Job string }

// Stopping means that this leader will stop. After Stopping nothing is assigned, and the current
// state is checkpointed (see [Ledger.AllDurable]). A second Stopping checkpoints the state again.
type Stopping struct{}

// Tick must be sent several times a second, so that the ledger notices that time has passed.
type Tick struct{}

func (JobAdded) event()     {}
func (JobCancelled) event() {}
func (JobEnded) event()     {}
func (JobPlanned) event()   {}
func (JobFailed) event()    {}
func (JobParked) event()    {}
func (Reported) event()     {}
func (WorkerDied) event()   {}
func (Merged) event()       {}
func (MergeSlow) event()    {}
func (Checkpointed) event() {}
func (Stopping) event()     {}
func (Tick) event()         {}
