package executor

import (
	"context"
	"errors"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/internal/bulk"
	"github.com/bellwether-compute/bellwether/worker/internal/holdings"
	"github.com/bellwether-compute/bellwether/worker/session"
)

// heldPartial is a large partial that the worker is going to hold.
type heldPartial struct {
	wire.HeldNode
	data []byte
}

func newHeldPartial(node jobs.Node, data []byte, lacking uint64) heldPartial {
	return heldPartial{wire.HeldNode{Node: node, Size: uint64(len(data)), Sum: wire.Checksum(data), Lacking: lacking}, data}
}

// mayHold reports whether the worker may hold the next large partial.
func (w *Worker) mayHold() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.session.MayHold()
}

// served gives other workers the partials that this one holds.
type served struct{ w *Worker }

// ReadAt implements [bulk.Source].
func (s served) ReadAt(job string, node jobs.Node, offset int64, n int) ([]byte, error) {
	data, err := s.w.held.ReadAt(job, node, offset, n)
	return data, s.w.checkRead(job, node, err)
}

// readHeld returns the bytes of a partial that this worker holds.
func (w *Worker) readHeld(job string, node jobs.Node) ([]byte, error) {
	data, err := w.held.Read(job, node)
	return data, w.checkRead(job, node, err)
}

// checkRead handles the outcome of a read of a held partial. A partial that cannot be read is
// lost, and its partitions run again.
func (w *Worker) checkRead(job string, node jobs.Node, err error) error {
	switch {
	case errors.Is(err, holdings.ErrNotHeld):
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

// memoryChanged is called when memory has become short, or is no longer. It is called with
// the lock of the holdings, so the link does the rest.
func (w *Worker) memoryChanged() {
	select {
	case w.memory <- struct{}{}:
	default:
	}
}

// checkMemory makes slots wait while memory is short, and then drops partials that are
// durable.
func (w *Worker) checkMemory() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range w.held.InMemory() {
		if w.held.Short() && w.session.NodeDurable(n.Job, n.Node) {
			w.session.NodeLost(n.Job, n.Node)
			w.held.Drop(n.Job, n.Node)
		}
	}
	w.session.Pause(w.held.Short())
	w.work.Broadcast()
}

// storing is a write of a held partial to storage.
type storing struct {
	w       *Worker
	job     string
	node    jobs.Node
	storage jobStorage
	cancel  context.CancelFunc
	ended   bool // the job has ended; guarded by Worker.mu
}

// maxStoring is how many held partials are written at a time.
const maxStoring = 2

// storeHeld begins to write a held partial to storage. The caller must hold w.mu.
func (w *Worker) storeHeld(job string, node jobs.Node) {
	s := &storing{w: w, job: job, node: node}
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(w.life)
	s.storage = jobStorage{w, job, ctx}
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
	switch {
	case s.ended && blob != "":
		w.goroutines.Go(func() { s.storage.dropPartial(blob) })
	case s.ended:
	case err == nil:
		w.session.NodeStored(s.job, s.node, blob)
	case errors.Is(err, store.ErrTooLarge):
		w.cfg.Logger.Error("A partial is too large for storage, it is lost if this worker ends", "job", s.job, "node", s.node.String(), "error", err)
	default:
		w.session.NodeNotStored(s.job, s.node)
	}
	w.wakeLink()
}

// write waits for its turn and writes the partial.
func (s *storing) write() (blob string, err error) {
	select {
	case s.w.storeTurns <- struct{}{}:
		defer func() { <-s.w.storeTurns }()
	case <-s.storage.ctx.Done():
		return "", s.storage.ctx.Err()
	}
	data, err := s.w.readHeld(s.job, s.node)
	if err != nil {
		return "", err
	}
	return s.storage.writePartial(s.node, data)
}

// endHeld drops what the worker holds of a job that has ended. The caller must hold w.mu.
func (w *Worker) endHeld(job string) {
	if w.held == nil {
		return
	}
	w.held.DropJob(job)
	for s := range w.stores {
		if s.job == job {
			s.ended = true
			s.cancel()
		}
	}
}

// fetchError says from which worker an operand could not be fetched.
type fetchError struct {
	holder string
	err    error
}

func (e *fetchError) Error() string { return e.err.Error() }
func (e *fetchError) Unwrap() error { return e.err }

// fetch returns the bytes of an operand that a worker holds: this one or another.
func (c *call) fetch(o wire.Partial) (data []byte, err error) {
	w := c.w
	if w.held == nil {
		return nil, &fetchError{o.Holder, errors.New("this worker fetches no operands")}
	}
	if o.Holder == w.cfg.ID {
		data, err = w.readHeld(c.opening.Job, o.Node)
	} else {
		data, err = bulk.Fetch(c.ctx, w.cfg.Bulk, w.cfg.Subjects.Bulk(o.Holder), c.opening.Job, o.Node, o.Size, o.Sum)
	}
	if err != nil {
		return nil, &fetchError{o.Holder, err}
	}
	return data, nil
}

// reserve waits until there is memory for the operands that the call fetches, and for its
// result.
func (c *call) reserve() (release func(), err error) {
	if c.w.held == nil {
		return func() {}, nil
	}
	var need, largest uint64
	for _, o := range c.held.Call().Operands {
		need += o.Size // decoded
		if o.Holder != c.w.cfg.ID {
			need += o.Size // fetched
		}
		largest = max(largest, o.Size)
	}
	if largest == 0 {
		return func() {}, nil
	}
	return c.w.held.Reserve(c.ctx, int64(min(need+largest, 1<<62)))
}

var _ bulk.Source = served{}

// holdResult tells the session of the result of a call, and keeps its partial. The caller must hold
// w.mu.
func (w *Worker) holdResult(held *session.HeldCall, result heldPartial) {
	if job := held.Opening().Job; w.session.ReturnHeld(held, result.HeldNode) {
		w.held.Put(job, result.Node, result.data)
	}
}
