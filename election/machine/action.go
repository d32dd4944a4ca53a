package machine

import (
	"time"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Action is an instruction to the caller of [Machine.Step].
type Action interface{ action() }

// Question is embedded in each action that expects an [Answer]. The machine's caller must answer
// each question exactly once, with the question's number, before the time Within has passed. If a
// call times out, the caller answers with an error, although the call may have taken effect.
type Question struct {
	Number uint64 // number of the question; numbers increase by one
	Within time.Duration
}

// Ping calls election.Peers.Ping for the leader of an epoch.
type Ping struct {
	Question
	Epoch uint64
}

// Read calls election.Lease.Read.
type Read struct{ Question }

// Acquire calls election.Lease.Acquire.
type Acquire struct {
	Question
	Claim Claim
}

// Renew calls election.Lease.Renew.
type Renew struct {
	Question
	Held Record
}

// Transfer calls election.Transferrer.Transfer. If the lease does not implement
// Transferrer, the answer to Transfer is an error.
type Transfer struct {
	Question
	Held    Record
	LeaseID string
}

// Offer calls election.Peers.Offer to hand the transferred lease to a worker.
type Offer struct {
	Question
	Worker string
	Offer  wire.Offer
}

// Release calls election.Lease.Release.
type Release struct {
	Question
	Held Record
}

// SendSuspicion calls election.Peers.SendSuspicion.
type SendSuspicion struct{ Epoch uint64 }

// Lead starts the leading function. The leading function's context ends at Deadline unless
// SetDeadline extends the deadline. The machine returns the next Lead only after the input
// [Returned].
type Lead struct {
	Record      Record
	Cause       Cause
	Predecessor string
	Workers     int // number of workers that the predecessor had; 0 if unknown
	Detect      time.Duration
	Elect       time.Duration
	Deadline    time.Duration
}

// SetDeadline sets the time at which the leading function's context ends, and the cause for this
// case. It has no effect on a context that has ended.
type SetDeadline struct {
	Deadline time.Duration
	Cause    error
}

// AwaitBeat asks for a [Beat] input at the leading loop's next call of election.Term.Beat. Calls
// of Beat before the action do not count.
type AwaitBeat struct{}

// EndTerm ends the leading function's context now.
type EndTerm struct{ Cause error }

// StopLeading closes the channel that election.Term.Stopping returns.
type StopLeading struct{}

// Done ends this process's part in elections. After Done, questions of Ping and Read need no answer.
type Done struct{}

func (Ping) action()          {}
func (Read) action()          {}
func (Acquire) action()       {}
func (Renew) action()         {}
func (Transfer) action()      {}
func (Offer) action()         {}
func (Release) action()       {}
func (SendSuspicion) action() {}
func (Lead) action()          {}
func (SetDeadline) action()   {}
func (AwaitBeat) action()     {}
func (EndTerm) action()       {}
func (StopLeading) action()   {}
func (Done) action()          {}
