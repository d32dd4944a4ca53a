package executor

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// operand is an operand of a call.
type operand struct {
	data   []byte
	own    bool   // the call may change the operand's bytes, because nothing else uses them
	taken  bool   // the call has taken over the memory of a partial that the worker held
	intact bool   // the failed call has not changed the partial's memory
	done   func() // function to call after the last use of an operand that the worker holds; otherwise nil
}

// readOperands returns the bytes of the call's operands. It fetches operands from other workers
// first, because the merge may take over the memory of partials on this worker, which would be lost
// if a fetch failed later.
func (c *call) readOperands() (list []engine.Operand, err error) {
	made := c.held.Call()
	c.operands = make([]operand, len(made.Operands))
	for _, own := range []bool{false, true} {
		for i, p := range made.Operands {
			if own != (p.Holder == c.cfg.ID) {
				continue
			}
			if err := c.readOperand(p, &c.operands[i]); err != nil {
				return nil, fmt.Errorf("operand of %v: %w", made.Function, err)
			}
		}
	}
	for _, o := range c.operands {
		list = append(list, engine.Operand{Data: o.data, Own: o.own})
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
		if o.data, err = c.store.Partial(c.ctx, c.opening.Job, p.Blob); err != nil && c.reserved != nil {
			c.reserved.Detach() // storage may be unavailable for a long time, and merges wait for reservations
		}
		return err
	}, func(err error) bool { return errors.Is(err, store.ErrUnavailable) })
}

// fetchError is the error for an operand that could not be fetched from its holder.
type fetchError struct {
	holder string
	err    error
}

func (e *fetchError) Error() string { return e.err.Error() }
func (e *fetchError) Unwrap() error { return e.err }

// fetch reads an operand that this or another worker holds. The merge may take over the memory of
// an operand on this worker, because the session drops the operand when the merge returns.
func (c *call) fetch(p wire.Partial, o *operand) error {
	job := c.opening.Job
	if c.partials.held == nil {
		return &fetchError{p.Holder, errors.New("this worker fetches no operands")}
	}
	var err error
	switch {
	case p.Holder != c.cfg.ID:
		o.data, o.own = c.partials.held.Buffer(int64(p.Size)), true
		err = c.bulk.Fetch(c.ctx, c.cfg.Subjects.Bulk(p.Holder), job, p.Node, o.data, p.Sum)
	case c.mayTake():
		if o.data, o.taken = c.partials.held.Take(job, p.Node); o.taken {
			o.own = true
			break
		}
		fallthrough
	default:
		o.data, o.own, o.done, err = c.partials.readHeld(job, p.Node)
	}
	if err != nil {
		return &fetchError{p.Holder, err}
	}
	return nil
}

// mayTake reports whether the call may take over the memory of operands that this worker holds. The
// call may take over the memory if the session drops the operands when the call returns. A merge
// that has failed before works on copies, so that its failures lose operands at most once. So does a
// merge that may soon be cancelled.
func (c *call) mayTake() bool {
	made := c.held.Call()
	return made.Function == wire.Merge && made.Lacking == 0 && made.Failed == 0 && made.Within == 0
}

// checkTaken determines, after a failed call, which of the operands that the call has taken over
// are unchanged.
func (c *call) checkTaken() {
	for i := range c.operands {
		o := &c.operands[i]
		o.intact = o.taken && wire.Checksum(o.data) == c.held.Call().Operands[i].Sum
	}
}

// releaseOperands tells the holdings that the call has stopped reading the operands that this
// worker holds.
func (c *call) releaseOperands() {
	for _, o := range c.operands {
		if o.done != nil {
			o.done()
		}
	}
}

// returnTaken handles the held partials that a call has taken over without merging them into a new
// held partial. The worker holds a partial again if the call has not changed it. Partials that the
// call has changed are lost. The caller must hold core.mu.
func (c *call) returnTaken() {
	held, job := c.partials.held, c.opening.Job
	for i, o := range c.operands {
		switch node := c.held.Call().Operands[i].Node; {
		case o.intact:
			held.GiveBack(job, node, o.data)
		case o.taken && held.DropTaken(job, node):
			c.session.NodeLost(job, node)
		}
	}
}

// reuse adds the memory of a merge's operands to the pool, except memory that the
// merged partial uses.
func (c *call) reuse(merged []byte) {
	c.mu.Lock()
	t := c.calls.tasks.byJob[c.opening.Job]
	reuses := t.reusesMemory()
	c.mu.Unlock()
	for _, o := range c.operands {
		if reuses && o.own && !overlap(o.data, merged) {
			c.partials.held.Reuse(o.data)
		}
	}
}

// overlap reports whether two slices share memory.
func overlap(a, b []byte) bool {
	x, y := uintptr(unsafe.Pointer(unsafe.SliceData(a))), uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return x < y+uintptr(cap(b)) && y < x+uintptr(cap(a))
}

// reserve waits until there is memory for the call's operands and result. If the job merges
// partials in place, the result needs no additional memory. Operands that the call may take over
// stay in memory until unreserve is called.
func (c *call) reserve(inPlace bool) (err error) {
	if c.partials.held == nil {
		return nil
	}
	var need, largest uint64
	for _, o := range c.held.Call().Operands {
		if !inPlace {
			decoded := c.partials.expansions.decoded(c.opening.Job, o.Size)
			need += decoded
			largest = max(largest, decoded)
		}
		if c.mayTake() && o.Holder == c.cfg.ID {
			if f, ok := c.partials.held.Keep(c.opening.Job, o.Node); ok {
				c.keeps = append(c.keeps, f)
				continue
			}
		}
		need += o.Size
	}
	if need+largest > 0 {
		c.reserved, err = c.partials.held.Reserve(c.ctx, int64(min(need+largest, 1<<62)))
	}
	return err
}

// unreserve ends the reservation of memory. Further calls of unreserve do nothing.
func (c *call) unreserve() {
	for _, release := range c.keeps {
		release()
	}
	if c.reserved != nil {
		c.reserved.Release()
	}
}
