package executor

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// jobStorage reads and writes data of one job in storage, with retries.
type jobStorage struct {
	*core
	job string
	ctx context.Context // context that is done when the job has ended or the worker stops
}

const (
	dropTimeout     = 5 * time.Second // timeout of a call that removes a partial
	minStoreBackoff = 50 * time.Millisecond
	maxStoreBackoff = 5 * time.Second
)

// params returns the parameters in a job's opening. It reads large parameters from storage.
func (s jobStorage) params(o wire.Opening) (jobs.Params, error) {
	if len(o.ParamsSHA256) == 0 {
		return o.Params, nil
	}
	var spec store.StoredSpec
	err := s.retry("read parameters", func() (err error) {
		spec, err = s.store.Spec(s.ctx, engine.JobOf(s.job))
		return err
	}, func(err error) bool { return errors.Is(err, store.ErrUnavailable) })
	if sum := sha256.Sum256(spec.Params); err == nil && !bytes.Equal(sum[:], o.ParamsSHA256) {
		err = errors.New("read parameters: the stored parameters are not those that the leader read")
	}
	return spec.Params, err
}

// plan returns the plan in a job's opening. It reads a large plan from storage.
func (s jobStorage) plan(o wire.Opening) (jobs.Plan, error) {
	if !o.InStore {
		return jobs.Plan{Partitions: o.Partitions, Data: o.Data}, nil
	}
	var plan store.Plan
	err := s.retry("read plan", func() (err error) {
		plan, err = s.store.Plan(s.ctx, engine.JobOf(s.job))
		return err
	}, func(err error) bool { return errors.Is(err, store.ErrUnavailable) })
	if err == nil && plan.Partitions != o.Partitions {
		err = fmt.Errorf("read plan: the stored plan has %d partitions, the leader says %d", plan.Partitions, o.Partitions)
	}
	return plan.Plan, err
}

// writePartial writes a partial to storage and returns the blob's name, see [jobStorage.write].
func (s jobStorage) writePartial(node engine.Node, data []byte) (blob string, err error) {
	return s.write("write partial", slog.String("node", node.String()), node, data)
}

// writeOutput writes the output of a function to storage and returns the blob's name, see
// [jobStorage.write].
func (s jobStorage) writeOutput(function wire.Function, data []byte) (blob string, err error) {
	return s.write("write output", slog.String("function", function.String()), wire.OutputNode(function), data)
}

// write writes data to storage under a node, see [jobStorage.writeBlob].
func (s jobStorage) write(doing string, what slog.Attr, node engine.Node, data []byte) (blob string, err error) {
	return s.writeBlob(doing, what, len(data), func() (string, error) { return s.putPartial(node, data) })
}

// writeBlob makes a write of a blob. It retries until the context is done. If the context
// ends, writeBlob returns the blob's name with the error, because the write may have taken effect. For
// data that are too large for storage, it returns a permanent error of the job. Log lines and
// errors name what is written and its size, because the operator of a full storage needs both.
func (s jobStorage) writeBlob(doing string, what slog.Attr, size int, put func() (string, error)) (blob string, err error) {
	err = s.retry(doing, func() (err error) {
		name, err := put()
		blob = cmp.Or(name, blob) // an earlier attempt may have taken effect
		return err
	}, func(err error) bool { return !errors.Is(err, store.ErrTooLarge) }, what, "bytes", size)
	if err == nil {
		return blob, nil
	}
	err = fmt.Errorf("%s %s of job %s, %d bytes: %w", what.Key, what.Value, s.job, size, err)
	if errors.Is(err, store.ErrTooLarge) {
		return "", jobs.Permanent(err)
	}
	return blob, err
}

// uncut makes a write unless the context is done. The end of the job or of the worker does not cut a write that has
// begun, because a write that was cut may still take effect, after the removal of what it wrote, which would then remain
// in storage for ever.
func (s jobStorage) uncut(write func(context.Context) error) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	return write(s.storageLife)
}

// putPartial writes a partial once.
func (s jobStorage) putPartial(node engine.Node, data []byte) (string, error) {
	return s.putBlob(func(ctx context.Context) (string, error) { return s.store.PutPartial(ctx, s.job, node, data) })
}

// putBlob makes a write of a blob and returns the blob's name, even with an error. If the worker has stopped, no leader
// will hear of the blob, so that the clean-up after the job may have been before the write.
func (s jobStorage) putBlob(put func(context.Context) (string, error)) (blob string, err error) {
	err = s.uncut(func(ctx context.Context) (err error) {
		blob, err = put(ctx)
		return err
	})
	if blob != "" && s.life.Err() != nil {
		s.removals.Go(func() { s.removeBlobs(s.job, []string{blob}, hasEnded) })
	}
	return blob, err
}

// dropPartial starts to remove a blob that was written after the leader had removed all other blobs
// of the ended job.
func (s jobStorage) dropPartial(blob string) { s.dropBlobs(s.job, []string{blob}) }

// dropBlobs starts to remove blobs of a job or a round that has ended.
func (c *core) dropBlobs(job string, blobs []string) {
	if len(blobs) > 0 {
		c.removals.Go(func() { c.removeBlobs(job, blobs, func(store.Manifest) bool { return true }) })
	}
}

// hasEnded reports whether a job has ended, by its manifest. The manifest of a job that was removed is the zero Manifest.
func hasEnded(m store.Manifest) bool { return m.State == "" || m.State.Final() }

// removeBlobs removes blobs of a job or a round if the job's manifest satisfies the condition. It keeps those that the
// manifest names: a final manifest keeps partials and a state for later jobs, and another worker may have written the same
// bytes before.
func (c *core) removeBlobs(job string, blobs []string, condition func(store.Manifest) bool) {
	m, err := c.manifest(engine.JobOf(job))
	if err != nil {
		c.cfg.Logger.Warn("Could not remove partials of a job that has ended", "job", job, "error", err)
		return
	}
	if !condition(m) {
		return
	}
	named := m.Blobs()
	for _, blob := range blobs {
		if named[blob] {
			continue
		}
		if err := c.dropBlob(job, blob); err != nil {
			c.cfg.Logger.Warn("Could not remove a partial of a job that has ended", "job", job, "blob", blob, "error", err)
		}
	}
}

// manifest reads the manifest of a job. It returns the zero Manifest if the job was removed.
func (c *core) manifest(job string) (store.Manifest, error) {
	ctx, cancel := context.WithTimeout(c.storageLife, dropTimeout)
	defer cancel()
	m, _, err := c.store.Manifest(ctx, job)
	if errors.Is(err, store.ErrNotFound) {
		return store.Manifest{}, nil
	}
	return m, err
}

func (c *core) dropBlob(job, blob string) error {
	ctx, cancel := context.WithTimeout(c.storageLife, dropTimeout)
	defer cancel()
	return c.store.DropPartial(ctx, job, blob)
}

// retry repeats a call to storage until the call succeeds, fails with an error that is not
// retryable, or the context is done. The log line about a failed call contains attrs.
func (s jobStorage) retry(doing string, call func() error, retryable func(error) bool, attrs ...any) error {
	for wait := minStoreBackoff; ; wait = min(2*wait, maxStoreBackoff) {
		err := call()
		if err == nil {
			return nil
		}
		if s.ctx.Err() != nil || !retryable(err) {
			return fmt.Errorf("%s: %w", doing, err)
		}
		s.cfg.Logger.With(attrs...).Warn("Storage call failed, trying again", "job", s.job, "operation", doing, "pause", wait, "error", err)
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-s.ctx.Done():
			timer.Stop()
		}
	}
}
