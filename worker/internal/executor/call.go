package executor

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/internal/holdings"
	"github.com/bellwether-compute/bellwether/worker/session"
)

// calls are the running calls of jobs' Plan, Merge and Finish.
type calls struct {
	*core
	partials *partials
	tasks    *tasks
	running  map[*session.HeldCall]*call // guarded by core.mu
}

// call is a running call of a job's Plan, Merge or Finish.
type call struct {
	*core
	calls    *calls
	partials *partials
	held     *session.HeldCall
	opening  wire.Opening
	ctx      context.Context // context that is done when the job has ended or the worker stops
	cancel   context.CancelFunc
	ended    bool // the call's job or round has ended; guarded by core.mu
	jobEnded bool // the call's job has ended; guarded by core.mu

	storage  jobStorage
	blobs    []string     // names of the blobs that the call may have written
	result   *heldPartial // result of the call, if the worker will hold it as a large partial
	operands []operand
	keeps    []func()              // functions that let operands of this worker be moved to files again
	reserved *holdings.Reservation // memory for the call; nil if it needs none

	attachment engine.Attachment // the attachment of the result that Finish returned, or nil
}

// begin begins as many waiting calls as may run. The caller must hold core.mu.
func (l *calls) begin() {
	for !l.quit {
		held := l.session.TakeCall()
		if held == nil {
			return
		}
		c := &call{core: l.core, calls: l, partials: l.partials, held: held, opening: held.Opening()}
		c.ctx, c.cancel = context.WithCancel(l.life)
		c.storage = jobStorage{l.core, c.opening.Job, c.ctx}
		c.ctx = c.withLog(c.storage.provide(c.ctx, l.spills(c.opening.Kind)), c.opening.Job, place{function: held.Call().Function.String()})
		l.running[held] = c
		l.goroutines.Go(c.run)
	}
}

// endJob cancels the calls of a job that has ended, or of a round of a job that continues. The caller must hold core.mu.
func (l *calls) endJob(id string, continues bool) {
	for _, c := range l.running {
		if c.opening.Job == id {
			c.ended = true
			c.cancel()
		}
		if !continues && engine.JobOf(c.opening.Job) == engine.JobOf(id) {
			c.jobEnded = true
		}
	}
}

// run makes the call and passes the call's result to the session.
func (c *call) run() {
	defer c.cancel()
	began := time.Now()
	item, err := c.make()
	if err == nil && c.held.Call().Function == wire.Merge {
		c.cfg.MergeDone(time.Since(began))
	}
	ended, jobEnded := c.end(item, err)
	if !ended {
		return
	}
	// The leader may have removed the job's blobs before these blobs were written. If only the round has ended, a blob of
	// another round is the state of the next one, which runs.
	if c.storage.job == c.opening.Job || jobEnded {
		c.dropBlobs(c.storage.job, c.blobs)
	}
	if c.attachment != nil {
		c.storage.dropAttachment(c.attachment)
	}
}

// end tells the session that the call has ended. It reports whether the job or the round has ended, and whether the job has.
func (c *call) end(item wire.Item, err error) (ended, jobEnded bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls.running, c.held)
	if c.result != nil {
		c.partials.undelivered--
	}
	switch {
	case c.ctx.Err() != nil: // the call was cancelled, so its error is not a failure of the job's code
		c.result.drop()
		c.session.AbandonCall(c.held)
	case err == nil && c.result != nil:
		if c.session.ReturnHeld(c.held, c.result.HeldNode) {
			c.result.put(c.partials.held, c.opening.Job, c.calls.tasks.byJob[c.opening.Job].reusesMemory())
		} else {
			c.result.drop()
		}
	case err != nil:
		f := c.failure(err)
		c.session.Return(c.held, wire.Item{Failure: &f}, c.blobs)
	default:
		c.session.Return(c.held, item, c.blobs)
	}
	c.returnTaken()
	c.checkUsable()
	c.calls.begin()
	c.wakeLink()
	return c.ended, c.jobEnded
}

func (c *call) failure(err error) wire.Failure {
	f, made := failure(0, err), c.held.Call()
	f.Function, f.Node = made.Function, made.Node
	if late, ok := errors.AsType[*limitError](err); ok {
		f.Slow = made.Within > 0 && late.limit == made.Within
	}
	if fetching, ok := errors.AsType[*fetchError](err); ok {
		f.Holder = fetching.holder
	}
	return f
}

