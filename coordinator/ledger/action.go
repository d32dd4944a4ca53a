package ledger

import (
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Action is something for the shell to do. Every kind of action is in this file.
type Action interface{ action() }

// Reply answers the report that was stepped.
type Reply struct {
	Worker  string
	Receipt wire.Receipt
}

// Nudge asks a worker to report now. Losing it costs time only.
type Nudge struct{ Worker string }

// Probe asks whether a worker's process lives: [WorkerDied] if it does not.
type Probe struct{ Worker string }

// LookUpJob asks about a job that a worker speaks of and that is not here. The
// answer is [JobAdded], [JobParked] or [JobEnded].
type LookUpJob struct{ Job string }

// Merge asks for the partial of a node from those of its children, left first.
// The answer is [Merged] or [MergeFailed]; it may be left out once the job ends.
type Merge struct {
	Job         string
	Node        jobs.Node
	Left, Right Ref
}

// DropPartial says that the ledger will not name a partial again. Actions begun
// before may still need it.
type DropPartial struct{ Ref Ref }

// Checkpoint asks for the job's state to be made durable: [Checkpointed]. There
// is one at a time per job.
type Checkpoint struct {
	Job      string
	Snapshot Snapshot
}

// EndJob asks for a job's end to be made durable: [JobEnded].
type EndJob struct {
	Job      string
	Outcome  store.State // Completed, Failed or Cancelled
	Error    string      // why it failed
	Root     Ref         // the partial of the root, where it is completed
	Snapshot Snapshot
}

// Log tells a person what the ledger decided, for the log.
type Log struct {
	Job    string
	Worker string
	Text   string
}

// Snapshot is the part of a manifest that the ledger knows.
type Snapshot struct {
	Nodes    []FinishedNode // in order of their partitions
	Workers  []store.Contributor
	Executed uint64
	Skipped  []uint64
	Attempts []store.Attempt
	Suspects []store.Suspect
}

func (Reply) action()       {}
func (Nudge) action()       {}
func (Probe) action()       {}
func (LookUpJob) action()   {}
func (Merge) action()       {}
func (DropPartial) action() {}
func (Checkpoint) action()  {}
func (EndJob) action()      {}
func (Log) action()         {}
