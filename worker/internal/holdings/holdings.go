// Package holdings keeps the large partials of a worker: in memory up to a limit, beyond it
// in a spill folder.
//
//	          Put                     more than the limit
//	slots ─────────▶ in memory ──────────────────────────▶ spilling ─▶ spilled
//	calls                │  ▲                                 │           │
//	                     │  └──────── the folder is full ─────┘           │
//	                     ▼                   Drop                          ▼
//	                   gone ◀───────────────────────────────────────── file removed
//
// Reservations are operands and results of merges, which count against the same limit. A
// merge frees memory, so one of them may always go on: then the limit is exceeded by that
// merge alone.
//
// # What can fail
//
//   - The folder is full, or cannot be written: the partial stays in memory, a line in the
//     log names job, node and size, and the next attempt is made 10 s later. [Holdings.Short]
//     is true until memory is free again, so slots wait.
//   - A file cannot be read back: the partial is lost, and Read returns the error.
//   - The process is killed: its files were removed when they were made, so that the
//     operating system frees them.
package holdings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// ErrNotHeld says that the partial is not there.
var ErrNotHeld = errors.New("the partial is not held")

// Config configures [New].
type Config struct {
	// Limit is how many bytes of partials, operands and results of merges may be in memory.
	Limit int64
	// Dir is the spill folder. If it is empty, nothing is spilled.
	Dir    string
	Logger *slog.Logger
	// Changed, if not nil, is called when Short has changed. It must not block.
	Changed func()
}

// Holdings are the large partials of a worker.
type Holdings struct {
	cfg Config

	mu       sync.Mutex
	freed    *sync.Cond // memory was freed, or closed was set
	parts    map[key]*part
	order    []*part // in memory, the oldest first
	inMemory int64
	reserved int64
	reserves int // number of reservations
	retryAt  time.Time
	closed   bool
	spills   sync.WaitGroup
	spilling bool
}

type key struct {
	job  string
	node jobs.Node
}

// part is a partial. Its data is nil once it is spilled.
type part struct {
	key
	data    []byte
	file    *os.File
	size    int64
	dropped bool
}

// New makes empty holdings.
func New(cfg Config) (*Holdings, error) {
	if cfg.Dir != "" {
		f, err := newFile(cfg.Dir)
		if err != nil {
			return nil, fmt.Errorf("use spill folder: %w", err)
		}
		_ = f.Close() // nothing was written
	}
	if cfg.Changed == nil {
		cfg.Changed = func() {}
	}
	h := &Holdings{cfg: cfg, parts: map[key]*part{}}
	h.freed = sync.NewCond(&h.mu)
	return h, nil
}

// newFile returns a file that has no name any more, so that it is gone once it is closed, or
// the process has ended.
func newFile(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, "bellwether-spill-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Put adds a partial, whose bytes must not be changed any more. If it is there already, the
// two are the same bytes, and Put keeps one.
func (h *Holdings) Put(job string, node jobs.Node, data []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := key{job, node}
	if h.parts[k] != nil || h.closed {
		return
	}
	p := &part{key: k, data: data, size: int64(len(data))}
	h.parts[k] = p
	h.order = append(h.order, p)
	h.change(p.size, 0)
}

// Drop removes a partial.
func (h *Holdings) Drop(job string, node jobs.Node) {
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
}

func (h *Holdings) drop(p *part) {
	delete(h.parts, p.key)
	p.dropped = true
	if p.file != nil {
		_ = p.file.Close() // it is not needed any more
	}
	h.forget(p)
}

// forget removes a partial from memory.
func (h *Holdings) forget(p *part) {
	if i := slices.Index(h.order, p); i >= 0 {
		h.order = slices.Delete(h.order, i, i+1)
		p.data = nil
		h.change(-p.size, 0)
	}
}

// Read returns the bytes of a partial, which must not be changed.
func (h *Holdings) Read(job string, node jobs.Node) ([]byte, error) {
	h.mu.Lock()
	p := h.parts[key{job, node}]
	var data []byte
	if p != nil {
		data = p.data
	}
	h.mu.Unlock()
	switch {
	case p == nil:
		return nil, ErrNotHeld
	case data != nil:
		return data, nil
	}
	return h.readFile(p, 0, int(p.size))
}

// ReadAt returns n bytes of a partial.
func (h *Holdings) ReadAt(job string, node jobs.Node, offset int64, n int) ([]byte, error) {
	h.mu.Lock()
	p := h.parts[key{job, node}]
	var data []byte
	if p != nil {
		data = p.data
	}
	h.mu.Unlock()
	switch {
	case p == nil:
		return nil, ErrNotHeld
	case offset < 0 || n < 0 || offset+int64(n) > p.size:
		return nil, fmt.Errorf("read %d bytes from %d of node %v, which has %d", n, offset, node, p.size)
	case data != nil:
		return data[offset : offset+int64(n)], nil
	}
	return h.readFile(p, offset, n)
}

func (h *Holdings) readFile(p *part, offset int64, n int) ([]byte, error) {
	data := make([]byte, n)
	if _, err := p.file.ReadAt(data, offset); err != nil && !(errors.Is(err, io.EOF) && n == 0) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if p.dropped {
			return nil, ErrNotHeld
		}
		return nil, fmt.Errorf("read node %v of job %s, %d bytes, from the spill folder: %w", p.node, p.job, p.size, err)
	}
	return data, nil
}

