package executor

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/internal/holdings"
	"github.com/bellwether-compute/bellwether/worker/session"
)

// call is a running call of a job's Plan, Merge or Finish.
type call struct {
	w       *Worker
	held    *session.HeldCall
	opening wire.Opening
	ctx     context.Context // context that is done when the job has ended or the worker stops
	cancel  context.CancelFunc
	ended   bool // the call's job has ended; guarded by Worker.mu

	storage  jobStorage
	blob     string       // name of the blob that the call may have written, or empty
	result   *heldPartial // result of the call, if the worker will hold it as a large partial
	operands []operand
	keeps    []func()              // functions that let operands of this worker be moved to files again
	reserved *holdings.Reservation // memory for the call; nil if it needs none

	attachment jobs.Attachment // the attachment of the result that Finish returned
}

// beginCalls begins as many waiting calls as may run. The caller must hold w.mu.
func (w *Worker) beginCalls() {
	for !w.quit {
		held := w.session.TakeCall()
		if held == nil {
			return
		}
		c := &call{w: w, held: held, opening: held.Opening()}
		c.ctx, c.cancel = context.WithCancel(w.life)
		c.storage = jobStorage{w, c.opening.Job, c.ctx}
		c.ctx = jobs.WithFiles(c.ctx, c.storage)
		w.calls[held] = c
		w.goroutines.Go(c.run)
	}
}

// run makes the call and passes the call's result to the session.
func (c *call) run() {
	defer c.cancel()
	began := time.Now()
	item, err := c.make()
	if err == nil && c.held.Call().Function == wire.Merge {
		c.w.cfg.MergeDone(time.Since(began))
	}
	if ended := c.end(item, err); !ended {
		return
	}
	if c.blob != "" {
		c.storage.dropPartial(c.blob) // the leader may have removed the job's blobs before this blob was written
	}
	if c.attachment.Name() != "" {
		c.storage.dropAttachment(c.attachment)
	}
}

// end tells the session that the call has ended. end reports whether the job has ended.
func (c *call) end(item wire.Item, err error) (jobEnded bool) {
	w := c.w
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.calls, c.held)
	if c.result != nil {
		w.undelivered--
	}
	switch {
	case c.ctx.Err() != nil: // the call was cancelled, so its error is not a failure of the job's code
		w.session.AbandonCall(c.held)
	case err == nil && c.result != nil:
		w.holdResult(c.held, *c.result)
	case err != nil:
		f := c.failure(err)
		w.session.Return(c.held, wire.Item{Failure: &f})
	default:
		w.session.Return(c.held, item)
	}
	c.returnTaken()
	w.beginCalls()
	w.wakeLink()
	return c.ended
}

func (c *call) failure(err error) wire.Failure {
	f := failure(0, err)
	f.Function, f.Node = c.held.Call().Function, c.held.Call().Node
	if fetching, ok := errors.AsType[*fetchError](err); ok {
		f.Holder = fetching.holder
	}
	return f
}

// make reads the operands, makes the call, and moves large results into storage.
func (c *call) make() (wire.Item, error) {
	o, made := c.opening, c.held.Call()
	defer c.releaseOperands()
	job, known := c.w.known[o.Kind]
	if !known {
		return wire.Item{}, fmt.Errorf("job %s version %s is not known to this worker, which knows %s", o.Kind.Name, o.Kind.Version, c.w.knows())
	}
	params, err := c.storage.params(o)
	if err != nil {
		return wire.Item{}, err
	}
	defer c.unreserve()
	if err := c.reserve(job.InPlace()); err != nil {
		return wire.Item{}, err
	}
	operands, err := c.readOperands()
	if err != nil {
		c.checkTaken()
		return wire.Item{}, err
	}
	for _, data := range operands {
		c.w.expansions.note(o.Job, len(data), job.DecodedSize(data))
	}
	if made.Function == wire.Finish && slices.ContainsFunc(made.Operands, func(p wire.Partial) bool { return p.Holder != "" }) {
		runtime.GC() // frees the operands of the last merge before Finish allocates memory for a large root
	}
	job = job.OnAttachment(func(a jobs.Attachment) { c.attachment = a }).OwnOperands(c.owns(0), c.owns(1))
	var item wire.Item
	gone, err := guard{w: c.w, limit: limit(job.Limits(), made.Function)}.run(c.ctx, func(ctx context.Context) (err error) {
		item, err = session.MakeCall(ctx, job, params, made, operands, c.held.Epoch())
		return err
	})
	if gone != nil {
		c.lose(err)
		<-gone
		return wire.Item{}, errLost
	}
	if err != nil {
		c.checkTaken()
		return wire.Item{}, err
	}
	if item.Partial != nil {
		c.reuse(item.Partial.Data)
	}
	c.unreserve() // a write to storage may take long, and other calls wait for memory
	return c.store(item)
}

