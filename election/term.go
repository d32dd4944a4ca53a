package election

import (
	"context"
	"time"
)

// LeadFunc leads. Its context is the leadership: it is done as soon as the
// process must not act as the leader any more, and [context.Cause] says why. Its
// deadline is the instant at which the process stops trusting its lease; each
// renewal extends it. Err looks at the clock, so a process that was suspended
// finds its context done even before a timer has fired: call Err before acting
// as the leader after a wait.
//
// The lease is released, or transferred to the successor, only after the function
// has returned. A function that returns before its context is done steps down.
// The successor is a worker's ID; if it is empty, any follower may take over. An
// error is logged, and the process waits for a cooldown before it may lead again.
type LeadFunc func(ctx context.Context, term *Term) (successor string, err error)

// Term is one leadership. Its methods may be called from any goroutine.
type Term struct {
	Record // of the lease when it was acquired: epoch, holder, lease ID

	Cause       Cause
	Predecessor string        // the ID of the worker that led before; empty if it is not known
	Since       time.Time     // when the lease was acquired
	Detect      time.Duration // from the previous leader's last sign of life to the decision to replace it; 0 without such a decision
	Elect       time.Duration // from that decision to holding the lease

	control TermControl
}

// Term returns the term that l begins, with the time at which the lease was acquired.
func (l Lead) Term(since time.Time, control TermControl) *Term {
	return NewTerm(Term{
		Record: l.Record, Cause: l.Cause, Predecessor: l.Predecessor,
		Since: since, Detect: l.Detect, Elect: l.Elect,
	}, control)
}

// TermControl connects a Term's methods to the party that grants the term. Each
// field may be nil.
type TermControl struct {
	Beat     func()             // called by Term.Beat
	Stopping <-chan struct{}    // returned by Term.Stopping
	Deposed  func(epoch uint64) // called by Term.Deposed for an epoch above the term's
}

// NewTerm returns the term with that control. [Run] makes the terms of an
// election; NewTerm is for tests, and for a process that leads without an
// election.
func NewTerm(term Term, control TermControl) *Term {
	term.control = control
	return &term
}

// Beat tells the election that the leading loop turns. The loop calls it on each
// turn and at least every [Config.RenewEvery]: the lease is renewed only after a
// beat, so a loop that hangs loses the lease like a process that died. A call
// costs about as much as a send on a channel.
func (t *Term) Beat() {
	if t.control.Beat != nil {
		t.control.Beat()
	}
}

// Stopping returns a channel that is closed when the process is told to stop. The
// leading function then takes its last checkpoint, names a successor and returns;
// until it returns, the process leads.
func (t *Term) Stopping() <-chan struct{} { return t.control.Stopping }

// Deposed reports a higher epoch, seen in a refused write or in a message. When it
// returns, the leadership has ended. An epoch that is not higher is ignored.
func (t *Term) Deposed(epoch uint64) {
	if t.control.Deposed != nil && epoch > t.Epoch {
		t.control.Deposed(epoch)
	}
}
