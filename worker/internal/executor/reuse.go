package executor

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/kept"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// This file contains how a worker reuses partials of earlier jobs and keeps partials for later jobs. No failure here
// fails a job: the partitions are computed.
//
//	call of Plan      finds the kept partials of the job and merges them; the leader begins with these nodes
//	partitions        each worker keeps partials of the spans that it has computed
//	call of Finish    the worker keeps the root

// ReuseStore is an optional interface of a [Store] in which partials are kept for later jobs.
type ReuseStore interface {
	// Blobs returns the storage of the kept partials.
	Blobs() store.Blobs
	// PutFound stores what a job reuses. PutFound returns the blob's name even with an error, because the failed
	// write may have taken effect.
	PutFound(ctx context.Context, job string, f store.Found) (blob string, err error)
}

const (
	findFor  = 20 * time.Second // longest search for kept partials; a search that takes longer uses what it has found
	closeFor = 30 * time.Second // longest time in which a worker writes the last partials of a job that has ended
	maxRoot  = 64 << 20         // most bytes of a root that is kept
)

var errUnknownBuild = errors.New("this program does not say how it was compiled: compile it with the go command")

// keptConfig returns the configuration of the kept partials of a job. It returns false if the job, the storage or this
// program reuses none.
func (c *core) keptConfig(o wire.Opening, job jobs.Job, params jobs.Params) (cfg kept.Config, ok bool) {
	s, ok := c.store.(ReuseStore)
	if o.Keep == 0 || !ok {
		return cfg, false
	}
	build := wire.ThisBuild()
	family, err := job.Family(params, build)
	if !wire.KnownBuild(build) {
		err = errUnknownBuild
	}
	if err != nil {
		c.cfg.Logger.Warn("This worker reuses and keeps no partials of a job", "job", o.Job, "error", err)
		return cfg, false
	}
	return kept.Config{
		Blobs: s.Blobs(), Family: family, Job: job.Name(), Version: job.Version(), Origin: o.Job, Build: build, Params: params,
		Limit: o.Keep, Logger: c.cfg.Logger.With("job", o.Job),
	}, true
}

// reuseOf returns the collection of partials of a family.
func reuseOf(cfg kept.Config, list *kept.Partials) engine.Reuse {
	return engine.Reuse{Family: cfg.Family, Kept: list, Limit: cfg.Limit}
}

// closeKept writes the last partials of a collection in the background.
func (c *core) closeKept(list *kept.Partials) {
	c.removals.Go(func() {
		ctx, cancel := context.WithTimeout(c.storageLife, closeFor)
		defer cancel()
		list.Close(ctx)
	})
}

// keep makes the stacks of an opened job keep their partials.
func (t *task) keep(opened engine.Task, job jobs.Job, params jobs.Params) {
	if cfg, ok := t.keptConfig(t.opening, job, params); ok {
		t.kept = kept.New(cfg)
		opened.Keep(reuseOf(cfg, t.kept))
	}
}

// findKept adds to the output of Plan the kept partials of the job. It returns an error only if the job's code does
// not return.
func (c *call) findKept(job jobs.Job, params jobs.Params, plan *wire.Output) error {
	cfg, ok := c.keptConfig(c.opening, job, params)
	if !ok {
		return nil
	}
	limit := findFor
	if within := c.held.Call().Within; within > 0 {
		limit = min(limit, within)
	}
	var list *kept.Partials
	var found engine.Found
	gone, err := guard{core: c.core, limit: limit}.run(c.ctx, func(ctx context.Context) (err error) {
		if list, err = kept.Open(ctx, cfg); err != nil {
			return err
		}
		task, err := job.Engine().Open(ctx, params, plan.Partitions, plan.Data)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, task.Close()) }()
		found, err = task.Find(ctx, reuseOf(cfg, list))
		return err
	})
	if gone != nil {
		c.lose(err)
		<-gone
		return errLost
	}
	if err == nil {
		plan.Found, err = c.writeFound(found, list.Has(found.Root), list.Stats())
	}
	if err != nil && c.ctx.Err() == nil {
		c.cfg.Logger.Warn("Could not look for kept partials, everything is computed", "job", c.opening.Job, "error", err)
	}
	if list != nil {
		c.closeKept(list)
	}
	return nil
}

// writeFound writes what was found to storage, and returns the name of the blob. Large partials have blobs of their
// own. A root that is kept already is not kept again.
func (c *call) writeFound(found engine.Found, rootKept bool, stats kept.Stats) (blob string, err error) {
	f := store.Found{Reused: store.Reused{
		Partitions: found.Partitions, Work: found.Work, From: stats.Origins, Lost: stats.Lost, Build: wire.ThisBuild(),
	}}
	if found.Root != (engine.Key{}) && !rootKept {
		f.Root = found.Root[:]
	}
	for _, p := range found.Nodes {
		n := store.StoredNode{Node: p.Node, Data: p.Data}
		if len(p.Data) > wire.MaxInline {
			n = store.StoredNode{Node: p.Node, Large: true, Size: uint64(len(p.Data))}
			n.Blob, err = c.storage.putPartial(p.Node, p.Data)
			c.blobs = append(c.blobs, n.Blob)
			if err != nil {
				return "", err
			}
		}
		f.Nodes = append(f.Nodes, n)
	}
	blob, err = c.storage.putBlob(func(ctx context.Context) (string, error) {
		return c.store.(ReuseStore).PutFound(ctx, c.opening.Job, f)
	})
	c.blobs = append(c.blobs, blob)
	if err != nil {
		return "", err
	}
	return blob, nil
}

// copyRoot returns a copy of the root that the worker should keep after Finish, which may change the root. It returns
// nil if the root is not to be kept.
func (c *call) copyRoot(made wire.Call, operands []engine.Operand) []byte {
	if len(made.Key) == 0 || len(operands) != 1 || len(operands[0].Data) > maxRoot || !engine.WorthKeeping(len(operands[0].Data), made.Work) {
		return nil
	}
	return bytes.Clone(operands[0].Data)
}

// keepRoot keeps the root.
func (c *call) keepRoot(job jobs.Job, params jobs.Params, made wire.Call, root []byte) {
	cfg, ok := c.keptConfig(c.opening, job, params)
	if root == nil || !ok {
		return
	}
	list := kept.New(cfg)
	list.Keep(c.ctx, engine.Key(made.Key), engine.KeptPartial{Data: root, Partitions: c.opening.Partitions, Work: made.Work})
	c.closeKept(list)
}