// Reserve waits until n bytes of memory are free, or no other reservation is there. It
// returns a function that gives them back.
func (h *Holdings) Reserve(ctx context.Context, n int64) (release func(), err error) {
	defer context.AfterFunc(ctx, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.freed.Broadcast()
	})()
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.reserves > 0 && h.inMemory+h.reserved+n > h.cfg.Limit {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		h.freed.Wait()
	}
	h.reserves++
	h.change(0, n)
	return sync.OnceFunc(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.reserves--
		h.change(0, -n)
	}), nil
}

// Short reports whether memory is short, so that no partition should begin.
func (h *Holdings) Short() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.short()
}

func (h *Holdings) short() bool { return h.inMemory+h.reserved > h.cfg.Limit }

// Bytes returns how many bytes are in memory, reservations included, and how many are
// spilled.
func (h *Holdings) Bytes() (inMemory, spilled int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.parts {
		if p.data == nil {
			spilled += p.size
		}
	}
	return h.inMemory + h.reserved, spilled
}

// change changes the memory in use, and begins to spill if it is too much.
func (h *Holdings) change(inMemory, reserved int64) {
	before := h.short()
	h.inMemory += inMemory
	h.reserved += reserved
	if inMemory+reserved < 0 {
		h.freed.Broadcast()
	}
	if h.short() != before {
		h.cfg.Changed()
	}
	if h.short() && !h.spilling && !h.closed && h.cfg.Dir != "" && time.Now().After(h.retryAt) {
		h.spilling = true
		h.spills.Go(h.spill)
	}
}

// retrySpill is how long after a failed write the next one is attempted.
const retrySpill = 10 * time.Second

// spill writes partials to the folder until memory is no longer short.
func (h *Holdings) spill() {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer func() { h.spilling = false }()
	for h.short() && !h.closed && len(h.order) > 0 {
		p := h.order[0]
		data := p.data
		h.mu.Unlock()
		f, err := h.write(data)
		h.mu.Lock()
		switch {
		case err != nil:
			h.retryAt = time.Now().Add(retrySpill)
			h.cfg.Logger.Error("Cannot write a partial to the spill folder, it stays in memory", "job", p.job, "node", p.node.String(), "bytes", p.size, "error", err)
			return
		case p.dropped || h.closed:
			_ = f.Close() // it is not needed any more
		default:
			p.file = f
			h.forget(p)
		}
	}
}

func (h *Holdings) write(data []byte) (*os.File, error) {
	f, err := newFile(h.cfg.Dir)
	if err != nil {
		return nil, err
	}
	if _, err := f.Write(data); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Close drops everything, and waits until nothing is written.
func (h *Holdings) Close() {
	h.mu.Lock()
	h.closed = true
	for _, p := range h.parts {
		h.drop(p)
	}
	h.mu.Unlock()
	h.spills.Wait()
}

// InMemory returns the job, node and size of the partials in memory, the largest first.
func (h *Holdings) InMemory() []wire.HeldNode {
	h.mu.Lock()
	defer h.mu.Unlock()
	var list []wire.HeldNode
	for _, p := range h.order {
		list = append(list, wire.HeldNode{Job: p.job, Node: p.node, Size: uint64(p.size)})
	}
	slices.SortStableFunc(list, func(a, b wire.HeldNode) int { return -cmp.Compare(a.Size, b.Size) })
	return list
}
