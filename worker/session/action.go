package session

import (
	"time"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Action is something for the shell to do. Every kind but the notices is in this
// file, see [Notice].
type Action interface{ action() }

// SendReport sends a report to the leader of its epoch. The answer is
// [ReceiptHeard] or [NoResponders] with the same exchange.
type SendReport struct {
	Exchange uint64 // number of the report, counted across all leaders
	Report   wire.Report
}

// ResendReport sends the bytes of the last SendReport again, unchanged.
type ResendReport struct{ Exchange uint64 }

// AskLeader asks who leads. The answer is [LeaderHeard].
type AskLeader struct{}

// CollectFromSlots asks every slot that runs a span to deliver its results at the end of
// the present partition. A report waits for them until
// [Timing.HandOver] has passed.
type CollectFromSlots struct{}

// OpenJob opens a job. The answer is a call of [Session.Opened] or
// [Session.OpenFailed].
type OpenJob struct{ Opening wire.Opening }

// EndJob cancels the spans of a job that has ended, and closes it.
type EndJob struct {
	Job string
	// Blobs are the partials in storage that are not known to be durable. The leader may
	// have removed the job's partials before it knew of these, so the worker must remove
	// them.
	Blobs []string
}

// WakeSlots lets idle slots try [Session.Take].
type WakeSlots struct{}

// CancelRunning cancels everything that runs: draining has taken too long.
type CancelRunning struct{ Running int } // slots that run a span

// Leave ends the session: the worker has drained, or has taken too long. It is the
// last action.
type Leave struct {
	Reason  LeaveReason
	Items   int // kept that are not known to be durable; they are computed again
	Running int // slots that still run a span
}

// LeaveReason says why a worker leaves.
type LeaveReason string

// Reasons to leave.
const (
	Drained     LeaveReason = "drained"         // the leader knows that the worker holds nothing, and has made its items durable
	NothingHeld LeaveReason = "nothing held"    // no leader is reachable, and there is nothing to lose
	TimedOut    LeaveReason = "drain timed out" // items may be lost
)

// Notice is an action that only informs: something to log or to measure.
type Notice interface {
	Action
	notice()
}

// Following says that the worker now follows the leader of a higher epoch.
type Following struct{ Epoch uint64 }

// ReportAnswered says that the report in flight has its receipt.
type ReportAnswered struct {
	Took time.Duration // time from when the report was first sent
}

// ReportRefused says that the leader did not take the report. The conversation
// starts over after Wait.
type ReportRefused struct {
	Epoch  uint64
	Reason string
	Wait   time.Duration
}

// ReceiptDropped says that a receipt was ignored as a whole.
type ReceiptDropped struct{ Err error }

// OrderIgnored says that the leader ordered something that makes no sense. The
// rest of its receipt was carried out.
type OrderIgnored struct {
	Epoch uint64
	Err   error
}

// MemoryFull says that no further partition is begun until an item becomes durable.
type MemoryFull struct{ Bytes int }

// DrainBegun says that the worker begins to drain.
type DrainBegun struct{ Running int }

func (SendReport) action()       {}
func (ResendReport) action()     {}
func (AskLeader) action()        {}
func (CollectFromSlots) action() {}
func (OpenJob) action()          {}
func (EndJob) action()           {}
func (WakeSlots) action()        {}
func (CancelRunning) action()    {}
func (Leave) action()            {}
func (Following) action()        {}
func (ReportAnswered) action()   {}
func (ReportRefused) action()    {}
func (ReceiptDropped) action()   {}
func (OrderIgnored) action()     {}
func (MemoryFull) action()       {}
func (DrainBegun) action()       {}

func (Following) notice()      {}
func (ReportAnswered) notice() {}
func (ReportRefused) notice()  {}
func (ReceiptDropped) notice() {}
func (OrderIgnored) notice()   {}
func (MemoryFull) notice()     {}
func (DrainBegun) notice()     {}
