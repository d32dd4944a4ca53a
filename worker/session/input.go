package session

import "github.com/bellwether-compute/bellwether/jobs/wire"

// Input is something that happened. Every kind of input is in this file.
type Input interface{ input() }

// Tick says that time passed. The shell sends one at the instant that [Session.Due]
// returns, and soon after direct calls if [Session.NeedsStep] returns true.
type Tick struct{}

// Connected says that the connection to NATS is there, for the first time or
// again. Messages may have been missed before.
type Connected struct{}

// Disconnected says that the connection to NATS is lost. Nothing is sent until it
// is back.
type Disconnected struct{}

// LeaderHeard says that the leader of an epoch sent a beacon, or answered
// [AskLeader].
type LeaderHeard struct{ Epoch uint64 }

// Nudged says that the leader of an epoch wants a report now, or probes whether this
// process lives.
type Nudged struct{ Epoch uint64 }

// ReceiptHeard says that a receipt came for the report of an exchange. A receipt
// for an earlier exchange is ignored.
type ReceiptHeard struct {
	Exchange uint64
	Receipt  wire.Receipt
}

// NoResponders says that no process listens for the report of an exchange: the leader
// is dead, or does not listen yet.
type NoResponders struct{ Exchange uint64 }

// Drain says that the worker must stop. [Leave] follows.
type Drain struct{}

func (Tick) input()         {}
func (Connected) input()    {}
func (Disconnected) input() {}
func (LeaderHeard) input()  {}
func (Nudged) input()       {}
func (ReceiptHeard) input() {}
func (NoResponders) input() {}
func (Drain) input()        {}
