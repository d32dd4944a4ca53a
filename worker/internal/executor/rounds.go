package executor

import (
	"context"
	"sync"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// roundsJob is a job with rounds that is open. The tasks of its rounds share what it has loaded:
//
//	opening of a round ─▶ task of the round ─▶ the round ends ─▶ … ─▶ the job ends ─▶ closed
//
// A leader that dies may leave a worker without the news of the job's end. The job is therefore also closed if
// no round of it has run for timing.roundsIdle.
type roundsJob struct {
	*core
	partials *partials
	id       string
	limits   jobs.Limits
	ctx      context.Context // context that is done when the job has ended or the worker stops
	end      context.CancelFunc
	ended    bool           // the job has ended; guarded by core.mu
	users    sync.WaitGroup // tasks of rounds; increases only while tasks.rounds contains the job
	running  int            // number of tasks of rounds; guarded by core.mu
	idle     *time.Timer    // closes the job; runs while running is 0

	states map[string]roundState // encoded large states of the current round and of the next one, by round ID; guarded by core.mu

	opening sync.Mutex // held while the job is being opened and while a round begins
	opened  engine.Task
}

// useRounds returns the open job of a round. The caller must call leave.
func (l *tasks) useRounds(o wire.Opening, limits jobs.Limits) *roundsJob {
	id := engine.JobOf(o.Job)
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.rounds[id]
	if r == nil {
		r = &roundsJob{core: l.core, partials: l.partials, id: id, limits: limits, states: make(map[string]roundState)}
		r.ctx, r.end = context.WithCancel(l.life)
		r.idle = time.AfterFunc(l.timing.roundsIdle, func() { l.closeIdle(r) })
		l.rounds[id] = r
		l.goroutines.Go(r.close)
	}
	r.users.Add(1)
	r.running++
	r.idle.Stop()
	return r
}

// leave ends the use by a round.
func (r *roundsJob) leave() {
	r.mu.Lock()
	if r.running--; r.running == 0 && r.ctx.Err() == nil {
		r.idle.Reset(r.timing.roundsIdle)
	}
	r.mu.Unlock()
	r.users.Done()
}

// endRounds closes a job with rounds that has ended. The caller must hold core.mu.
func (l *tasks) endRounds(id string) {
	if r := l.rounds[id]; r != nil {
		r.ended = true
		delete(l.rounds, id)
		r.end()
	}
}

// closeIdle closes a job of which no round has run for some time.
func (l *tasks) closeIdle(r *roundsJob) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.running == 0 && l.rounds[r.id] == r {
		delete(l.rounds, r.id)
		r.end()
	}
}

// begin returns the task of a round. It opens the job if it is not open.
func (r *roundsJob) begin(ctx context.Context, open func(context.Context) (engine.Task, error), state []byte) (engine.Task, error) {
	r.opening.Lock()
	defer r.opening.Unlock()
	if r.opened == nil {
		opened, err := open(ctx)
		if err != nil {
			return nil, err
		}
		r.opened = opened
	}
	return r.opened.Round(ctx, state)
}

// close waits until the job has ended and no round of it runs, and then closes the job.
func (r *roundsJob) close() {
	<-r.ctx.Done()
	r.idle.Stop()
	r.users.Wait()
	r.dropAllStates()
	if r.opened == nil {
		return
	}
	r.delayClose(r.opened)
	r.closeJob(r.ctx, r.id, r.limits, r.opened)
	r.mu.Lock()
	ended := r.ended
	r.mu.Unlock()
	if ended {
		r.cleanUp(r.id, r.limits, r.opened)
	}
}

// dropAllStates drops the states of a job that has ended here.
func (r *roundsJob) dropAllStates() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.partials.useStates(-r.stateBytes())
	clear(r.states)
}

// nextRound returns the ID of the round after a round.
func nextRound(id string) string {
	job, number := engine.SplitRound(id)
	return engine.RoundID(job, number+1)
}
