package executor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// This file contains how the code of a sharded job, or of a job with a second pass, moves data to storage. What a round moves
// there belongs to the next round, as the state of that round does. The leader removes it with the blobs of the next round, or
// of the job. A worker that hears later of the end may have written more by then, so it removes what it finds.

var _ engine.Spills = jobStorage{}

// provide returns a context with which the code of the job can read its files and, if it spills, move data to storage.
func (s jobStorage) provide(ctx context.Context, spills bool) context.Context {
	ctx = jobs.WithFiles(ctx, s)
	if !spills {
		return ctx
	}
	return engine.WithSpills(ctx, s)
}

// spills reports whether the code of a job may move data to storage.
func (c *core) spills(kind wire.JobKind) bool {
	job, known := c.known[kind]
	return known && job.Engine().Spills()
}

// PutSpill implements [engine.Spills]. It tries again until the context is done.
func (s jobStorage) PutSpill(ctx context.Context, data []byte) (string, error) {
	s.noteSpill()
	ended := s.ctx
	if s.ctx = ctx; engine.JobOf(s.job) != s.job {
		s.job = nextRound(s.job)
	}
	name, err := s.writeBlob("move a part of a partial to storage", slog.String("part", "for the next round"), len(data), func() (string, error) {
		return s.putBlob(func(ctx context.Context) (string, error) { return s.store.PutSpill(ctx, s.job, data) })
	})
	if name != "" && ended.Err() != nil {
		s.removals.Go(func() { s.removeBlobs(s.job, []string{name}, hasEnded) })
	}
	return name, err
}

// Spill implements [engine.Spills].
func (s jobStorage) Spill(ctx context.Context, name string) (data []byte, err error) {
	s.ctx = ctx
	err = s.retry("read a part of a partial from storage", func() (err error) {
		data, err = s.store.Spill(ctx, s.job, name)
		return err
	}, func(err error) bool { return errors.Is(err, store.ErrUnavailable) })
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrCorrupt) {
		err = jobs.Permanent(fmt.Errorf("a part of a partial is lost or damaged, resubmit the job: %w", err))
	}
	return data, err
}

// noteSpill records that the code of the job moves data to storage.
func (s jobStorage) noteSpill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spilled[engine.JobOf(s.job)] = true
}

// endSpills starts to remove what the code of an ended job has moved to storage after the leader had removed the blobs of the job.
// The caller must hold core.mu.
func (c *core) endSpills(job string) {
	if !c.spilled[job] {
		return
	}
	delete(c.spilled, job)
	c.removals.Go(func() {
		m, err := c.manifest(job)
		if err == nil && hasEnded(m) {
			err = c.store.DropOtherPartials(c.storageLife, job, m.Blobs())
		}
		if err != nil {
			c.cfg.Logger.Warn("Could not remove partials of a job that has ended", "job", job, "error", err)
		}
	})
}
