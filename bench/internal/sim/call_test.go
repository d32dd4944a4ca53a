package sim

import (
	"context"
	"errors"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/session"
)

// call is a running call of Plan, Merge or Finish, in place of the calls of package executor.
type call struct {
	worker *worker
	call   *session.HeldCall
	job    *job
	ctx    context.Context // context of the call, which is done when the job has ended or the worker stops
	cancel context.CancelFunc
	ended  bool // true if the job or the round has ended

	jobEnded bool // true if the job has ended
	blob     string
	in       string   // ID of the job or of the round that has the blob
	found    []string // further blobs that the call may have written
	held     []byte   // result of the call if the worker holds it because of its size
}

func (w *worker) beginCalls() {
	for !w.left {
		held := w.session.TakeCall()
		if held == nil {
			return
		}
		c := &call{worker: w, call: held, job: w.process.sim.job(held.Opening().Job)}
		c.ctx, c.cancel = context.WithCancel(context.Background())
		w.calls = append(w.calls, c)
		var item wire.Item
		var err error
		w.process.spawn(func() { item, err = c.make() }, func() { c.end(item, err) })
	}
}

func (c *call) make() (item wire.Item, err error) {
	p := c.worker.process
	s := p.sim
	made := c.call.Call()
	s.cover("seen: call of " + made.Function.String())
	if made.Function == wire.Merge && made.Lacking != 0 {
		s.cover("seen: merge without skipped partitions")
	}
	operands, err := c.operands()
	if err != nil {
		return item, err
	}
	p.pause(c.ctx, s.rng.between(0, 20*time.Millisecond))
	if c.ctx.Err() != nil {
		return item, c.ctx.Err()
	}
	in, err := c.round()
	if err != nil {
		return item, err
	}
	deed := s.merges(func() {
		item, _, err = session.MakeCall(c.ctx, c.job.definition(), c.call.Opening().Params, made, operands, c.call.Epoch(), in)
	})
	if made.Function != wire.Merge {
		deed = c.job.misbehaves(made.Function)
	}
	switch {
	case deed == kills:
		p.dies()
	case deed == hangs:
		c.hang()
		return item, c.ctx.Err()
	case err != nil:
		return item, err
	case deed == lies:
		item.Output.Sum++
	}
	if made.Function == wire.Plan && c.call.Opening().Keep > 0 {
		if err := c.find(item.Output); err != nil {
			return item, err
		}
	}
	return c.store(item)
}

// hang lets a call fail after callLimit, and end much later.
func (c *call) hang() {
	w := c.worker
	p := w.process
	failure := c.failure(errHung)
	switch within := c.call.Call().Within; {
	case within > 0:
		p.sim.cover("seen: call beside the call slots of a worker")
		p.pause(c.ctx, within)
		failure.Slow = true
	case c.job.rogue.stalls:
		for c.ctx.Err() == nil {
			p.pause(c.ctx, time.Second)
		}
	default:
		p.pause(c.ctx, callLimit)
	}
	before, _ := w.session.Kept()
	w.session.LoseCall(c.call, failure)
	if after, _ := w.session.Kept(); after > before {
		p.sim.checks.delivered(p, c.job, []wire.Item{{Failure: &failure}})
	}
	w.called()
	if slots, calls := w.session.Usable(); slots == 0 || calls == 0 {
		p.sim.cover("seen: worker without usable slots")
		w.drain()
		p.sim.after(p.sim.rng.between(0, 3*time.Second), func() { p.sim.join() }) // the supervisor starts a new process
	}
	p.pause(context.Background(), p.sim.rng.between(0, 40*time.Second))
}

var errHung = errors.New("the call does not return")

func (c *call) failure(err error) wire.Failure {
	made := c.call.Call()
	failure := wire.Failure{Error: err.Error(), Permanent: jobs.IsPermanent(err), Function: made.Function, Node: made.Node}
	var fetching *fetchError
	if errors.As(err, &fetching) {
		failure.Holder = fetching.holder
	}
	return failure
}

