package session

import "github.com/bellwether-compute/bellwether/jobs/wire"

// Input is an event that [Session.Step] handles.
type Input interface{ input() }

// Tick tells the session the current time. The caller sends a Tick at the time that [Session.Due]
// returns, and soon after direct calls if [Session.NeedsStep] returns true.
type Tick struct{}

// Connected means that the connection to NATS was established or restored. Messages may have been
// missed before Connected.
type Connected struct {
	Server string // ID of the NATS server, for reports
}

// Disconnected means that the connection to NATS was lost. After Disconnected, the session sends
// nothing until the connection is restored.
type Disconnected struct{}

// LeaderHeard means that the leader of an epoch has sent a beacon, or has answered [AskLeader].
type LeaderHeard struct {
	Epoch   uint64
	Storage string // identity of the storage that the leader uses
}

// Nudged means that the leader of an epoch asks for a report now, or probes whether this process is
// alive.
type Nudged struct {
	Epoch   uint64
	Storage string // identity of the storage that the leader uses
}

// RecordRead contains the epoch in the lease's record in storage, which is 0 if the lease was never
// held. The read begins after the session's request [ReadRecord].
type RecordRead struct {
	Followed uint64 // copy of ReadRecord.Followed
	Epoch    uint64
}

// ReceiptHeard means that a valid receipt has arrived for the report with the given exchange number. The
// session ignores a receipt for an earlier exchange.
type ReceiptHeard struct {
	Exchange uint64
	Receipt  wire.Receipt
}

// NoResponders means that no process listens for the report with the given exchange number: the
// leader is dead, or does not listen yet.
type NoResponders struct{ Exchange uint64 }

// Drain means that the worker must stop. The session returns [Leave] when the worker has drained or
// draining has taken too long.
type Drain struct{}

func (Tick) input()         {}
func (Connected) input()    {}
func (Disconnected) input() {}
func (LeaderHeard) input()  {}
func (Nudged) input()       {}
func (RecordRead) input()   {}
func (ReceiptHeard) input() {}
func (NoResponders) input() {}
func (Drain) input()        {}
