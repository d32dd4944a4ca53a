package election

import (
	"time"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Action is something for the shell to do. Every kind of action is in this file.
type Action interface{ action() }

// Question is what all actions have that ask something. Each is answered by one
// [Answer] with its number, after Within at the latest. A call that is cut short
// may have had its effect.
type Question struct {
	Number uint64 // grows
	Within time.Duration
}

// Ping asks the leader of an epoch for a sign of life: [Peers].
type Ping struct {
	Question
	Epoch uint64
}

// Read asks for the lease's record: [Lease].
type Read struct{ Question }

// Acquire asks for the lease: [Lease].
type Acquire struct {
	Question
	Claim Claim
}

// Renew asks for the lease to last its whole duration again: [Lease].
type Renew struct {
	Question
	Held Record
}

// Transfer asks for the lease to have another ID: [Transferrer]. Where the lease
// is none, the answer is an error.
type Transfer struct {
	Question
	Held    Record
	LeaseID string
}

// Offer asks a worker to take the lease that was transferred: [Peers].
type Offer struct {
	Question
	Worker string
	Offer  wire.Offer
}

// Release asks for the lease to be freed: [Lease].
type Release struct {
	Question
	Held Record
}

// SendSuspicion says to the others that a leader seems gone: [Peers].
type SendSuspicion struct{ Epoch uint64 }

// Lead has the leading function begin. Its context lasts until the given instant,
// unless it is moved on. There is one at a time: no other Lead comes before
// [Returned].
type Lead struct {
	Record      Record
	Cause       Cause
	Predecessor string
	Detect      time.Duration
	Elect       time.Duration
	Deadline    time.Duration
}

// SetDeadline sets when leadership ends by itself, and what its cause is then. It
// does not revive one that has ended.
type SetDeadline struct {
	Deadline time.Duration
	Cause    error
}

// AwaitBeat asks for a [Beat] at the leading loop's next turn. An earlier one
// says nothing about now.
type AwaitBeat struct{}

// EndTerm ends the leading function's context now.
type EndTerm struct{ Cause error }

// StopLeading asks the leading function to return, by [Term.Stopping].
type StopLeading struct{}

// Done says that this process has no part in elections any more. Pings and reads
// that are not answered by then need no answer.
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
