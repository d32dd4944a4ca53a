package coordinator

import (
	"context"
	"sync"
	"time"

	"github.com/bellwether-compute/bellwether/coordinator/term"
)

// loop is the goroutine of one term, which everything that happens to the reign
// passes through, and the world of that reign.
type loop struct {
	trust context.Context // the leadership; its Err looks at the clock
	ctx   context.Context // ends with it, or when Lead returns
	inbox chan func()
	tasks sync.WaitGroup
}

var _ term.World = (*loop)(nil)

func newLoop(trust, ctx context.Context) *loop {
	return &loop{trust: trust, ctx: ctx, inbox: make(chan func(), 64)}
}

// run turns until the leadership is over or the reign has left.
func (l *loop) run(r *term.Reign, t Term) (successor string, err error) {
	every := r.TickEvery()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	stopping := t.Stopping
	for {
		t.Beat()
		in := func() {}
		select {
		case <-l.trust.Done():
		case in = <-l.inbox:
		case <-ticker.C:
			in = r.Tick
		case <-stopping:
			stopping = nil
			in = r.Stop
		}
		// After a stall the leadership may be over although nothing has said so.
		if l.trust.Err() == nil {
			in()
		}
		if l.trust.Err() != nil {
			return "", context.Cause(l.trust)
		}
		if successor, left := r.Left(); left {
			return successor, nil
		}
		if r.TickEvery() != every {
			every = r.TickEvery()
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
