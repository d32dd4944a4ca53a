package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store/kept"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/session"
)

// tasks are the jobs that the worker is opening or has opened.
type tasks struct {
	*core
	partials *partials
	byJob    map[string]*task      // by job ID; guarded by core.mu
	rounds   map[string]*roundsJob // open jobs with rounds by job ID; guarded by core.mu
}

// task is a job that this worker is opening or has opened.
type task struct {
	*core
	tasks       *tasks
	partials    *partials
	opening     wire.Opening
	limits      jobs.Limits
	tree        engine.Tree // aggregation tree of the job; set before the session is told that the job is open
	storage     jobStorage
	ctx         context.Context // context that is done when the job has ended or the worker stops
	cancel      context.CancelFunc
	users       sync.WaitGroup // number of slots that run the job; increases only while tasks.byJob contains the task
	shared      *roundsJob     // what the rounds of the job share; nil for a job without rounds; set before opened
	reuses      bool           // memory of the job's dropped partials may be reused; set before opened
	opened      engine.Task    // the opened job; set before the session is told that the job is open
	stacks      []engine.Stack // merge stack of each slot, created for the slot's first span; each stack is used only by its slot
	kept        *kept.Partials // partials that the worker keeps for later jobs; nil if it keeps none
	first       engine.Stack   // merge stack that open has created, until a slot takes it; guarded by core.mu
	panics      sync.Once      // logs the stack trace of only the first panic
	exhausted   sync.Once      // logs the first failure by a limit of this process
	partitions  atomic.Uint64  // number of partitions that have run so far
	took        atomic.Int64   // slot time in nanoseconds of all partitions that have run so far
	partialSize atomic.Int64   // size in bytes of the largest held partial of the job when it is decoded; 0 before the first one
	workID      workID         // identifies similar jobs; set before opened
	expected    int64          // size in bytes of a large partial according to the job's Sizer, or 0; set before opened
	likelySize  int64          // size in bytes of the largest held partial of the last similar job, or 0; set before opened
}

// open opens a job in a goroutine. The caller must hold core.mu.
func (l *tasks) open(o wire.Opening) {
	t := l.newTask(o)
	l.byJob[o.Job] = t
	l.goroutines.Go(t.run)
}

// end ends the task of a job and returns the task. It returns nil if the job has no task. The caller must
// hold core.mu.
func (l *tasks) end(job string) *task {
	t := l.byJob[job]
	if t != nil {
		delete(l.byJob, job)
		t.cancel()
	}
	return t
}

// newTask returns the task of a job that is not open yet.
func (l *tasks) newTask(o wire.Opening) *task {
	t := &task{core: l.core, tasks: l, partials: l.partials, opening: o, limits: l.known[o.Kind].Limits()}
	t.limits.Map = cmp.Or(o.PartitionTimeout, t.limits.Map)
	t.ctx, t.cancel = context.WithCancel(l.life)
	t.storage = jobStorage{l.core, o.Job, t.ctx}
	t.ctx = t.withLog(t.storage.provide(t.ctx, l.spills(o.Kind)), o.Job, place{function: "Open"})
	return t
}

// reusesMemory reports whether memory of the job's dropped partials may be reused. It returns false
// before the job is open, because a merge does not wait for the opening. The caller must hold
// core.mu.
func (t *task) reusesMemory() bool { return t != nil && t.opened != nil && t.reuses }

// run opens the job. After the job's end, run waits until no slot runs the job, and then closes the
// job.
func (t *task) run() {
	defer t.endTaskLog()
	defer t.cancel()
	opened, err := t.open()
	if err != nil && t.ctx.Err() == nil {
		t.cfg.Logger.Warn("Job cannot be opened", "job", t.opening.Job, "error", firstLine(err))
	}
	if !t.announce(opened, err) {
		if opened == nil {
			return
		}
		t.cancel() // the job has ended during its opening
	}
	<-t.ctx.Done()
	t.users.Wait()
	if t.kept != nil {
		t.closeKept(t.kept)
	}
	t.delayClose(opened)
	t.close(opened)
	if t.ended() {
		t.cleanUp(t.opening.Job, t.limits, opened)
	}
}

