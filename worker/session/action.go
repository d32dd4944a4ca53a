package session

import (
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Action is an instruction to the caller of [Session.Step]. An action that only informs the caller
// is a [Notice].
type Action interface{ action() }

// SendReport sends a report to the leader of the report's epoch. The reply to SendReport is the
// input [ReceiptHeard] or [NoResponders] with the same exchange number.
type SendReport struct {
	Exchange uint64 // number of the report; the numbers continue when the leader changes
	Report   wire.Report
}

// ResendReport sends the same bytes as the last SendReport.
type ResendReport struct{ Exchange uint64 }

// AskLeader broadcasts the question which worker leads. The reply to AskLeader is the input
// [LeaderHeard].
type AskLeader struct{}

// ReadRecord asks for the epoch in the lease's record in storage, because the leader of the
// followed epoch has not answered for a long time. The reply to ReadRecord is the input
// [RecordRead] with the same value of Followed. There is no reply to ReadRecord if the record
// cannot be read.
type ReadRecord struct{ Followed uint64 }

// CollectFromSlots asks every slot that runs a span to deliver its results at the end of the
// current partition. The next report waits at most [Timing.HandOver] for the slots' results.
type CollectFromSlots struct{}

// OpenJob opens a job. The caller reports the outcome of OpenJob with [Session.Opened] or
// [Session.OpenFailed].
type OpenJob struct{ Opening wire.Opening }

// EndJob cancels the spans of a job that has ended, drops the partials of its held nodes,
// and closes the job.
type EndJob struct {
	Job string
	// Blobs are the names of the blobs that the worker has written and that the leader may not know.
	// The worker must remove the Blobs, because they may have been written after the leader removed
	// the job's partials.
	Blobs []string
	// Continues is true if only a round of the job has ended: see [wire.JobReceipt].
	Continues bool
}

// DropNode drops the partial of a held node, which is not needed any more.
type DropNode struct {
	Job  string
	Node engine.Node
}

// StoreNode writes a held partial to storage. The reply to StoreNode is [Session.NodeStored], or
// [Session.NodeNotStored]. The caller still keeps the partial after StoreNode.
type StoreNode struct{ Held wire.HeldNode }

// WakeSlots wakes idle slots so that they call [Session.Take].
type WakeSlots struct{}

// CancelRunning cancels all running spans and calls, because draining has taken too long.
type CancelRunning struct{ Running int } // number of slots and calls that are running

// Leave ends the session: the worker has drained, or draining has taken too long. It is the last
// action of a session.
type Leave struct {
	Reason  LeaveReason
	Items   int // number of kept items and held nodes that may not be durable; other workers compute them again
	Running int // number of slots and calls that are still running
}

// LeaveReason is the reason why a worker leaves the cluster.
type LeaveReason string

const (
	Drained     LeaveReason = "drained"         // the leader knows that the worker holds no work, and all of the worker's items are durable
	NothingHeld LeaveReason = "nothing held"    // no leader is reachable, and the worker holds neither spans nor items
	TimedOut    LeaveReason = "drain timed out" // draining took too long, so items may be lost
)

// Notice is an action that only informs the caller, for logs and metrics.
type Notice interface {
	Action
	notice()
}

// Following means that the worker now follows the leader of another epoch. Was is the epoch that
// the worker followed before. Epoch is lower than Was only if the lease's record contains Epoch.
type Following struct{ Epoch, Was uint64 }

// ReportAnswered means that the receipt for the report in flight has arrived.
type ReportAnswered struct {
	Took time.Duration // time since the report was first sent
}

// ReportRefused means that the leader has refused the report. The worker begins another
// conversation after the time Wait.
type ReportRefused struct {
	Epoch  uint64
	Reason string
	Wait   time.Duration
}

// Benched means that the leader assigns no partitions to the worker for some time, because partitions failed
// that then ran on other workers.
type Benched struct {
	Epoch  uint64
	Reason string
}

// ReceiptDropped means that the session has ignored a receipt that does not belong to the report in
// flight, or that comes from a leader on another storage.
type ReceiptDropped struct{ Err error }

// OrderIgnored means that the session has ignored one invalid order in a receipt. The session has
// carried out the other orders in the receipt.
type OrderIgnored struct {
	Epoch uint64
	Err   error
}

// MemoryFull means that the worker begins no further partition until an item becomes durable.
type MemoryFull struct{ Bytes int }

// DrainBegun means that the worker begins to drain.
type DrainBegun struct{ Running int }

func (SendReport) action()       {}
func (ResendReport) action()     {}
func (AskLeader) action()        {}
func (ReadRecord) action()       {}
func (CollectFromSlots) action() {}
func (OpenJob) action()          {}
func (EndJob) action()           {}
func (DropNode) action()         {}
func (StoreNode) action()        {}
func (WakeSlots) action()        {}
func (CancelRunning) action()    {}
func (Leave) action()            {}
func (Following) action()        {}
func (ReportAnswered) action()   {}
func (ReportRefused) action()    {}
func (Benched) action()          {}
func (ReceiptDropped) action()   {}
func (OrderIgnored) action()     {}
func (MemoryFull) action()       {}
func (DrainBegun) action()       {}

func (Following) notice()      {}
func (ReportAnswered) notice() {}
func (ReportRefused) notice()  {}
func (Benched) notice()        {}
func (ReceiptDropped) notice() {}
func (OrderIgnored) notice()   {}
func (MemoryFull) notice()     {}
func (DrainBegun) notice()     {}
