package ledger

import (
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Action is an instruction to the caller of [Ledger.Step].
type Action interface{ action() }

// Reply contains the receipt for a worker's report. The caller fills in the operands of the
// receipt's calls. The caller omits a call from the receipt if the partials of the call's operands
// no longer exist, because then the call has already returned.
type Reply struct {
	Worker   string
	Receipt  wire.Receipt
	Operands map[wire.SpanID][]Ref // refs of each call's operands, by assignment; NoRef for an operand that a worker holds
}

// Nudge asks a worker to report now. A lost nudge only delays the worker's next report.
type Nudge struct{ Worker string }

// Probe asks whether a worker's process is alive. If the process is dead, the caller passes in a
// [WorkerDied] event; otherwise it passes in nothing.
type Probe struct {
	Worker string
	Server string // ID of the NATS server in the worker's last report; empty if it is unknown
}

// LookUpJob asks for the state of a job that a report contains and that the ledger does not know.
// The caller answers LookUpJob with [JobAdded], [JobParked] or [JobEnded].
type LookUpJob struct{ Job string }

// StorePlan asks to write the plan that a worker has computed to storage. The caller answers
// StorePlan with [JobPlanned], which contains the plan that is in storage, or with [JobFailed].
type StorePlan struct {
	Job        string
	Partitions uint64
	Data       Ref
	Found      string // name of the blob with the kept partials that the worker has found, or empty
}

// Merge asks the caller to merge the partials of a node's two children. The caller answers Merge
// with [Merged], [MergeSlow] or [JobFailed]. The caller may skip a merge of a job that has ended.
type Merge struct {
	Job         string
	Node        engine.Node
	Left, Right Ref
}

// DropPartial means that the ledger will not refer to a partial again. Earlier actions that are
// still in progress may need the bytes of a dropped partial.
type DropPartial struct{ Ref Ref }

// Checkpoint asks to make the job's state durable. The caller answers Checkpoint with
// [Checkpointed] or [JobFailed]. Each job has at most one checkpoint in flight.
type Checkpoint struct {
	Job string
	Snapshot
}

// EndRound asks to make the state that a round has computed for the next round durable. The caller answers EndRound with
// [JobEnded] for the round, and [JobAdded] for the next one.
type EndRound struct {
	Job   string  // ID of the round
	State Ref     // encoded state of the next round; NoRef if the time is up
	Value float64 // the number for people that the definition's Next returned
	Last  bool    // the state is the last one

	// TimeUp is true if Spec.StopAfter has passed, so that the state of this round is the last one.
	TimeUp bool
	Snapshot
}

// EndJob asks to make a job's end durable. The caller answers EndJob with [JobEnded].
type EndJob struct {
	Job     string
	Outcome store.State // final state of the job: Completed, Failed or Cancelled
	Error   string      // reason why the job failed
	Result  Ref         // ref of the job's result, if the job completed
	Snapshot
}

// Log asks to log a decision of the ledger, for operators. Decisions about a job are also events of the job.
type Log struct {
	Job    string
	Worker string
	Text   string
	Event  bool // only an event of the job, because another line or none tells operators of it

	Details
}

// Details describe an event to programs.
type Details struct {
	Kind      store.EventKind
	Partition *uint64 // partition that failed; nil for other events
	Attempt   int     // number of the attempt that failed; 0 for other events
	Host      string  // host of the worker that died; empty for other events
}

// Snapshot is the part of a manifest that the ledger provides, and with which it resumes a job.
type Snapshot struct {
	Nodes []FinishedNode // finished nodes in the order of their partitions

	// Whole is true in a Checkpoint whose manifest keeps its nodes as [store.Manifest.Whole], and in JobAdded if the
	// manifest has these nodes.
	Whole bool
	store.Work
}

func (Reply) action()       {}
func (Nudge) action()       {}
func (Probe) action()       {}
func (LookUpJob) action()   {}
func (StorePlan) action()   {}
func (Merge) action()       {}
func (DropPartial) action() {}
func (Checkpoint) action()  {}
func (EndRound) action()    {}
func (EndJob) action()      {}
func (Log) action()         {}
