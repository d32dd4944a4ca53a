package coordinator

import (
	"context"
	"sync"
	"time"

	"github.com/bellwether-compute/bellwether/coordinator/term"
	"github.com/bellwether-compute/bellwether/election"
)

// loop is the goroutine of one term, which everything that happens in the term
// passes through, and the environment of that term.
type loop struct {
	trust context.Context // the leadership; its Err looks at the clock
	ctx   context.Context // ends with it, or when Lead returns
	inbox chan func()
	tasks sync.WaitGroup
}

var _ term.Env = (*loop)(nil)

func newLoop(trust, ctx context.Context) *loop {
	return &loop{trust: trust, ctx: ctx, inbox: make(chan func(), 64)}
}

// run turns until the leadership is over or the term has left.
func (l *loop) run(t *term.Term, leadership *election.Term, onTurn func()) (successor string, err error) {
	every := t.TickEvery()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	stopping := leadership.Stopping()
	for {
		leadership.Beat()
		onTurn()
		in := func() {}
		select {
		case <-l.trust.Done():
		case in = <-l.inbox:
		case <-ticker.C:
			in = t.Tick
		case <-stopping:
			stopping = nil
			in = t.Stop
		}
		// After a stall the leadership may be over although nothing has said so.
		if l.trust.Err() == nil {
			in()
		}
		if l.trust.Err() != nil {
			return "", context.Cause(l.trust)
		}
		if successor, left := t.Left(); left {
			return successor, nil
		}
		if t.TickEvery() != every {
			every = t.TickEvery()
			ticker.Reset(every)
		}
	}
}

func (l *loop) Now() time.Time { return time.Now() }

// Go runs a task beside the loop. Lead does not return before it has.
func (l *loop) Go(task func()) { l.tasks.Go(task) }

// Post has the loop run in, unless the term is over.
func (l *loop) Post(in func()) {
	select {
	case l.inbox <- in:
	case <-l.ctx.Done():
	}
}

func (l *loop) Pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
