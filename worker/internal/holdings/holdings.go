// Package holdings keeps the large partials of a worker: in memory up to a limit, and above the
// limit in files in a spill folder.
//
//	          Put                     more than the limit
//	slots ─────────▶ in memory ──────────────────────────▶ spilling ─▶ spilled
//	calls             │  │  ▲                               │           │
//	                  │  │  └────── the folder is full ─────┘           │
//	             Take │  │                Drop                          │
//	                  ▼  ▼                                              ▼
//	         a merge ──▶ gone ◀──────────────────────────────────── file removed
//	                      │
//	                      └──▶ pooled memory ──▶ Buffer
//
// The memory limit applies to the sum of five amounts: the held partials, the merge stacks of slots
// (Use), the operands of merges (Reserve), the large states of rounds (UseStates), and one more partial, so that a slot
// can begin. A partial that is dropped or spilled while it is read counts until the last read ends. Work that would exceed
// the limit waits. A slot may always begin if nothing but states is in memory, and one merge may run when no more
// partials can be moved to files, so that a worker with little memory still makes progress. If the merge would exceed
// the limit by more than a quarter, it runs when the slots have handed over their partials too. The
// memory limit is therefore exceeded by at most one partial and the states if partials are decoded in place.
//
// A merge takes over the memory of its operands on this worker, so these are not spilled from the
// moment that the merge waits for memory or for other operands (Keep): it would have to read them back
// into new memory.
//
// Caches of jobs with rounds use what partials leave of the limit, and at most three quarters of it. No work waits for
// their memory, because they drop what they keep as soon as a partial needs it.
//
// The memory of a dropped partial is kept for later partials of about the same size, if the job
// allows the reuse. Pooled memory is used before new memory is allocated, because the first write to
// new memory may take ten times as long as the computation of a partial. Pooled memory takes at most
// half of the limit, or one partial if that is more. It is freed when memory is short, and when it was not used for [keepPooled]. Until
// then the next job can use it.
//
// # What can fail
//
//   - The folder is full or not writable: the partial stays in memory, a log line names job, node
//     and size, and the write is retried after 10 s. Until the retry succeeds, [Holdings.Stuck]
//     returns true, so that the caller writes partials to storage. [Holdings.Short] returns true
//     until memory is free again, so slots wait.
//   - A file cannot be read back, or the bytes are damaged: the partial is lost, and Read returns
//     the error.
//   - The process is killed: the operating system frees the files, because their names were removed
//     when they were created.
package holdings

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/engine/caches"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

var (
	// ErrNotHeld means that the holdings do not contain the partial.
	ErrNotHeld = errors.New("the partial is not held")
	// ErrRange means that a read goes beyond the partial.
	ErrRange = errors.New("the partial is shorter")
)

// Config is the configuration of [Holdings].
type Config struct {
	// Limit is the maximum number of bytes of partials, operands and results of merges in memory.
	Limit int64
	// Dir is the spill folder; if it is empty, partials are not moved to files.
	Dir    string
	Logger *slog.Logger
	// Changed, if not nil, is called when Short has changed; it must not block.
	Changed func()
}

// Holdings are the large partials of a worker.
type Holdings struct {
	cfg Config

	mu       sync.Mutex
	freed    *sync.Cond // signalled when memory was freed or the holdings were closed
	parts    map[key]*part
	order    []*part // partials in memory, oldest first
	inMemory int64
	reserved int64
	reserves int            // number of reservations for which others wait
	waiting  []*Reservation // reservations that are not granted yet, in order
	stacks   int64
	states   int64
	largest  map[string]int64 // size in bytes of the largest partial so far, or of the expected partials, by job
	pool     pool
	caches   *caches.Memory // memory of caches of jobs, which partials take back
	unused   *time.Timer    // calls freeUnused while there is pooled memory
	retryAt  time.Time      // time of the next attempt after a failed write to the spill folder
	retry    *time.Timer    // calls retrySpill at retryAt
	closed   bool
	spills   sync.WaitGroup
	spilling bool
	moved    uint64 // number of partials that were moved to files
}

type key struct {
	job  string
	node engine.Node
}

