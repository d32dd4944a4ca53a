package sim

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// blobs simulates the storage driver of a process for blobs, and implements store.Blobs.
type blobs struct{ process *process }

var _ store.Blobs = (*blobs)(nil)

// origin describes the process and the term that wrote a blob.
type origin struct {
	writer *process
	epoch  uint64 // epoch under which the writer led when it wrote the blob; 0 if it did not lead
	late   bool   // true if the blob was stored after its writer had stopped waiting for the call, had died or was deposed
}

func (b *blobs) Get(ctx context.Context, key string) (data []byte, version store.Version, err error) {
	st := b.process.storage
	writes := len(st.history[key]) // number of writes that returned before this read
	err = b.process.call(ctx, func() (err error) {
		data, version, err = st.blobs.Get(context.Background(), key)
		b.process.sim.checks.read(b.process, st, key, version, writes)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	return data, version, nil
}

func (b *blobs) Put(ctx context.Context, key string, data []byte, cond store.Condition) (version store.Version, err error) {
	err = b.process.call(ctx, func() (err error) {
		s, st := b.process.sim, b.process.storage
		version, err = st.blobs.Put(context.Background(), key, data, cond)
		if errors.Is(err, store.ErrConflict) {
			s.cover("seen: storage precondition failed")
		}
		if err != nil {
			return err
		}
		st.history[key] = append(st.history[key], version)
		s.trace.printf(b.process, "    writes %s, late: %v", key, st.late)
		st.origins[key] = origin{b.process, b.process.leads(), st.late || b.process.deposed()}
		if st == s.storage {
			s.checks.written(b.process.name, key)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return version, nil
}

func (b *blobs) Delete(ctx context.Context, key string) error {
	return b.process.call(ctx, func() error { return b.remove(key) })
}

func (b *blobs) DeleteVersion(ctx context.Context, key string, v store.Version) error {
	return b.process.call(ctx, func() error {
		if _, version, err := b.process.storage.blobs.Get(context.Background(), key); err != nil || version != v {
			return nil
		}
		return b.remove(key)
	})
}

func (b *blobs) remove(key string) error {
	st := b.process.storage
	b.process.sim.trace.printf(b.process, "    removes %s", key)
	delete(st.origins, key)
	st.history[key] = append(st.history[key], "")
	return st.blobs.Delete(context.Background(), key)
}

func (b *blobs) List(ctx context.Context, prefix string) (keys []string, err error) {
	err = b.process.call(ctx, func() (err error) {
		keys, err = b.process.storage.blobs.List(context.Background(), prefix)
		return err
	})
	if err != nil {
		return nil, err
	}
	return keys, nil
}

func (st *storage) keys(prefix string) []string {
	var list []string
	for key := range maps.Keys(st.origins) {
		if strings.HasPrefix(key, prefix) {
			list = append(list, key)
		}
	}
	slices.Sort(list)
	return list
}

// leftover returns the key of an index entry or a partial that should have been removed because all
// jobs have ended, or "" if storage contains no such blob. A blob that was stored late may stay;
// the next leader would remove a late index entry. A partial may also stay if its writer died
// before any other process knew of the partial.
func (st *storage) leftover() string {
	for _, key := range st.keys("active/") {
		if !st.origins[key].late {
			return key
		}
	}
	for _, key := range st.keys("partial/") {
		id, blob, _ := strings.Cut(strings.TrimPrefix(key, "partial/"), "/")
		blob = path.Base(blob)
		if st.sim.checks.manifest(id).Blobs()[blob] { // a job that retries this one, or continues from it, may inherit it
			continue
		}
		o := st.origins[key]
		if !o.late && o.writer.alive && !(st.sim.job(id).removed && o.orphaned(key)) {
			return key
		}
	}
	return ""
}

// remainder returns the key of a blob that should have been removed with a job. It returns "" if all such
// blobs were removed.
func (st *storage) remainder(id string) string {
	for _, key := range st.keys("") {
		if strings.Contains(key, id) && !st.origins[key].orphaned(key) && !st.cancelledAgain(key, id) {
			return key
		}
	}
	return ""
}

// cancelledAgain reports whether a value is the first manifest of a removed job whose spec was
// stored again by a late write. After the late write of a spec, a new leader considers the spec's
// job as queued, and a late request may cancel the job. The user can remove the job again.
func (st *storage) cancelledAgain(key, id string) bool {
	if key != "manifest/"+id || !st.origins["spec/"+id].late {
		return false
	}
	m, _, err := st.store.Manifest(context.Background(), id)
	return err == nil && m.State == store.Cancelled && m.Sequence == 1
}

// orphaned reports whether the blob may stay in storage after its job was removed, because the
// blob's writer could not remove the blob after the job's removal.
func (o origin) orphaned(key string) bool {
	switch {
	case o.late || !o.writer.alive:
		return true
	case o.epoch > 0: // the writer was a leader when it wrote the blob
		return o.writer.leads() != o.epoch
	case strings.HasPrefix(key, "partial/"): // the writer was a worker, because workers write partials
		return false
	default: // the term of the leader that wrote the blob was over
		return o.writer.elector != nil
	}
}
