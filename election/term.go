package election

import (
	"context"
	"time"
)

// LeadFunc does the leader's work. The context of the function represents the leadership: it is
// done when the process must not act as the leader any more, and [context.Cause] returns the
// reason. The context's deadline is the time at which the process stops trusting its lease; each
// renewal extends the deadline. The context's Err checks the clock, so it returns an error after
// the deadline even if a suspension has delayed the timer. A leading function that has waited for
// anything must therefore call Err before it acts as the leader.
//
// The lease is released, or transferred to the successor, only after the function has returned. A
// leading function that returns before its context is done steps down. The result successor is a
// worker's ID; if it is empty, any follower may take over. An error of the leading function is
// logged, and the process waits for a cooldown before it may lead again.
type LeadFunc func(ctx context.Context, term *Term) (successor string, err error)

// Term is one leadership. The methods of a Term may be called from any goroutine.
type Term struct {
	Record // record of the lease at its acquisition: epoch, holder, lease ID

	Cause       Cause
	Predecessor string        // ID of the previous leader; empty if it is unknown
	Workers     int           // number of workers that the previous leader had, according to its last beacon; 0 if it is unknown
	Since       time.Time     // time at which the lease was acquired
	Detect      time.Duration // time from the previous leader's last sign of life to the decision to replace it; 0 if there was no such decision
	Elect       time.Duration // time from the decision to lead to the acquisition of the lease

	control TermControl
}

// TermControl connects a Term's methods to the code that grants the term, usually [Run]. Each field
// of TermControl may be nil.
type TermControl struct {
	Beat     func()             // function that Term.Beat calls
	Stopping <-chan struct{}    // channel that Term.Stopping returns
	Deposed  func(epoch uint64) // function that Term.Deposed calls if the epoch is above the term's epoch
}

// NewTerm returns a copy of term with the given control. Run creates the terms of an election.
// NewTerm is for tests, and for a process that leads without an election.
func NewTerm(term Term, control TermControl) *Term {
	term.control = control
	return &term
}

// Beat tells the election that the leading loop still runs. The leading loop must call Beat on each
// iteration and at least every Config.RenewEvery. The lease is renewed only after a beat, so a
// leader whose loop hangs loses the lease like a leader that died. A call of Beat takes about as
// long as sending on a channel.
func (t *Term) Beat() {
	if t.control.Beat != nil {
		t.control.Beat()
	}
}

// Stopping returns a channel that is closed when the process is told to stop. When the channel is
// closed, the leading function should take its last checkpoint, name a successor and return. The
// process leads until the leading function returns.
func (t *Term) Stopping() <-chan struct{} { return t.control.Stopping }

// Deposed tells the election that the leading function has seen a higher epoch, in a refused write
// or in a message. The leadership has ended when Deposed returns. Deposed ignores an epoch that is
// not higher than the term's epoch.
func (t *Term) Deposed(epoch uint64) {
	if t.control.Deposed != nil && epoch > t.Epoch {
		t.control.Deposed(epoch)
	}
}