// part is a held partial. part.data is nil after the partial was spilled or taken.
type part struct {
	key
	data     []byte
	file     *os.File
	size     int64
	sum      uint32 // CRC-32C of the partial
	readers  int    // number of unfinished reads of the partial's data, including that of a spill
	keeps    int    // number of calls of Keep that were not released
	reuse    bool   // the memory of data may be used for other partials
	taken    bool
	dropped  bool
	spilling bool // a spill reads the partial's data now
}

// New returns empty holdings.
func New(cfg Config) (*Holdings, error) {
	if cfg.Dir != "" {
		f, err := NewFile(cfg.Dir)
		if err != nil {
			return nil, fmt.Errorf("use spill folder: %w", err)
		}
		_ = f.Close() // nothing was written to the file
	}
	if cfg.Changed == nil {
		cfg.Changed = func() {}
	}
	h := &Holdings{cfg: cfg, parts: map[key]*part{}, largest: map[string]int64{}, pool: pool{limit: cfg.Limit / 2}, caches: caches.New(caches.Share(cfg.Limit))}
	h.freed = sync.NewCond(&h.mu)
	h.unused = time.AfterFunc(keepPooled, h.freeUnused)
	h.retry = time.AfterFunc(0, h.retrySpill) // nothing is held yet, so this call does nothing
	return h, nil
}

// Put adds a partial. The caller must not change data after Put. If the partial is already held,
// Put keeps one of the two equal copies. If another partial of the node is held, which lacks other
// skipped partitions, Put replaces it. The caller sets reuse if nothing else refers to the memory
// of data, which then becomes pooled memory when the partial is dropped. The parameter sum is the
// CRC-32C of data.
func (h *Holdings) Put(job string, node engine.Node, data []byte, sum uint32, reuse bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := &part{key: key{job, node}, data: data, size: int64(len(data)), sum: sum, reuse: reuse}
	if !h.replace(p) {
		return
	}
	h.order = append(h.order, p)
	h.largest[job] = max(h.largest[job], p.size)
	h.change(&h.inMemory, p.size)
}

// replace adds a partial to the list, in place of another one of the node. It returns false if the partial is not needed.
func (h *Holdings) replace(p *part) bool {
	old := h.parts[p.key]
	if h.closed || old != nil && !old.taken && old.sum == p.sum {
		return false
	}
	if old != nil {
		h.drop(old)
	}
	h.parts[p.key] = p
	return true
}

// Take gives the bytes of a partial to the caller, who may change them. It returns false unless the
// partial is in memory and nobody is reading it. A taken partial can no longer be read, but counts
// against the limit until it is dropped or returned.
func (h *Holdings) Take(job string, node engine.Node) (data []byte, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.parts[key{job, node}]
	if p == nil || p.data == nil || p.readers > 0 {
		return nil, false
	}
	data, p.data, p.taken = p.data, nil, true
	h.order = slices.DeleteFunc(h.order, func(o *part) bool { return o == p })
	return data, true
}

// GiveBack returns a taken partial whose bytes are unchanged to the holdings. The returned partial
// can be read again, unless it was dropped or replaced by Put.
func (h *Holdings) GiveBack(job string, node engine.Node, data []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := h.parts[key{job, node}]; p != nil && p.taken {
		p.data, p.taken = data, false
		h.order = append(h.order, p)
		h.change(&h.inMemory, 0) // start to move partials to files if memory is short
	}
}

// Has reports whether a partial is held. A taken partial counts as held until it is dropped.
func (h *Holdings) Has(job string, node engine.Node) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.parts[key{job, node}] != nil
}

// Keep keeps the bytes of a partial in memory until release is called, so that Take does not find
// them in a file. It returns false if the bytes are not in memory. If the partial is being moved to
// a file, Keep waits until the move has stopped.
func (h *Holdings) Keep(job string, node engine.Node) (release func(), ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.parts[key{job, node}]
	if p == nil || p.data == nil {
		return nil, false
	}
	p.keeps++
	for p.spilling {
		h.freed.Wait()
	}
	return sync.OnceFunc(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		p.keeps--
		h.startSpill()
	}), true
}

// Size returns the size in bytes of a partial, and reports whether the partial is in a file. It
// returns 0 if the partial is not held.
func (h *Holdings) Size(job string, node engine.Node) (bytes int64, inFile bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.parts[key{job, node}]
	if p == nil {
		return 0, false
	}
	return p.size, p.file != nil
}

