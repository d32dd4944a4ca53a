package executor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// task is a job while this worker has to do with it.
type task struct {
	w       *Worker
	opening wire.Opening
	ctx     context.Context // done when the job has ended, or the worker's life
	cancel  context.CancelFunc
	runs    sync.WaitGroup // slots that run it; added to only while it is in Worker.tasks
	opened  *jobs.Task     // set before the book says that it is open
	stacks  []jobs.Stack   // one per slot, from its first span on; the slot's own
	panics  sync.Once      // the first panic's stack is logged
	spares  []string       // blobs to remove, once the job has ended; set before ctx is done
}

// begin opens a job beside the caller, who holds the lock.
func (w *Worker) begin(o wire.Opening) {
	t := &task{w: w, opening: o}
	t.ctx, t.cancel = context.WithCancel(w.life)
	w.tasks[o.Job] = t
	w.crew.Go(t.live)
}

// live opens the job, and closes it once it has ended and no slot runs it.
func (t *task) live() {
	defer t.cancel()
	opened, err := t.open()
	if err != nil && t.ctx.Err() == nil {
		t.w.cfg.Logger.Warn("Job cannot be opened", "job", t.opening.Job, "error", firstLine(err))
	}
	if !t.settle(opened, err) {
		if opened == nil {
			return
		}
		t.cancel() // it ended meanwhile
	}
	<-t.ctx.Done()
	t.runs.Wait()
	for _, blob := range t.spares {
		t.dropPartial(blob)
	}
	if err := opened.Close(); err != nil {
		t.w.cfg.Logger.Warn("Could not close a job", "job", t.opening.Job, "error", err)
	}
}

// settle tells the book how opening went, and reports whether the job is open.
func (t *task) settle(opened *jobs.Task, err error) bool {
	w, id := t.w, t.opening.Job
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tasks[id] != t || t.ctx.Err() != nil {
		return false
	}
	if err != nil {
		delete(w.tasks, id)
		f := failure(0, err)
		f.Open = true
		w.book.OpenFailed(id, f)
		w.nudge()
		return false
	}
	t.opened, t.stacks = opened, make([]jobs.Stack, w.cfg.Slots)
	w.book.Opened(id)
	w.work.Broadcast()
	return true
}

func (t *task) open() (*jobs.Task, error) {
	o := t.opening
	job, ok := t.w.known[o.Kind]
	if !ok {
		return nil, fmt.Errorf("job %s version %s is not known to this worker, which knows %s", o.Kind.Name, o.Kind.Version, t.w.knows())
	}
	plan := jobs.Plan{Partitions: o.Partitions, Data: o.Data}
	if o.InStore {
		var err error
		if plan, err = t.readPlan(); err != nil {
			return nil, err
		}
	}
	return job.Open(t.ctx, o.Params, plan)
}

// readPlan reads the plan, and waits for storage where that is away for now.
func (t *task) readPlan() (jobs.Plan, error) {
	var plan jobs.Plan
	err := t.persist("read plan", func() (err error) {
		plan, err = t.w.store.Plan(t.ctx, t.opening.Job)
		return err
	}, func(err error) bool { return errors.Is(err, store.ErrUnavailable) })
	if err == nil && plan.Partitions != t.opening.Partitions {
		err = fmt.Errorf("read plan: the stored plan has %d partitions, the leader says %d", plan.Partitions, t.opening.Partitions)
	}
	return plan, err
}

// writePartial writes a partial to the store, and tries until the task's context
// is done.
func (t *task) writePartial(p jobs.Partial) (blob string, err error) {
	err = t.persist("write partial", func() (err error) {
		blob, err = t.w.store.PutPartial(t.ctx, t.opening.Job, p.Node, p.Data)
		return err
	}, func(error) bool { return true })
	if err != nil && blob != "" && t.ended() {
		t.dropPartial(blob)
	}
	return blob, err
}

// ended reports whether the job has ended.
func (t *task) ended() bool {
	t.w.mu.Lock()
	defer t.w.mu.Unlock()
	return t.w.tasks[t.opening.Job] != t
}

// dropUndelivered removes the partials of items if the job has ended: they go
// nowhere, and what the leader removed then may have been without them.
func (t *task) dropUndelivered(items []wire.Item) {
	for _, i := range items {
		if i.Partial != nil && i.Partial.Blob != "" && t.ended() {
			t.dropPartial(i.Partial.Blob)
		}
	}
}

// dropPartial removes a partial that was written, or may have been, when the job
// had ended, and with it maybe the leader's removal of all others.
func (t *task) dropPartial(blob string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), dropWithin)
	defer cancel()
	if err := t.w.store.DropPartial(ctx, t.opening.Job, blob); err != nil {
		t.w.cfg.Logger.Warn("Remove a partial of a job that has ended", "job", t.opening.Job, "blob", blob, "error", err)
	}
}

// dropWithin bounds that.
const dropWithin = 5 * time.Second

// persist calls storage until that succeeds, fails in a way not worth another
// try, or the task's context is done.
func (t *task) persist(what string, call func() error, again func(error) bool) error {
	const longest = 5 * time.Second
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, longest) {
		err := call()
		if err == nil {
			return nil
		}
		if t.ctx.Err() != nil || !again(err) {
			return fmt.Errorf("%s: %w", what, err)
		}
		t.w.cfg.Logger.Warn("Storage is asked again", "job", t.opening.Job, "doing", what, "pause", wait, "error", err)
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-t.ctx.Done():
			timer.Stop()
		}
	}
}

// knows lists the definitions that the worker has, for people.
func (w *Worker) knows() string {
	var list []string
	for kind := range w.known {
		list = append(list, kind.Name+" version "+kind.Version)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}
