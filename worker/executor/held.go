package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
	"unsafe"

	"github.com/dustin/go-humanize"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/internal/bulk"
	"github.com/bellwether-compute/bellwether/worker/internal/holdings"
	"github.com/bellwether-compute/bellwether/worker/session"
)

// heldPartial is a large partial that the worker will hold.
type heldPartial struct {
	wire.HeldNode
	data []byte
}

func newHeldPartial(node jobs.Node, data []byte, lacking uint64) heldPartial {
	return heldPartial{wire.HeldNode{Node: node, Size: uint64(len(data)), Sum: wire.Checksum(data), Lacking: lacking}, data}
}

// mayHold reports whether the worker may hold the next large partial. If mayHold returns true, the
// caller must subtract the partial from w.undelivered when it passes the partial to the session or
// drops it.
func (w *Worker) mayHold() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.session.MayHold(w.undelivered) {
		return false
	}
	w.undelivered++
	return true
}

// delivered records that the session has n partials for which mayHold returned true, or that they
// were dropped.
func (w *Worker) delivered(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.undelivered -= n
}

// served gives other workers access to the partials that this worker holds.
type served struct{ w *Worker }

// ReadAt implements [bulk.Source].
func (s served) ReadAt(job string, node jobs.Node, to []byte, offset int64) error {
	return s.w.checkRead(job, node, s.w.held.ReadAt(job, node, to, offset))
}

// readHeld returns the bytes of a partial that this worker holds, as [holdings.Holdings.Read] does.
func (w *Worker) readHeld(job string, node jobs.Node) (data []byte, own bool, done func(), err error) {
	data, own, done, err = w.held.Read(job, node)
	return data, own, done, w.checkRead(job, node, err)
}

// checkRead handles the outcome of a read of a held partial. A held partial that cannot be read is
// lost, and its partitions run again.
func (w *Worker) checkRead(job string, node jobs.Node, err error) error {
	switch {
	case errors.Is(err, holdings.ErrRange): // the fetcher wants another partial of the node, which lacks other skipped partitions
		return bulk.ErrNotHeld
	case errors.Is(err, holdings.ErrNotHeld):
		w.mu.Lock()
		defer w.mu.Unlock()
		if !w.held.Has(job, node) {
			w.session.NodeLost(job, node)
			w.wakeLink()
		}
		return bulk.ErrNotHeld
	case err != nil:
		w.cfg.Logger.Error("A partial is lost, its partitions run again", "job", job, "node", node.String(), "error", err)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.session.NodeLost(job, node)
		w.held.Drop(job, node)
		w.wakeLink()
	}
	return err
}

// memoryChanged is called when memory has become short, or is no longer short. The caller holds the
// lock of the holdings, so memoryChanged only wakes the link, which calls checkMemory.
func (w *Worker) memoryChanged() {
	select {
	case w.memory <- struct{}{}:
	default:
	}
}

// checkMemory frees memory if memory is short: it drops durable partials, and if partials cannot be
// moved to files, it writes some of them to storage. If memory is still short, checkMemory makes
// slots wait. checkMemory is called when memory becomes short, and after each receipt while it is
// short.
func (w *Worker) checkMemory() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range w.held.List() {
		if w.held.Short() && w.session.NodeDurable(n.Job, n.Node) {
			w.session.NodeLost(n.Job, n.Node)
			w.held.Drop(n.Job, n.Node)
		}
	}
	if w.held.Stuck() {
		for _, n := range w.held.List() {
			if len(w.stores) == maxStoring {
				break
			}
			if held, ok := w.session.BeginStore(n.Job, n.Node); ok {
				w.storeHeld(held)
			}
		}
	}
	w.failUnstorable()
	w.pause()
	w.work.Broadcast()
}