// DropTaken removes a taken partial. It returns false if the partial is not held, or if Put has
// replaced it after the Take.
func (h *Holdings) DropTaken(job string, node engine.Node) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.parts[key{job, node}]
	if p == nil || !p.taken {
		return false
	}
	h.drop(p)
	return true
}

func (h *Holdings) Drop(job string, node engine.Node) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := h.parts[key{job, node}]; p != nil {
		h.drop(p)
	}
}

// DropJob removes all partials of a job.
func (h *Holdings) DropJob(job string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for k, p := range h.parts {
		if k.job == job {
			h.drop(p)
		}
	}
	before := h.short()
	delete(h.largest, job)
	h.leaveToCaches()
	if h.short() != before {
		h.cfg.Changed()
	}
}

// freeUnused frees the pooled memory that was not used for some time.
func (h *Holdings) freeUnused() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if next, remain := h.pool.expire(time.Now()); remain {
		h.unused.Reset(next)
	}
	h.leaveToCaches()
}

func (h *Holdings) drop(p *part) {
	delete(h.parts, p.key)
	p.dropped = true
	if p.file != nil {
		h.discard(p.file)
	}
	h.forget(p)
}

// discard closes a file in another goroutine, because closing a large file may take seconds, and callers hold
// locks.
func (h *Holdings) discard(f *os.File) {
	h.spills.Go(func() { _ = f.Close() }) // errors of Close do not matter, because nobody reads the file again
}

// forget removes a partial from memory, but not from the list. If the partial's data are being
// read, they count against the limit until the last read ends.
func (h *Holdings) forget(p *part) {
	switch i := slices.Index(h.order, p); {
	case i >= 0:
		h.order = slices.Delete(h.order, i, i+1)
		data := p.data
		p.data = nil
		h.freeUnread(p, data)
	case p.taken:
		p.taken = false
		h.change(&h.inMemory, -p.size)
	}
}

// freeUnread frees the data of a partial that was removed from memory, unless they are being read.
func (h *Holdings) freeUnread(p *part, data []byte) {
	if p.readers > 0 || p.data != nil {
		return
	}
	h.change(&h.inMemory, -p.size)
	if p.reuse {
		h.addToPool(data)
	}
}

// Reuse adds the memory of data to the pooled memory. Nothing else may refer to the memory that
// Reuse adds.
func (h *Holdings) Reuse(data []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.addToPool(data)
}

func (h *Holdings) addToPool(data []byte) {
	if h.closed {
		return
	}
	if len(h.pool.list) == 0 {
		h.unused.Reset(keepPooled)
	}
	h.pool.limit = max(h.cfg.Limit/2, min(h.next(), h.cfg.Limit))
	h.pool.add(data, time.Now())
	h.trim(0)
}

// trim frees pooled memory until the remaining memory fits within the limit, and gives the rest to the caches. For
// partials, caches drop what they keep. One buffer remains for the n bytes of memory that have just been counted.
func (h *Holdings) trim(n int64) {
	h.pool.trim(h.cfg.Limit - h.used() - h.caches.Used() + h.pool.capacity(n))
	h.leaveToCaches()
}

// leaveToCaches tells the caches of jobs how much memory partials leave to them.
func (h *Holdings) leaveToCaches() {
	h.caches.SetLimit(min(caches.Share(h.cfg.Limit), h.cfg.Limit-h.used()-h.next()-h.pool.bytes))
}

// Caches returns the memory for caches of jobs. It is what partials and their next one leave of the limit.
func (h *Holdings) Caches() *caches.Memory { return h.caches }

// Pooled returns n bytes of pooled memory, or nil if no pooled buffer has this size. The returned
// bytes may have any value.
func (h *Holdings) Pooled(n int64) []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer h.leaveToCaches()
	return h.pool.take(n)
}

// Buffer returns n bytes of pooled memory or of new memory. The returned bytes may have any value.
func (h *Holdings) Buffer(n int64) []byte {
	if data := h.Pooled(n); data != nil {
		return data
	}
	data := make([]byte, n)
	if n >= hugeFrom {
		useHugePages(data)
	}
	return data
}

// hugeFrom is the size in bytes from which new memory is made of huge pages. The first write to a
// partial of small pages takes about as long as two merges.
const hugeFrom = 4 << 20

