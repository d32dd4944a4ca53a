package kept

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// Pack describes a pack of kept partials.
type Pack struct {
	ID       string
	Family   string // 32 hexadecimal digits; jobs with the same version, parameters and build have the same
	Job      string // name of the definition
	Version  string // version of the definition
	Origin   string // ID of the job that has kept the pack
	Partials uint64
	Bytes    int64
	Made     time.Time
	Used     time.Time // time of the last use, up to an hour too early

	key     string
	version store.Version
}

// List returns all packs, the oldest first. It leaves out and drops packs whose index is damaged.
func List(ctx context.Context, blobs Blobs) ([]Pack, error) {
	keys, err := blobs.List(ctx, indexes)
	if err != nil {
		return nil, fmt.Errorf("list kept partials: %w", err)
	}
	p := Partials{cfg: Config{Blobs: blobs}.withDefaults()}
	return p.list(ctx, keys), ctx.Err()
}

// list reads the indexes with the given keys.
func (p *Partials) list(ctx context.Context, keys []string) []Pack {
	var list []Pack
	for _, one := range p.readIndexes(ctx, keys) {
		list = append(list, Pack{
			ID: one.id, Family: one.family, Job: one.record.Job, Version: one.record.Version, Origin: one.record.Origin,
			Partials: one.record.Count, Bytes: int64(one.record.Bytes), Made: store.TimeOf(one.id), Used: time.Unix(one.record.Used, 0),
			key: indexKey(one.family, one.id), version: one.version,
		})
	}
	slices.SortFunc(list, func(a, b Pack) int { return strings.Compare(a.ID, b.ID) })
	return list
}

// Drop drops a pack that List has returned, unless a job has used it in between.
func Drop(ctx context.Context, blobs Blobs, one Pack) error {
	return Config{Blobs: blobs}.drop(ctx, one.key, one.version)
}

// drop deletes the index of a pack, if it has the given version, and then the pack. An empty version stands
// for an index that storage cannot read.
func (c Config) drop(ctx context.Context, key string, version store.Version) error {
	var err error
	if version == "" {
		err = c.Blobs.Delete(ctx, key)
	} else {
		err = c.Blobs.DeleteVersion(ctx, key, version)
	}
	if err != nil {
		return err
	}
	_, id, _ := parseIndexKey(key)
	if _, _, err := c.Blobs.Get(ctx, key); err == nil { // a job has noted a use
		return nil
	} else if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return c.Blobs.Delete(ctx, packs+id)
}

// orphanAge is the age from which on a pack without an index is removed. Writing the index of a pack takes
// much less.
const orphanAge = time.Hour

// sweep drops the packs that were not used for a long time, and those that do not fit in the limit.
func (p *Partials) sweep(ctx context.Context) {
	keys, err := p.cfg.Blobs.List(ctx, indexes)
	if err != nil {
		p.fail(ctx, "list all packs", err)
		return
	}
	if p.outdated(keys) {
		return
	}
	list := p.list(ctx, keys)
	total := int64(0)
	for _, one := range list {
		total += one.Bytes
	}
	slices.SortFunc(list, func(a, b Pack) int { return cmp.Or(a.Used.Compare(b.Used), strings.Compare(a.ID, b.ID)) })
	for _, one := range list {
		if total <= p.cfg.Limit && time.Since(one.Used) <= p.cfg.Lifetime {
			continue
		}
		total -= one.Bytes
		if err := p.cfg.drop(ctx, one.key, one.version); err != nil {
			p.fail(ctx, "drop a pack", err)
		}
	}
	p.removeOrphans(ctx, keys)
}

// clockError is how far the clocks of two processes may differ.
const clockError = time.Minute

// outdated reports whether another process has written a pack after the last one of p. That process sweeps too, so of
// many workers that end a job only the last ones read all indexes.
func (p *Partials) outdated(keys []string) bool {
	own := store.TimeOf(p.last)
	return slices.ContainsFunc(keys, func(key string) bool {
		_, id, ok := parseIndexKey(key)
		return ok && store.TimeOf(id).After(own) && time.Until(store.TimeOf(id)) < clockError
	})
}

// removeOrphans removes old packs without an index, and descriptions of families without packs. The parameter keys are the keys of the indexes.
func (p *Partials) removeOrphans(ctx context.Context, keys []string) {
	all, err := p.cfg.Blobs.List(ctx, packs)
	if err != nil {
		p.fail(ctx, "list packs", err)
		return
	}
	indexed, described := map[string]bool{}, map[string]bool{}
	for _, key := range keys {
		family, id, _ := parseIndexKey(key)
		indexed[id], described[family] = true, true
	}
	p.removeDescriptions(ctx, described)
	for _, key := range all {
		id := strings.TrimPrefix(key, packs)
		if store.ValidID(id) && !indexed[id] && time.Since(store.TimeOf(id)) > orphanAge {
			if err := p.cfg.Blobs.Delete(ctx, key); err != nil {
				p.fail(ctx, "remove a pack without index", err)
			}
		}
	}
}