// endTaskLog says that no more lines follow. A job with rounds logs until it ends.
func (t *task) endTaskLog() {
	if !t.opening.Rounds {
		t.endLog(t.opening.Job)
	}
}

// close closes the job, or one round of it.
func (t *task) close(opened engine.Task) {
	t.closeJob(t.ctx, t.opening.Job, t.limits, opened)
	if t.shared != nil {
		t.shared.leave()
	}
}

// cleanUp removes the objects that partitions of a failed or cancelled job have written to storage
// themselves.
func (c *core) cleanUp(job string, limits jobs.Limits, opened engine.Task) {
	_, err := guard{core: c, limit: limits.Open}.run(c.life, opened.CleanUp)
	if err != nil && c.life.Err() == nil {
		c.cfg.Logger.Warn("Could not clean up after a job", "job", job, "error", err)
	}
}

// delayClose waits before the job is closed if this process leads, because Close may end the
// process (see [Config.Leads]).
func (c *core) delayClose(opened engine.Task) {
	if !opened.IsCloser() || !c.cfg.Leads() {
		return
	}
	timer := time.NewTimer(c.timing.closeDelay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.life.Done():
	}
}

// closeJob closes a job. If the job's Close does not return, closeJob does not wait for it.
func (c *core) closeJob(ctx context.Context, job string, limits jobs.Limits, opened engine.Task) {
	_, err := guard{core: c, limit: limits.Open}.run(context.WithoutCancel(ctx), func(context.Context) error { return opened.Close() })
	if err != nil {
		c.cfg.Logger.Warn("Could not close a job", "job", job, "error", err)
	}
}

// announce tells the session the outcome of opening the job, and reports whether the job is now
// open.
func (t *task) announce(opened engine.Task, err error) bool {
	id := t.opening.Job
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tasks.byJob[id] != t || t.ctx.Err() != nil {
		return false
	}
	if err != nil {
		delete(t.tasks.byJob, id)
		f := failure(0, err)
		f.Function = wire.Open
		t.session.OpenFailed(id, f)
		t.wakeLink()
		return false
	}
	t.opened, t.stacks = opened, make([]engine.Stack, t.cfg.Slots)
	if t.expected > 0 {
		t.partials.held.Expect(id, t.expected)
	}
	t.session.Opened(id)
	t.work.Broadcast()
	return true
}

func (t *task) open() (engine.Task, error) {
	o := t.opening
	job, err := t.definition(o.Kind)
	if err != nil {
		return nil, err
	}
	plan, err := t.storage.plan(o)
	if err != nil {
		return nil, err
	}
	params, err := t.storage.params(o)
	if err != nil {
		return nil, err
	}
	in, err := t.tasks.round(t.storage, o)
	if err != nil {
		return nil, err
	}
	if t.tree, err = engine.NewTree(plan.Partitions); err != nil {
		return nil, err
	}
	t.before(t.alone(), "Open")
	open := func(ctx context.Context) (engine.Task, error) {
		return job.Engine().Open(ctx, params, plan.Partitions, plan.Data)
	}
	if in != nil {
		t.shared = t.tasks.useRounds(o, t.limits)
		t.mu.Lock()
		t.tasks.hold(o.Job, newRoundState(in.State))
		t.mu.Unlock()
		openJob := open
		open = func(ctx context.Context) (engine.Task, error) { return t.shared.begin(ctx, openJob, in.State) }
	}
	var opened engine.Task
	gone, err := guard{core: t.core, limit: t.limits.Open}.run(t.ctx, func(ctx context.Context) (err error) {
		opened, err = open(ctx)
		return err
	})
	if gone != nil {
		t.goroutines.Go(func() {
			if <-gone; opened != nil {
				t.close(opened)
			} else if t.shared != nil {
				t.shared.leave()
			}
		})
		return nil, err
	}
	if err != nil {
		if t.shared != nil {
			t.shared.leave()
		}
		return nil, err
	}
	opened.Audit(o.Audit, o.Job)
	t.keep(opened, job, params)
	if t.partials.held != nil {
		t.workID = newWorkID(o.Kind, params)
		t.likelySize = t.partials.sizes.get(t.workID)
		t.reuses = opened.Spares(t.buffer, t.partials.held.Reuse)
		if bytes := opened.PartialBytes(); !t.opening.MayReport(int(bytes)) {
			t.expected = bytes
		}
	}
	if err := t.fork(opened); err != nil {
		return nil, err
	}
	return opened, nil
}