// Read verifies the checksum of a partial and returns the partial's bytes. If own is true, the
// caller may change the returned bytes, because nothing else uses them. If own is false, the caller
// must not change the bytes, and must call done after its last use of them.
func (h *Holdings) Read(job string, node engine.Node) (data []byte, own bool, done func(), err error) {
	p, data := h.begin(job, node)
	switch {
	case p == nil:
		return nil, false, nil, ErrNotHeld
	case data != nil:
		done = sync.OnceFunc(func() { h.end(p, data) })
	default:
		own, done, data = true, func() {}, h.Buffer(p.size)
		err = h.readFile(p, data, 0)
	}
	if sum := wire.Checksum(data); err == nil && sum != p.sum {
		err = fmt.Errorf("node %v of job %s, %d bytes: the checksum is %08x, want %08x: the bytes are damaged", p.node, p.job, p.size, sum, p.sum)
	}
	if err != nil {
		done()
		return nil, false, nil, err
	}
	return data, own, done, nil
}

// ReadAt fills the buffer to with the bytes of a partial from offset on, which is at least 0.
func (h *Holdings) ReadAt(job string, node engine.Node, to []byte, offset int64) error {
	p, data := h.begin(job, node)
	if p == nil {
		return ErrNotHeld
	}
	if data != nil {
		defer h.end(p, data)
	}
	switch {
	case offset > p.size-int64(len(to)):
		return fmt.Errorf("read %d bytes from %d of node %v, which has %d: %w", len(to), offset, node, p.size, ErrRange)
	case data != nil:
		copy(to, data[offset:])
		return nil
	}
	return h.readFile(p, to, offset)
}

// begin starts a read of a partial. It returns the partial, and the partial's data if they are in
// memory. If begin returns data, the caller must call end after the read.
func (h *Holdings) begin(job string, node engine.Node) (p *part, data []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p = h.parts[key{job, node}]; p == nil || p.taken {
		return nil, nil
	}
	if p.data != nil {
		p.readers++
	}
	return p, p.data
}

// end finishes a read of a partial's data. If the partial was removed from memory during the read,
// the last call of end frees the data.
func (h *Holdings) end(p *part, data []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p.readers--
	h.freeUnread(p, data)
	h.startSpill()
}

func (h *Holdings) readFile(p *part, to []byte, offset int64) error {
	if _, err := p.file.ReadAt(to, offset); err != nil && !(errors.Is(err, io.EOF) && len(to) == 0) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if p.dropped {
			return ErrNotHeld
		}
		return fmt.Errorf("read node %v of job %s, %d bytes, from the spill folder: %w", p.node, p.job, p.size, err)
	}
	return nil
}

// Expect says how large the partials of a job will be, until DropJob is called.
func (h *Holdings) Expect(job string, bytes int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.short()
	h.largest[job] = max(h.largest[job], bytes)
	h.leaveToCaches()
	if h.short() != before {
		h.cfg.Changed()
	}
}

// Use adds n, which may be negative, to the number of bytes that the merge stacks of slots use.
func (h *Holdings) Use(n int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.change(&h.stacks, n)
}

// UseStates adds n, which may be negative, to the number of bytes of the large states of rounds.
func (h *Holdings) UseStates(n int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.change(&h.states, n)
}

// Short reports whether memory is short, so that no partition should begin.
func (h *Holdings) Short() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.short()
}

// used returns how many bytes count against the limit; pooled memory and caches do not count, because they give way.
func (h *Holdings) used() int64 { return h.inMemory + h.reserved + h.stacks + h.states }

// next returns how many bytes the next partial may need.
func (h *Holdings) next() (largest int64) {
	for _, size := range h.largest {
		largest = max(largest, size)
	}
	return largest
}

func (h *Holdings) short() bool { return h.used() > h.states && h.used()+h.next() > h.cfg.Limit }

// Stuck reports whether memory is short and partials cannot be written to the spill folder.
func (h *Holdings) Stuck() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.short() && !h.spilling && len(h.order) > 0 && (h.cfg.Dir == "" || time.Now().Before(h.retryAt))
}

// Stats are the figures of [Holdings] at one time.
type Stats struct {
	Held    int64  // size in bytes of the partials in memory
	Used    int64  // bytes in memory: partials, merge stacks, reservations, states and what caches keep
	Cached  int64  // the part of Used that caches keep, which give way to partials
	Spilled int64  // size in bytes of the partials in files
	Spills  uint64 // number of partials that were moved to files so far
	Short   bool   // result of Holdings.Short
}