// limit returns the time limit of a call of a function.
func limit(l jobs.Limits, function wire.Function) time.Duration {
	switch function {
	case wire.Plan:
		return l.Plan
	case wire.Finish:
		return l.Finish
	}
	return l.Merge
}

// lose tells the session that the call's code does not return.
func (c *call) lose(err error) {
	w := c.w
	w.cfg.Logger.Error("A job's code does not return", "job", c.opening.Job, "function", c.held.Call().Function.String(), "error", err)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.session.LoseCall(c.held, c.failure(err))
	c.returnTaken()
	if c.reserved != nil {
		c.reserved.Detach()
	}
	w.checkUsable()
	w.wakeLink()
}

// operand is an operand of a call.
type operand struct {
	data   []byte
	own    bool   // the call may change the operand's bytes, because nothing else uses them
	taken  bool   // the call has taken over the memory of a partial that the worker held
	intact bool   // the failed call has not changed the partial's memory
	done   func() // function to call after the last use of an operand that the worker holds; otherwise nil
}

// readOperands returns the bytes of the call's operands. readOperands fetches operands from other
// workers first, because the merge may take over the memory of partials on this worker, which would
// be lost if a fetch failed later.
func (c *call) readOperands() (list [][]byte, err error) {
	made := c.held.Call()
	c.operands = make([]operand, len(made.Operands))
	for _, own := range []bool{false, true} {
		for i, p := range made.Operands {
			if own != (p.Holder == c.w.cfg.ID) {
				continue
			}
			if err := c.readOperand(p, &c.operands[i]); err != nil {
				return nil, fmt.Errorf("operand of %v: %w", made.Function, err)
			}
		}
	}
	for _, o := range c.operands {
		list = append(list, o.data)
	}
	return list, nil
}

func (c *call) readOperand(p wire.Partial, o *operand) error {
	switch {
	case p.Holder != "":
		return c.fetch(p, o)
	case p.Blob == "":
		o.data = p.Data
		return p.Check()
	}
	o.own = true
	return c.storage.retry("read partial", func() (err error) {
		if o.data, err = c.w.store.Partial(c.ctx, c.opening.Job, p.Blob); err != nil && c.reserved != nil {
			c.reserved.Detach() // storage may be unavailable for a long time, and merges wait for reservations
		}
		return err
	}, func(err error) bool { return errors.Is(err, store.ErrUnavailable) })
}

// owns reports whether the call may change the bytes of operand i, because nothing else uses them.
func (c *call) owns(i int) bool { return i < len(c.operands) && c.operands[i].own }

// store moves the data of an item into storage if the data is too large for a report.
func (c *call) store(item wire.Item) (_ wire.Item, err error) {
	if c.attachment.Name() != "" {
		if err := c.storage.writeAttachment(c.attachment); err != nil {
			return wire.Item{}, err
		}
	}
	switch {
	case item.Partial != nil && len(item.Partial.Data) > session.MaxInline && c.w.mayHold():
		p := item.Partial
		result := heldPartial{wire.HeldNode{Node: p.Node, Size: uint64(len(p.Data)), Sum: p.Sum, Lacking: c.held.Call().Lacking}, p.Data}
		c.result = &result
		return wire.Item{}, nil
	case item.Partial != nil && len(item.Partial.Data) > session.MaxInline:
		p := *item.Partial
		c.blob, err = c.storage.writePartial(p.Node, p.Data)
		return wire.Item{Partial: &wire.Partial{Node: p.Node, Blob: c.blob, Size: uint64(len(p.Data)), MergedFor: p.MergedFor, Lacking: p.Lacking}}, err
	case item.Output != nil && len(item.Output.Data) > session.MaxInline:
		o := *item.Output
		c.blob, err = c.storage.writeOutput(o.Function, o.Data)
		return wire.Item{Output: &wire.Output{Function: o.Function, Partitions: o.Partitions, Blob: c.blob, Epoch: o.Epoch, Lacking: o.Lacking}}, err
	}
	return item, nil
}