// buffer returns memory for the value of a partition. The parameter size is the probable size in
// bytes of the value, or 0 if it is unknown.
func (t *task) buffer(size int) []byte {
	if size == 0 {
		return t.partials.held.Pooled(t.size())
	}
	return t.partials.held.Buffer(int64(size))
}

// size returns the probable size in bytes of a large partial of the job when it is decoded, or 0 if it is unknown.
func (t *task) size() int64 { return cmp.Or(t.partialSize.Load(), t.likelySize) }

// noteSize records the size of a partial that the worker will hold. The caller must hold core.mu.
func (t *task) noteSize(p heldPartial) {
	decoded := t.known[t.opening.Kind].Engine().DecodedSize(p.data)
	t.partials.expansions.note(t.opening.Job, len(p.data), decoded)
	if bytes := int64(min(decoded, math.MaxInt64)); bytes > t.partialSize.Load() {
		t.partialSize.Store(bytes)
		t.partials.sizes.put(t.workID, bytes)
	}
}

// fork creates the first merge stack and calls the job's Fork for it. Fork is called before any
// slot runs the job, so that a Fork that does not return does not block a slot. If Fork fails, fork
// closes the job.
func (t *task) fork(opened engine.Task) error {
	t.before(t.alone(), "Fork")
	t.first = opened.NewStack()
	gone, err := guard{core: t.core, limit: t.limits.Open}.run(t.ctx, func(ctx context.Context) error {
		_, err := t.first.Run(ctx, engine.Span{}, new(atomic.Bool))
		return err
	})
	if gone == nil && err == nil {
		return nil
	}
	t.goroutines.Go(func() {
		if gone != nil {
			<-gone
		}
		t.close(opened)
	})
	if at, ok := errors.AsType[*jobs.PartitionError](err); ok {
		err = at.Err
	}
	return fmt.Errorf("Fork: %w", err)
}

// newStack returns an empty merge stack for a slot.
func (t *task) newStack() engine.Stack {
	t.mu.Lock()
	defer t.mu.Unlock()
	if first := t.first; first != nil {
		t.first = nil
		return first
	}
	return t.opened.NewStack()
}

// alone returns the job's span that runs alone, or nil if there is none.
func (t *task) alone() *session.HeldSpan {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.session.Alone(t.opening.Job)
}

// before is called before each call of a function of the job for a span. If the span runs alone,
// before waits until the leader knows of the call, because the call may end the process.
func (t *task) before(span *session.HeldSpan, function string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.session.Announce(span, function) {
		return
	}
	t.wakeLink()
	for t.ctx.Err() == nil && !t.session.Announced(span) {
		t.work.Wait()
	}
}

// writePartial writes a partial to storage. If the job has ended, writePartial removes the blob
// that it may have written.
func (t *task) writePartial(p engine.Partial) (blob string, err error) {
	blob, err = t.storage.writePartial(p.Node, p.Data)
	if err != nil && blob != "" && t.ended() {
		t.storage.dropPartial(blob)
	}
	return blob, err
}

// ended reports whether the job has ended.
func (t *task) ended() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.tasks.byJob[t.opening.Job] != t
}

// dropUndelivered removes the partials of items from storage if the job has ended. The leader no
// longer removes partials that were stored after it had removed the job's partials.
func (t *task) dropUndelivered(items []wire.Item) {
	for _, i := range items {
		if i.Partial != nil && i.Partial.Blob != "" && t.ended() {
			t.storage.dropPartial(i.Partial.Blob)
		}
	}
}