// failUnstorable fails jobs whose held partials have filled the memory for some time, because the
// partials can neither be moved to files nor be written to storage. Otherwise the slots would wait
// forever. A merge may still free memory, so failUnstorable waits while the worker is busy, and for
// a while after that. The caller must hold w.mu.
func (w *Worker) failUnstorable() {
	busy := len(w.calls) > 0 || slices.ContainsFunc(w.slots, func(s *slot) bool { return s.task != nil })
	if busy || len(w.unstorable) == 0 || !w.held.Stuck() {
		w.stuckSince = time.Time{}
		return
	}
	if w.stuckSince.IsZero() {
		w.stuckSince = time.Now()
	}
	if time.Since(w.stuckSince) < w.timing.stuckFor {
		return
	}
	for _, n := range w.held.List() {
		held := heldKey{n.Job, n.Node}
		if err := w.unstorable[held]; err != nil {
			delete(w.unstorable, held)
			w.session.NodeFailed(n.Job, n.Node, fmt.Sprintf("memory for large partials is short (%s), "+
				"and node %v of %d bytes can neither be moved to the spill folder, see the worker's log, nor be written to storage: %v",
				humanize.IBytes(uint64(w.cfg.Memory)), n.Node, n.Size, err))
			w.wakeLink()
		}
	}
}

// heldKey identifies a held partial.
type heldKey struct {
	job  string
	node jobs.Node
}

// pause makes slots wait if memory is short. The caller must hold w.mu.
func (w *Worker) pause() {
	if w.held != nil {
		w.session.Pause(w.held.Short())
	}
}

// storing is the state of a write of a held partial to storage.
type storing struct {
	w       *Worker
	held    wire.HeldNode
	storage jobStorage
	cancel  context.CancelFunc
	ended   bool // the partial's job has ended; guarded by Worker.mu
}

// maxStoring is the maximum number of held partials that are being written to storage.
const maxStoring = 2

// storeHeld starts to write a held partial to storage. The caller must hold w.mu.
func (w *Worker) storeHeld(held wire.HeldNode) {
	s := &storing{w: w, held: held}
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(w.life)
	s.storage = jobStorage{w, held.Job, ctx}
	w.stores[s] = true
	w.goroutines.Go(s.run)
}

func (s *storing) run() {
	defer s.cancel()
	blob, err := s.write()
	w := s.w
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.stores, s)
	if err == nil {
		w.stored++
	}
	switch {
	case s.ended && blob != "":
		w.dropBlobs(s.held.Job, []string{blob})
	case s.ended:
	case err == nil:
		w.session.NodeStored(s.held, blob)
		w.cfg.Logger.Debug("Wrote a held partial to storage", "job", s.held.Job, "node", s.held.Node.String(), "bytes", s.held.Size)
	case errors.Is(err, store.ErrTooLarge):
		w.cfg.Logger.Error("A partial is too large for storage, it is lost if this worker ends", "job", s.held.Job, "node", s.held.Node.String(), "bytes", s.held.Size, "error", err)
		w.unstorable[heldKey{s.held.Job, s.held.Node}] = err
	default:
		w.session.NodeNotStored(s.held)
	}
	w.wakeLink()
}

// errUnread marks an error of reading a held partial.
var errUnread = errors.New("read held partial")

// write waits until fewer than maxStoring writes are running, and then writes the partial. write
// retries until the context is done, unless the partial cannot be read or is too large for storage.
func (s *storing) write() (blob string, err error) {
	select {
	case s.w.storeTurns <- struct{}{}:
		defer func() { <-s.w.storeTurns }()
	case <-s.storage.ctx.Done():
		return "", s.storage.ctx.Err()
	}
	err = s.storage.retry("write partial", func() error {
		name, err := s.attempt()
		blob = cmp.Or(name, blob) // an earlier attempt may have taken effect
		return err
	}, func(err error) bool { return !errors.Is(err, errUnread) && !errors.Is(err, store.ErrTooLarge) },
		"node", s.held.Node.String(), "bytes", s.held.Size)
	return blob, err
}

