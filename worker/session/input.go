package session

import "github.com/bellwether-compute/bellwether/jobs/wire"

// Input is an event that [Session.Step] handles. Every kind of input is in this file.
type Input interface{ input() }

// Tick says that time passed. The caller sends a Tick at the instant that [Session.Due]
// returns, and soon after direct calls if [Session.NeedsStep] returns true.
type Tick struct{}

// Connected says that the connection to NATS was established or restored. Earlier messages
// may have been missed.
type Connected struct{}

// Disconnected says that the connection to NATS is lost. The session sends nothing until
// the connection is restored.
type Disconnected struct{}

// LeaderHeard says that the leader of an epoch sent a beacon, or answered
// [AskLeader].
type LeaderHeard struct {
	Epoch   uint64
	Storage string // identity of the leader's storage
}

// Nudged says that the leader of an epoch wants a report now, or probes whether this
// process lives.
type Nudged struct {
	Epoch   uint64
	Storage string // identity of the leader's storage
}

// RecordRead says that the lease's record in storage has an epoch, which is 0 if the lease
// was never held. The read began when the session asked for it with [ReadRecord].
type RecordRead struct {
	Followed uint64 // from the ReadRecord
	Epoch    uint64
}

// ReceiptHeard says that a receipt arrived for the report with this exchange number. A
// receipt for an earlier exchange is ignored.
type ReceiptHeard struct {
	Exchange uint64
	Receipt  wire.Receipt
}

// NoResponders says that no process listens for the report with this exchange number: the
// leader is dead, or does not listen yet.
type NoResponders struct{ Exchange uint64 }

// Drain says that the worker must stop. The session returns [Leave] once the worker has
// drained or draining has taken too long.
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
