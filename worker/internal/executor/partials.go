package executor

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/internal/bulk"
	"github.com/bellwether-compute/bellwether/worker/internal/holdings"
)

// partials are the worker's large partials, and what is known about their sizes. The fields from stores
// on are guarded by core.mu.
type partials struct {
	*core
	held       *holdings.Holdings // nil if the worker holds no partials
	sizes      sizes              // partial sizes of recent jobs
	expansions expansions         // sizes of decoded partials
	changed    chan struct{}      // wakes the link to check the memory; the buffer has one element
	turns      chan struct{}      // semaphore for writes to storage

	stores      map[*storing]bool
	unstorable  map[heldKey]error // held partials that are too large for storage
	stored      uint64            // number of held partials that were written to storage
	stuckSince  time.Time         // time since when memory is full of partials that cannot be moved; zero if it is not
	undelivered int               // large partials that the worker will hold and that the session does not have yet
}

func newPartials(c *core) (*partials, error) {
	p := &partials{
		core: c, changed: make(chan struct{}, 1), turns: make(chan struct{}, maxStoring),
		stores: make(map[*storing]bool), unstorable: make(map[heldKey]error),
	}
	if c.cfg.Bulk == nil {
		return p, nil
	}
	var err error
	p.held, err = holdings.New(holdings.Config{Limit: c.cfg.Memory, Dir: c.cfg.SpillDir, Logger: c.cfg.Logger, Changed: p.memoryChanged})
	return p, err
}

// heldKey identifies a held partial.
type heldKey struct {
	job  string
	node engine.Node
}

// heldPartial is a large partial that the worker will hold: in memory, or in a file if spool is not nil.
type heldPartial struct {
	wire.HeldNode
	data  []byte
	spool *holdings.Spool
}

// put adds the partial to the held partials. The caller sets reuse if nothing else refers to the memory of the partial.
func (h *heldPartial) put(held *holdings.Holdings, job string, reuse bool) {
	if h.spool != nil {
		held.PutSpool(job, h.Node, h.spool)
	} else {
		held.Put(job, h.Node, h.data, h.Sum, reuse)
	}
}

// drop frees a partial that the worker will not hold. It does nothing without a partial.
func (h *heldPartial) drop() {
	if h != nil && h.spool != nil {
		_ = h.spool.Close() // nobody reads the file
	}
}

// mayHold reports whether the worker may hold the next large partial. If mayHold returns true, the
// caller must call delivered when it passes the partial to the session or drops it.
func (p *partials) mayHold() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.session.MayHold(p.undelivered) {
		return false
	}
	p.undelivered++
	return true
}

// delivered records that the session has n partials for which mayHold returned true, or that they
// were dropped.
func (p *partials) delivered(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.undelivered -= n
}

var _ bulk.Source = served{}

// served gives other workers access to the partials that this worker holds, and to the states of rounds.
type served struct {
	p     *partials
	tasks *tasks
}

// ReadAt implements [bulk.Source].
func (s served) ReadAt(job string, node engine.Node, to []byte, offset int64) error {
	if node == wire.OutputNode(wire.Finish) {
		return s.tasks.readState(job, to, offset)
	}
	return s.p.checkRead(job, node, s.p.held.ReadAt(job, node, to, offset))
}

// readHeld returns the bytes of a partial that this worker holds, as [holdings.Holdings.Read] does.
func (p *partials) readHeld(job string, node engine.Node) (data []byte, own bool, done func(), err error) {
	data, own, done, err = p.held.Read(job, node)
	return data, own, done, p.checkRead(job, node, err)
}

// checkRead handles the outcome of a read of a held partial. A held partial that cannot be read is
// lost, and its partitions run again.
func (p *partials) checkRead(job string, node engine.Node, err error) error {
	switch {
	case errors.Is(err, holdings.ErrRange): // the fetcher wants another partial of the node, which lacks other skipped partitions
		return bulk.ErrNotHeld
	case errors.Is(err, holdings.ErrNotHeld):
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.held.Has(job, node) {
			p.session.NodeLost(job, node)
			p.wakeLink()
		}
		return bulk.ErrNotHeld
	case err != nil:
		p.cfg.Logger.Error("A partial is lost, its partitions run again", "job", job, "node", node.String(), "error", err)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.session.NodeLost(job, node)
		p.held.Drop(job, node)
		p.wakeLink()
	}
	return err
}

// memoryChanged is called when memory has become short, or is no longer short. The caller holds the
// lock of the holdings, so memoryChanged only wakes the link, which calls Worker.checkMemory.
func (p *partials) memoryChanged() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// free frees memory if memory is short: it drops durable partials, and if partials cannot be moved to
// files, it writes some of them to storage. If memory is still short, free makes slots wait. The parameter
// busy says whether the worker runs a span or a call. The caller must hold core.mu.
func (p *partials) free(busy bool) {
	for _, n := range p.held.List() {
		if p.held.Short() && p.session.NodeDurable(n.Job, n.Node) {
			p.session.NodeLost(n.Job, n.Node)
			p.held.Drop(n.Job, n.Node)
		}
	}
	if p.held.Stuck() {
		for _, n := range p.held.List() {
			if len(p.stores) == maxStoring {
				break
			}
			if held, ok := p.session.BeginStore(n.Job, n.Node); ok {
				p.startStoring(held)
			}
		}
	}
	p.failUnstorable(busy)
	p.pause()
}

// failUnstorable fails jobs whose held partials have filled the memory for some time, because the
// partials can neither be moved to files nor be written to storage. Otherwise the slots would wait
// forever. A merge may still free memory, so failUnstorable waits while the worker is busy, and for
// a while after that. The caller must hold core.mu.
func (p *partials) failUnstorable(busy bool) {
	if busy || len(p.unstorable) == 0 || !p.held.Stuck() {
		p.stuckSince = time.Time{}
		return
	}
	if p.stuckSince.IsZero() {
		p.stuckSince = time.Now()
	}
	if time.Since(p.stuckSince) < p.timing.stuckFor {
		return
	}
	for _, n := range p.held.List() {
		held := heldKey{n.Job, n.Node}
		if err := p.unstorable[held]; err != nil {
			delete(p.unstorable, held)
			p.session.NodeFailed(n.Job, n.Node, fmt.Sprintf("memory for large partials is short (%s), "+
				"and node %v of %d bytes can neither be moved to the spill folder, see the worker's log, nor be written to storage: %v",
				humanize.IBytes(uint64(p.cfg.Memory)), n.Node, n.Size, err))
			p.wakeLink()
		}
	}
}

// pause makes slots wait if memory is short. The caller must hold core.mu.
func (p *partials) pause() {
	if p.held != nil {
		p.session.Pause(p.held.Short())
	}
}

// endJob drops the held partials of a job that has ended. The caller must hold core.mu.
func (p *partials) endJob(job string) {
	if p.held == nil {
		return
	}
	p.held.DropJob(job)
	p.expansions.drop(job)
	maps.DeleteFunc(p.unstorable, func(held heldKey, _ error) bool { return held.job == job })
	for s := range p.stores {
		if s.held.Job == job {
			s.ended = true
			s.cancel()
		}
	}
}