// attempt writes the partial once. The memory for the write is reserved only during the attempt,
// because storage may be unavailable for a long time, and merges wait for reservations.
func (s *storing) attempt() (blob string, err error) {
	size, inFile := s.w.held.Size(s.held.Job, s.held.Node)
	need := size // storage writes a copy of the partial with a header
	if inFile {
		need += size
	}
	reserved, err := s.w.held.Reserve(s.storage.ctx, need)
	if err != nil {
		return "", err
	}
	defer reserved.Release()
	data, _, done, err := s.w.readHeld(s.held.Job, s.held.Node)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errUnread, err)
	}
	defer done()
	return s.w.store.PutPartial(s.storage.ctx, s.held.Job, s.held.Node, data)
}

// endHeld drops the held partials of a job that has ended. The caller must hold w.mu.
func (w *Worker) endHeld(job string) {
	if w.held == nil {
		return
	}
	w.held.DropJob(job)
	w.expansions.drop(job)
	maps.DeleteFunc(w.unstorable, func(held heldKey, _ error) bool { return held.job == job })
	for s := range w.stores {
		if s.held.Job == job {
			s.ended = true
			s.cancel()
		}
	}
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
	w, job := c.w, c.opening.Job
	if w.held == nil {
		return &fetchError{p.Holder, errors.New("this worker fetches no operands")}
	}
	var err error
	switch {
	case p.Holder != w.cfg.ID:
		o.data, o.own = w.held.Buffer(int64(p.Size)), true
		err = bulk.Fetch(c.ctx, w.cfg.Bulk, w.cfg.Subjects.Bulk(p.Holder), job, p.Node, o.data, p.Sum)
	case c.mayTake():
		if o.data, o.taken = w.held.Take(job, p.Node); o.taken {
			o.own = true
			break
		}
		fallthrough
	default:
		o.data, o.own, o.done, err = w.readHeld(job, p.Node)
	}
	if err != nil {
		return &fetchError{p.Holder, err}
	}
	return nil
}

// mayTake reports whether the call may take over the memory of operands that this worker holds. The
// call may take over the memory if the session drops the operands when the call returns. A merge
// that has failed before works on copies, so that its failures lose operands at most once.
func (c *call) mayTake() bool {
	made := c.held.Call()
	return made.Function == wire.Merge && made.Lacking == 0 && made.Failed == 0
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
// call has changed are lost. The caller must hold w.mu.
func (c *call) returnTaken() {
	held, job := c.w.held, c.opening.Job
	for i, o := range c.operands {
		switch node := c.held.Call().Operands[i].Node; {
		case o.intact:
			held.GiveBack(job, node, o.data)
		case o.taken && held.DropTaken(job, node):
			c.w.session.NodeLost(job, node)
		}
	}
}

// reuse adds the memory of a merge's operands to the worker's spare memory, except memory that the
// merged partial uses.
func (c *call) reuse(merged []byte) {
	c.w.mu.Lock()
	t := c.w.tasks[c.opening.Job]
	reuses := t.reusesMemory()
	c.w.mu.Unlock()
	for _, o := range c.operands {
		if reuses && o.own && !overlap(o.data, merged) {
			c.w.held.Reuse(o.data)
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
	if c.w.held == nil {
		return nil
	}
	var need, largest uint64
	for _, o := range c.held.Call().Operands {
		if !inPlace {
			decoded := c.w.expansions.decoded(c.opening.Job, o.Size)
			need += decoded
			largest = max(largest, decoded)
		}
		if c.mayTake() && o.Holder == c.w.cfg.ID {
			if f, ok := c.w.held.Keep(c.opening.Job, o.Node); ok {
				c.keeps = append(c.keeps, f)
				continue
			}
		}
		need += o.Size
	}
	if need+largest > 0 {
		c.reserved, err = c.w.held.Reserve(c.ctx, int64(min(need+largest, 1<<62)))
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

var _ bulk.Source = served{}

// holdResult passes the result of a call to the session, and keeps the partial in the holdings. The
// caller must hold w.mu.
func (w *Worker) holdResult(held *session.HeldCall, result heldPartial) {
	if job := held.Opening().Job; w.session.ReturnHeld(held, result.HeldNode) {
		t := w.tasks[job]
		w.held.Put(job, result.Node, result.data, result.Sum, t.reusesMemory())
	}
}
