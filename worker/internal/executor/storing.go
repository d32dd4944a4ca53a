package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// storing is the state of a write of a held partial to storage.
type storing struct {
	*core
	partials *partials
	held     wire.HeldNode
	storage  jobStorage
	cancel   context.CancelFunc
	ended    bool // the partial's job has ended; guarded by core.mu
}

// maxStoring is the maximum number of held partials that are being written to storage.
const maxStoring = 2

// startStoring starts to write a held partial to storage. The caller must hold core.mu.
func (p *partials) startStoring(held wire.HeldNode) {
	s := &storing{core: p.core, partials: p, held: held}
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(p.life)
	s.storage = jobStorage{p.core, held.Job, ctx}
	p.stores[s] = true
	p.goroutines.Go(s.run)
}

func (s *storing) run() {
	defer s.cancel()
	blob, err := s.write()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.partials.stores, s)
	if err == nil {
		s.partials.stored++
	}
	switch {
	case s.ended && blob != "":
		s.dropBlobs(s.held.Job, []string{blob})
	case s.ended:
	case err == nil:
		s.session.NodeStored(s.held, blob)
		s.cfg.Logger.Debug("Wrote a held partial to storage", "job", s.held.Job, "node", s.held.Node.String(), "bytes", s.held.Size)
	case errors.Is(err, store.ErrTooLarge):
		s.cfg.Logger.Error("A partial is too large for storage, it is lost if this worker ends", "job", s.held.Job, "node", s.held.Node.String(), "bytes", s.held.Size, "error", err)
		s.partials.unstorable[heldKey{s.held.Job, s.held.Node}] = err
	default:
		s.session.NodeNotStored(s.held)
	}
	s.wakeLink()
}

// errUnread marks an error of reading a held partial.
var errUnread = errors.New("read held partial")

// write waits until fewer than maxStoring writes are running, and then writes the partial. It
// retries until the context is done, unless the partial cannot be read or is too large for storage.
func (s *storing) write() (blob string, err error) {
	select {
	case s.partials.turns <- struct{}{}:
		defer func() { <-s.partials.turns }()
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
	size, inFile := s.partials.held.Size(s.held.Job, s.held.Node)
	need := size // storage writes a copy of the partial with a header
	if inFile {
		need += size
	}
	reserved, err := s.partials.held.Reserve(s.storage.ctx, need)
	if err != nil {
		return "", err
	}
	defer reserved.Release()
	data, _, done, err := s.partials.readHeld(s.held.Job, s.held.Node)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errUnread, err)
	}
	defer done()
	return s.storage.putPartial(s.held.Node, data)
}