// Stats returns the current figures.
func (h *Holdings) Stats() Stats {
	h.mu.Lock()
	defer h.mu.Unlock()
	cached := h.caches.Used()
	s := Stats{Held: h.inMemory, Used: h.used() + cached, Cached: cached, Spills: h.moved, Short: h.short()}
	for _, p := range h.parts {
		if p.file != nil {
			s.Spilled += p.size
		}
	}
	return s
}

// change adds n to one of the counters of memory in use. If the memory in use exceeds the limit,
// change starts to write partials to files.
func (h *Holdings) change(which *int64, n int64) {
	before := h.short()
	*which += n
	if n < 0 {
		h.freed.Broadcast()
		h.leaveToCaches()
	} else {
		h.trim(n)
	}
	if h.short() != before {
		h.cfg.Changed()
	}
	h.startSpill()
}

// startSpill starts to write partials to files if memory is short and a partial can be written.
func (h *Holdings) startSpill() {
	if h.short() && !h.spilling && !h.closed && h.cfg.Dir != "" && !time.Now().Before(h.retryAt) && h.nextSpill() != nil {
		h.spilling = true
		h.spills.Go(h.spill)
	}
}

// spillBackoff is the time between a failed write to the spill folder and the next attempt.
const spillBackoff = 10 * time.Second

// retrySpill retries a failed write to the spill folder. The retry needs a timer, because nothing
// else may happen while slots wait for memory.
func (h *Holdings) retrySpill() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.startSpill()
}

// spill writes partials to the folder until memory is no longer short.
func (h *Holdings) spill() {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer func() {
		h.spilling = false
		h.freed.Broadcast()
	}()
	for h.short() && !h.closed {
		p := h.nextSpill()
		if p == nil {
			return
		}
		data := p.data
		p.readers++
		p.spilling = true
		h.mu.Unlock()
		f, err := h.write(p, data)
		h.mu.Lock()
		p.readers--
		p.spilling = false
		h.freed.Broadcast()
		h.freeUnread(p, data)
		switch {
		case errors.Is(err, errUnwanted):
		case err != nil:
			h.retryAt = time.Now().Add(spillBackoff)
			h.retry.Reset(spillBackoff)
			h.cfg.Changed() // the caller writes partials to storage if the spill folder is full
			h.cfg.Logger.Error("Cannot write a partial to the spill folder, it stays in memory", "job", p.job, "node", p.node.String(), "bytes", p.size, "error", err)
			return
		case p.unwanted() || h.closed:
			h.discard(f)
		default:
			p.file = f
			h.moved++
			h.forget(p)
			h.cfg.Logger.Debug("Moved a partial to the spill folder", "job", p.job, "node", p.node.String(), "bytes", p.size)
		}
	}
}

// nextSpill returns the oldest partial in memory that nobody uses, or nil.
func (h *Holdings) nextSpill() *part {
	i := slices.IndexFunc(h.order, func(p *part) bool { return p.readers == 0 && p.keeps == 0 })
	if i < 0 {
		return nil
	}
	return h.order[i]
}

// unwanted reports whether the partial's file is not needed, because the partial was dropped or must
// stay in memory.
func (p *part) unwanted() bool { return p.dropped || p.keeps > 0 }

var errUnwanted = errors.New("the file is not needed")

// Close drops all partials, and waits until no file is being written.
func (h *Holdings) Close() {
	h.mu.Lock()
	h.closed, h.pool = true, pool{}
	h.unused.Stop()
	h.retry.Stop()
	for _, p := range h.parts {
		h.drop(p)
	}
	h.mu.Unlock()
	h.spills.Wait()
}

// List returns the job, node and size of each partial in memory, the largest first. Partials that a
// call of Keep protects are not listed.
func (h *Holdings) List() []wire.HeldNode {
	h.mu.Lock()
	defer h.mu.Unlock()
	var list []wire.HeldNode
	for _, p := range h.order {
		if p.keeps > 0 {
			continue
		}
		list = append(list, wire.HeldNode{Job: p.job, Node: p.node, Size: uint64(p.size)})
	}
	slices.SortStableFunc(list, func(a, b wire.HeldNode) int { return -cmp.Compare(a.Size, b.Size) })
	return list
}
