package coordinator

import (
	"context"
	"sync"
	"time"

	"github.com/bellwether-compute/bellwether/coordinator/term"
	"github.com/bellwether-compute/bellwether/election"
)

// loop is the goroutine that owns a term: all methods of the term are called on the loop. It
// implements [term.Env].
type loop struct {
	leaseCtx context.Context // context of the leadership; its method Err checks the clock
	ctx      context.Context // cancelled when leaseCtx is done or Lead returns
	inbox    chan func()
	tasks    sync.WaitGroup
}

var _ term.Env = (*loop)(nil)

func newLoop(leaseCtx, ctx context.Context) *loop {
	return &loop{leaseCtx: leaseCtx, ctx: ctx, inbox: make(chan func(), 64)}
}

// run runs the loop until the leadership is over, or until the term is ready to hand over (see
// [term.Term.Left]) or has failed.
func (l *loop) run(t *term.Term, leadership *election.Term, onTurn func()) (successor string, err error) {
	every := t.TickEvery()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	stopping := leadership.Stopping()
	for {
		leadership.Beat()
		onTurn()
		call := func() {}
		select {
		case <-l.leaseCtx.Done():
		case call = <-l.inbox:
		case <-ticker.C:
			call = t.Tick
		case <-stopping:
			stopping = nil
			call = t.Stop
		}
		// After a suspension of the process, the leadership may be over before the channel Done is
		// closed.
		if l.leaseCtx.Err() == nil {
			call()
		}
		if l.leaseCtx.Err() != nil {
			return "", context.Cause(l.leaseCtx)
		}
		if successor, left := t.Left(); left {
			t.Leave()
			return successor, t.Err()
		}
		if t.TickEvery() != every {
			every = t.TickEvery()
			ticker.Reset(every)
		}
	}
}

func (l *loop) Now() time.Time { return time.Now() }

// Go runs a task on another goroutine. [Coordinator.Lead] waits for the task before it returns.
func (l *loop) Go(task func()) { l.tasks.Go(task) }

// Post queues a call for the loop. If the term is over, the call is dropped.
func (l *loop) Post(call func()) {
	select {
	case l.inbox <- call:
	case <-l.ctx.Done():
	}
}

// Guard calls code in a new goroutine, and waits for at most limit. If the code does not
// return, the goroutine continues to run.
func (l *loop) Guard(limit time.Duration, code func()) (returned bool) {
	done := make(chan bool, 1)
	go func() {
		returned := false
		defer func() { done <- returned }() // deferred functions run even if the code calls runtime.Goexit
		code()
		returned = true
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case returned = <-done:
		return returned
	case <-timer.C:
	case <-l.ctx.Done():
	}
	return false
}

func (l *loop) Pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
