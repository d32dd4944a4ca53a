package executor

import (
	"bytes"
	"context"
	"crypto/sha256"
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

// task is a job that this worker has opened or is opening.
type task struct {
	w       *Worker
	opening wire.Opening
	ctx     context.Context // done when the job has ended, or the worker stops
	cancel  context.CancelFunc
	users   sync.WaitGroup // slots that run the task; grows only while the task is in Worker.tasks
	opened  *jobs.Task     // set before the session is told that the job is open
	stacks  []jobs.Stack   // one merge stack per slot, made for the slot's first span; only its slot uses it
	panics  sync.Once      // logs the stack trace of the first panic only
	orphans []string       // blobs to remove once the job has ended; set before ctx is done
}

// open opens a job in a goroutine. The caller must hold w.mu.
func (w *Worker) open(o wire.Opening) {
	t := &task{w: w, opening: o}
	t.ctx, t.cancel = context.WithCancel(w.life)
	w.tasks[o.Job] = t
	w.goroutines.Go(t.run)
}

// run opens the job. Once the job has ended and no slot runs it, run closes the job.
func (t *task) run() {
	defer t.cancel()
	opened, err := t.open()
	if err != nil && t.ctx.Err() == nil {
		t.w.cfg.Logger.Warn("Job cannot be opened", "job", t.opening.Job, "error", firstLine(err))
	}
	if !t.announce(opened, err) {
		if opened == nil {
			return
		}
		t.cancel() // the job ended while run opened it
	}
	<-t.ctx.Done()
	t.users.Wait()
	for _, blob := range t.orphans {
		t.dropPartial(blob)
	}
	if err := opened.Close(); err != nil {
		t.w.cfg.Logger.Warn("Could not close a job", "job", t.opening.Job, "error", err)
	}
}

// announce tells the session the outcome of opening the job. announce reports whether the
// job is now open.
func (t *task) announce(opened *jobs.Task, err error) bool {
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
		w.session.OpenFailed(id, f)
		w.wakeLink()
		return false
	}
	t.opened, t.stacks = opened, make([]jobs.Stack, w.cfg.Slots)
	w.session.Opened(id)
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
	params := o.Params
	if len(o.ParamsSHA256) > 0 {
		var err error
		if params, err = t.readParams(); err != nil {
			return nil, err
		}
	}
	return job.Open(t.ctx, params, plan)
}

// readParams reads the job's parameters. readParams retries while storage is unavailable.
func (t *task) readParams() (jobs.Params, error) {
	var spec store.StoredSpec
	err := t.retry("read parameters", func() (err error) {
		spec, err = t.w.store.Spec(t.ctx, t.opening.Job)
		return err
	}, func(err error) bool { return errors.Is(err, store.ErrUnavailable) })
	if sum := sha256.Sum256(spec.Params); err == nil && !bytes.Equal(sum[:], t.opening.ParamsSHA256) {
		err = errors.New("read parameters: the stored parameters are not those that the leader read")
	}
	return spec.Params, err
}

// readPlan reads the job's plan. readPlan retries while storage is unavailable.
func (t *task) readPlan() (jobs.Plan, error) {
	var plan jobs.Plan
	err := t.retry("read plan", func() (err error) {
		plan, err = t.w.store.Plan(t.ctx, t.opening.Job)
		return err
	}, func(err error) bool { return errors.Is(err, store.ErrUnavailable) })
	if err == nil && plan.Partitions != t.opening.Partitions {
		err = fmt.Errorf("read plan: the stored plan has %d partitions, the leader says %d", plan.Partitions, t.opening.Partitions)
	}
	return plan, err
}

// writePartial writes a partial to storage. writePartial retries until the task's context
// is done. A partial that is too large for storage is a permanent error of the job.
func (t *task) writePartial(p jobs.Partial) (blob string, err error) {
	err = t.retry("write partial", func() (err error) {
		blob, err = t.w.store.PutPartial(t.ctx, t.opening.Job, p.Node, p.Data)
		return err
	}, func(err error) bool { return !errors.Is(err, store.ErrTooLarge) })
	if errors.Is(err, store.ErrTooLarge) {
		return "", jobs.Permanent(err)
	}
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

// dropUndelivered removes the items' partials from storage if the job has ended. No other
// process removes a partial that was stored after the leader removed the job's partials.
func (t *task) dropUndelivered(items []wire.Item) {
	for _, i := range items {
		if i.Partial != nil && i.Partial.Blob != "" && t.ended() {
			t.dropPartial(i.Partial.Blob)
		}
	}
}

// dropPartial removes a partial of an ended job that may have been written after the
// leader removed the job's other partials.
func (t *task) dropPartial(blob string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), dropTimeout)
	defer cancel()
	if err := t.w.store.DropPartial(ctx, t.opening.Job, blob); err != nil {
		t.w.cfg.Logger.Warn("Could not remove a partial of a job that has ended", "job", t.opening.Job, "blob", blob, "error", err)
	}
}

const (
	dropTimeout     = 5 * time.Second // bounds a call that removes a partial
	minStoreBackoff = 50 * time.Millisecond
	maxStoreBackoff = 5 * time.Second
)

// retry repeats a call to storage until the call succeeds, the call fails with an error
// that is not retryable, or the task's context is done.
func (t *task) retry(doing string, call func() error, retryable func(error) bool) error {
	for wait := minStoreBackoff; ; wait = min(2*wait, maxStoreBackoff) {
		err := call()
		if err == nil {
			return nil
		}
		if t.ctx.Err() != nil || !retryable(err) {
			return fmt.Errorf("%s: %w", doing, err)
		}
		t.w.cfg.Logger.Warn("Storage call failed, trying again", "job", t.opening.Job, "operation", doing, "pause", wait, "error", err)
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-t.ctx.Done():
			timer.Stop()
		}
	}
}

// knows lists the worker's job definitions, for an error text.
func (w *Worker) knows() string {
	var list []string
	for kind := range w.known {
		list = append(list, kind.Name+" version "+kind.Version)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}