func (c *call) operands() (list []engine.Operand, err error) {
	p := c.worker.process
	for _, operand := range c.call.Call().Operands {
		data := operand.Data
		if operand.Holder != "" {
			if data, err = c.fetch(operand); err != nil {
				return nil, &fetchError{operand.Holder, err}
			}
		}
		for operand.Blob != "" {
			if data, err = p.store.Partial(c.ctx, c.job.spec.ID, operand.Blob); err == nil {
				p.sim.checks.operandSize(p, c.job, operand, len(data))
				break
			}
			if c.ctx.Err() != nil || !errors.Is(err, store.ErrUnavailable) {
				return nil, err
			}
			p.pause(c.ctx, 100*time.Millisecond)
		}
		list = append(list, engine.Operand{Data: data})
	}
	return list, nil
}

// store writes data that are too large for a report to storage, and names the blob in the item. A worker that
// may hold partials keeps a large partial in memory instead.
func (c *call) store(item wire.Item) (wire.Item, error) {
	opening := c.call.Opening()
	mayReport := opening.MayReport
	switch {
	case item.Partial != nil && !mayReport(len(item.Partial.Data)) && c.worker.session.MayHold(0):
		c.held = item.Partial.Data
		return wire.Item{}, nil
	case item.Partial != nil && !mayReport(len(item.Partial.Data)):
		partial := wire.Partial{Node: item.Partial.Node, Size: uint64(len(item.Partial.Data)), MergedFor: item.Partial.MergedFor, Lacking: item.Partial.Lacking}
		err := c.write(c.job.spec.ID, partial.Node, item.Partial.Data)
		partial.Blob = c.blob
		return wire.Item{Partial: &partial}, err
	case item.Output != nil && len(item.Output.Data) > wire.MaxInline:
		output := *item.Output
		id := c.job.spec.ID
		if output.Continues {
			id = engine.RoundID(c.job.origin().spec.ID, c.job.round.number+1)
		}
		err := c.write(id, wire.OutputNode(output.Function), output.Data)
		output.Data, output.Sum, output.Blob = nil, 0, c.blob
		return wire.Item{Output: &output}, err
	}
	return item, nil
}

// write writes data to storage under the ID of a job or of a round.
func (c *call) write(id string, node engine.Node, data []byte) (err error) {
	p := c.worker.process
	for {
		c.blob, err = p.store.PutPartial(c.ctx, id, node, data)
		c.in = id
		if err == nil || c.ctx.Err() != nil {
			return err
		}
		p.pause(c.ctx, 100*time.Millisecond)
	}
}

func (c *call) end(item wire.Item, err error) {
	w := c.worker
	for i, o := range w.calls {
		if o == c {
			w.calls = append(w.calls[:i], w.calls[i+1:]...)
			break
		}
	}
	if c.ended {
		// If only the round has ended, a blob of another round is the state of the next one, which runs.
		if c.blob != "" && (c.in == c.job.spec.ID || c.jobEnded) {
			w.dropPartials(c.in, []string{c.blob})
		}
		w.dropPartials(c.job.spec.ID, c.found)
	}
	switch {
	case c.ctx.Err() != nil:
		w.session.AbandonCall(c.call)
	case err == nil && c.held != nil:
		made, id := c.call.Call(), c.job.spec.ID
		if w.session.ReturnHeld(c.call, described(made.Node, c.held, made.Lacking)) {
			w.holds(id, made.Node, c.held, true, made.Lacking != 0)
		}
	default:
		if err != nil {
			failure := c.failure(err)
			item = wire.Item{Failure: &failure}
		}
		blobs := c.found
		if c.blob != "" {
			blobs = append(blobs, c.blob)
		}
		if w.session.Return(c.call, item, blobs) {
			w.process.sim.checks.delivered(w.process, c.job, []wire.Item{item})
		}
	}
	w.beginCalls()
	w.called()
}
