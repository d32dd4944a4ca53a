package ledger

import (
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Action is an instruction to the caller of [Ledger.Step]. All kinds of actions are in this file.
type Action interface{ action() }

// Reply answers the report of the step's [Reported] event. The operands of calls in the receipt are not filled
// in: Operands contains their refs, in order, and the caller puts the partials into the receipt. If the caller
// no longer has the operands of a call, the call has already returned, and the caller omits it.
type Reply struct {
	Worker   string
	Receipt  wire.Receipt
	Operands []Ref
}

// Nudge asks a worker to report now. A lost nudge only delays the report.
type Nudge struct{ Worker string }

// Probe asks whether a worker's process lives. If the process is dead, the answer is
// [WorkerDied]; otherwise there is no answer.
type Probe struct{ Worker string }

// LookUpJob asks for the state of a job that a report contains and that the ledger does not know.
// The answer is [JobAdded], [JobParked] or [JobEnded].
type LookUpJob struct{ Job string }

// StorePlan asks to write the plan that a worker has computed to storage. The answer is
// [JobPlanned], with the plan that is in storage, or [PlanRefused].
type StorePlan struct {
	Job        string
	Partitions uint64
	Data       Ref
}

// Merge asks for the partial of a node, from the partials of its children. The answer is [Merged], [MergeSlow]
// or [MergeFailed]. If the job ends, the caller may skip the merge.
type Merge struct {
	Job         string
	Node        jobs.Node
	Left, Right Ref
}

// DropPartial means that the ledger will not refer to a partial again. Earlier actions that are
// still in progress may need the partial's bytes.
type DropPartial struct{ Ref Ref }

// Checkpoint asks to make the job's state durable. The answer is [Checkpointed]. Each job
// has at most one checkpoint in flight.
type Checkpoint struct {
	Job      string
	Snapshot Snapshot
}

// EndJob asks to make a job's end durable. The answer is [JobEnded].
type EndJob struct {
	Job      string
	Outcome  store.State // final state of the job: Completed, Failed or Cancelled
	Error    string      // reason why the job failed
	Result   Ref         // ref of the job's result, if the job completed
	Snapshot Snapshot
}

// Log asks to log a decision of the ledger, for operators.
type Log struct {
	Job    string
	Worker string
	Text   string
}

// Snapshot is the part of a manifest that the ledger provides.
type Snapshot struct {
	Nodes         []FinishedNode // finished nodes in the order of their partitions
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
}

func (Reply) action()       {}
func (Nudge) action()       {}
func (Probe) action()       {}
func (LookUpJob) action()   {}
func (StorePlan) action()   {}
func (Merge) action()       {}
func (DropPartial) action() {}
func (Checkpoint) action()  {}
func (EndJob) action()      {}
func (Log) action()         {}