// make reads the operands, makes the call, and moves large results into storage.
func (c *call) make() (wire.Item, error) {
	o, made := c.opening, c.held.Call()
	defer c.releaseOperands()
	job, err := c.definition(o.Kind)
	if err != nil {
		return wire.Item{}, err
	}
	params, err := c.storage.params(o)
	if err != nil {
		return wire.Item{}, err
	}
	var in *session.InRound
	if made.Function == wire.Finish {
		if in, err = c.round(); err != nil {
			return wire.Item{}, err
		}
	}
	defer c.unreserve()
	if large := c.large(job, params); large.Merge != nil || large.Finish != nil {
		item, err := c.makeOfStreams(job, large)
		if !errors.Is(err, errSpillFolder) {
			return item, err
		}
		c.cfg.Logger.Warn("Cannot use the spill folder, a call needs more memory than the limit", "job", o.Job, "function", made.Function.String(), "error", err)
	}
	if err := c.reserve(job.Engine().InPlace() && !job.Engine().Large(params).Grows); err != nil {
		return wire.Item{}, err
	}
	operands, err := c.readOperands()
	if err != nil {
		c.checkTaken()
		return wire.Item{}, err
	}
	for _, operand := range operands {
		c.partials.expansions.note(o.Job, len(operand.Data), job.Engine().DecodedSize(operand.Data))
	}
	if made.Function == wire.Finish && slices.ContainsFunc(made.Operands, func(p wire.Partial) bool { return p.Holder != "" }) {
		runtime.GC() // frees the operands of the last merge before Finish allocates memory for a large root
	}
	root := c.copyRoot(made, operands)
	var item wire.Item
	err = c.guarded(job, func(ctx context.Context) (err error) {
		item, c.attachment, err = session.MakeCall(ctx, job, params, made, operands, c.held.Epoch(), in)
		return err
	})
	if err != nil {
		return wire.Item{}, err
	}
	switch {
	case item.Partial != nil:
		c.reuse(item.Partial.Data)
	case made.Function == wire.Plan:
		if err := c.findKept(job, params, item.Output); err != nil {
			return wire.Item{}, err
		}
	case made.Function == wire.Finish:
		c.keepRoot(job, params, made, root)
	}
	c.unreserve() // a write to storage may take long, and other calls wait for memory
	return c.moveLarge(item)
}

// guarded runs code of the job. The call is lost if the code does not return, and guarded then waits until it does.
func (c *call) guarded(job jobs.Job, code func(context.Context) error) error {
	gone, err := guard{core: c.core, limit: limit(job.Limits(), c.held.Call())}.run(c.ctx, code)
	if gone != nil {
		c.lose(err)
		<-gone
		return errLost
	}
	if err != nil {
		c.checkTaken()
	}
	return err
}

// round returns the round in which Finish is called, or nil if the job has no rounds.
func (c *call) round() (*session.InRound, error) {
	in, err := c.calls.tasks.round(c.storage, c.opening)
	if err != nil || in == nil {
		return in, err
	}
	in.State, in.Own = c.calls.tasks.copied(in.State), true // Start and Next may change the state, which other workers fetch
	if in.Number > 0 {
		return in, nil
	}
	plan, err := c.storage.plan(c.opening)
	in.Partitions, in.PlanData = plan.Partitions, plan.Data
	return in, err
}

// holdState keeps the state of the next round that a call of Finish has returned, for this and other workers.
func (c *call) holdState(o *wire.Output, data []byte) {
	if !o.Continues || c.cfg.Bulk == nil || len(data) <= wire.MaxState {
		return
	}
	state := newRoundState(data)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls.tasks.hold(nextRound(c.opening.Job), state) {
		o.StateSize, o.StateSum = uint64(len(data)), state.sum
	}
}

// limit returns the time limit of a call; 0 means no limit.
func limit(l jobs.Limits, made wire.Call) time.Duration {
	limit := l.Merge
	switch made.Function {
	case wire.Plan:
		limit = l.Plan
	case wire.Finish:
		limit = l.Finish
	case wire.Estimate:
		limit = l.Estimate
	}
	if made.Within > 0 && (limit == 0 || made.Within < limit) {
		return made.Within
	}
	return limit
}

// lose tells the session that the call's code does not return.
func (c *call) lose(err error) {
	c.cfg.Logger.Error("A job's code does not return", "job", c.opening.Job, "function", c.held.Call().Function.String(), "error", err)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session.LoseCall(c.held, c.failure(err))
	c.returnTaken()
	if c.reserved != nil {
		c.reserved.Detach()
	}
	c.checkUsable()
	c.wakeLink()
}

// moveLarge moves the data of an item into storage if the data is too large for a report.
func (c *call) moveLarge(item wire.Item) (_ wire.Item, err error) {
	if c.attachment != nil {
		if err := c.storage.writeAttachment(c.attachment); err != nil {
			return wire.Item{}, err
		}
	}
	switch {
	case item.Partial != nil && !c.opening.MayReport(len(item.Partial.Data)) && c.partials.mayHold():
		p := item.Partial
		c.result = &heldPartial{HeldNode: wire.HeldNode{Node: p.Node, Size: uint64(len(p.Data)), Sum: p.Sum, Lacking: c.held.Call().Lacking}, data: p.Data}
		return wire.Item{}, nil
	case item.Partial != nil && !c.opening.MayReport(len(item.Partial.Data)):
		p := *item.Partial
		blob, err := c.storage.writePartial(p.Node, p.Data)
		c.blobs = append(c.blobs, blob)
		return wire.Item{Partial: &wire.Partial{Node: p.Node, Blob: blob, Size: uint64(len(p.Data)), MergedFor: p.MergedFor, Lacking: p.Lacking}}, err
	case item.Output != nil && len(item.Output.Data) > wire.MaxInline:
		o := *item.Output
		if o.Continues { // the state belongs to the next round, because the blobs of this one are removed when it has ended
			c.storage.job = nextRound(c.opening.Job)
		}
		blob, err := c.storage.writeOutput(o.Function, o.Data)
		c.blobs = append(c.blobs, blob)
		c.holdState(&o, o.Data)
		o.Data, o.Sum, o.Blob = nil, 0, blob
		return wire.Item{Output: &o}, err
	case item.Output != nil:
		c.holdState(item.Output, item.Output.Data)
	}
	return item, nil
}
