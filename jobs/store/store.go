package store

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// The kind of a record is the first segment of its key.
const (
	specs     = "spec/"
	plans     = "plan/"
	manifests = "manifest/"
	partials  = "partial/"
	results   = "result/"
	actives   = "active/"
	terms     = "term/"
	poisons   = "poison/"

	attachments = "attachment/"
	journals    = "journal/"
)

// Store is the storage of one cluster. The methods may be called from several goroutines. If a job ID is
// malformed, the methods return [ErrNotFound].
type Store struct {
	blobs Blobs
	queue Queue
	log   *slog.Logger

	remains RemainsDeleter // optional interface of the driver; nil if the driver leaves no remains
	sizer   Sizer          // optional interface of the driver; nil if storage has no limit
	counter WriteCounter   // optional interface of the driver; nil if storage does not count its writes

	foreign counts
}

// Config configures a store.
type Config struct {
	Blobs Blobs // driver that stores values
	Queue Queue // queue of submissions; may be nil for a store that only reads and writes values

	// Logger gets a warning for each submission that is moved to the poison list, and for each
	// damaged record and each foreign object that is omitted from a list. If Logger is nil, nothing is logged.
	Logger *slog.Logger

	// Observe, if not nil, is called after each call of a method of Blobs or Queue. Observe is
	// called from several goroutines and must not block.
	Observe func(Call)
}

// New returns a store.
func New(cfg Config) *Store {
	s := &Store{blobs: cfg.Blobs, queue: cfg.Queue, log: cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))}
	s.remains, _ = cfg.Blobs.(RemainsDeleter)
	s.sizer, _ = cfg.Blobs.(Sizer)
	s.counter, _ = cfg.Blobs.(WriteCounter)
	if cfg.Observe != nil {
		s.blobs, s.queue = observe(cfg.Blobs, cfg.Queue, cfg.Observe)
	}
	return s
}

// CountsWrites reports whether the storage counts its writes, so that [Store.Writes] can be called.
func (s *Store) CountsWrites() bool { return s.counter != nil }

// Writes returns the storage's counts of its writes: see [WriteCounter].
func (s *Store) Writes(ctx context.Context) (Writes, error) {
	counts, err := s.counter.Writes(ctx)
	if err != nil {
		return Writes{}, fmt.Errorf("read the counts of writes: %w", err)
	}
	return counts, nil
}

// Spec returns the spec of a job.
func (s *Store) Spec(ctx context.Context, id string) (StoredSpec, error) {
	spec, written, err := read(ctx, s, specs, id, func(data []byte) (StoredSpec, error) {
		spec, err := decodeSpec(data)
		return StoredSpec{Spec: spec, SHA256: digest(data)}, err
	})
	spec.Written = written
	if err == nil && spec.ID != id {
		err = fmt.Errorf("read %s%s: %w: it is the spec of job %s", specs, id, ErrCorrupt, spec.ID)
	}
	return spec, err
}

// PutPlan writes the plan of a job, which never changes. If another plan exists, the
// error is [ErrConflict], and the caller must use the existing plan.
func (s *Store) PutPlan(ctx context.Context, id string, plan Plan) error {
	_, err := s.putOnce(ctx, plans, id, encodePlan(plan))
	return err
}

// Plan returns the plan of a job.
func (s *Store) Plan(ctx context.Context, id string) (Plan, error) {
	plan, _, err := read(ctx, s, plans, id, decodePlan)
	return plan, err
}

// PutManifest writes the manifest of a job and returns the manifest's version. The next write of
// the manifest uses this version as its condition.
func (s *Store) PutManifest(ctx context.Context, id string, m Manifest, cond Condition) (Version, error) {
	return s.put(ctx, manifests, id, encodeManifest(m), cond)
}

// Manifest returns the manifest of a job and its version.
func (s *Store) Manifest(ctx context.Context, id string) (Manifest, Version, error) {
	return read(ctx, s, manifests, id, decodeManifest)
}

// PutPartial writes the encoded partial of a node and returns its name, which is the SHA-256 of
// node and data in hexadecimal. Writing the same partial again is not an error. Blobs are not
// shared by nodes, so a blob can be deleted together with its node. The ID may be that of a round. A failed write may have taken
// effect, so PutPartial returns the name even if it returns an error.
func (s *Store) PutPartial(ctx context.Context, id string, node engine.Node, data []byte) (blob string, err error) {
	value := encodePartial(node, data)
	blob = digest(value)
	return blob, s.putSame(ctx, partials, id, value, blob)
}

// Partial returns a partial by its name. The error is [ErrCorrupt] if the digest of the bytes
// differs from the name.
func (s *Store) Partial(ctx context.Context, id, blob string) ([]byte, error) {
	data, _, err := read(ctx, s, partials, id, func(value []byte) ([]byte, error) {
		if got := digest(value); got != blob {
			return nil, fmt.Errorf("%w: the digest of its %d bytes is %s", ErrCorrupt, len(value), got)
		}
		return decodePartial(value)
	}, blob)
	return data, err
}

// DropPartial removes a partial by its name. A missing partial is not an error.
func (s *Store) DropPartial(ctx context.Context, id, blob string) error {
	return s.remove(ctx, partials, id, blob)
}

// PutSpill writes what a partial of a round has moved to storage for the next round, whose ID is id, and returns its name, the
// SHA-256 of the data. It is removed with the partials of that round. PutSpill returns the name even if it returns an error.
func (s *Store) PutSpill(ctx context.Context, id string, data []byte) (name string, err error) {
	name = digest(data)
	return name, s.putSame(ctx, partials, id, data, name)
}

// Spill returns what PutSpill has written. The error is [ErrCorrupt] if the digest of the bytes differs from the name.
func (s *Store) Spill(ctx context.Context, id, name string) ([]byte, error) {
	data, _, err := read(ctx, s, partials, id, func(value []byte) ([]byte, error) {
		if got := digest(value); got != name {
			return nil, fmt.Errorf("%w: the digest of its %d bytes is %s", ErrCorrupt, len(value), got)
		}
		return value, nil
	}, name)
	return data, err
}

// PutResult writes the result of a job, which never changes. If another result exists,
// the error is [ErrConflict].
func (s *Store) PutResult(ctx context.Context, id string, result []byte) error {
	_, err := s.putOnce(ctx, results, id, result)
	return err
}

// PutOtherResult writes a result beside the one that an earlier leader has written. The manifest says which of them counts.
func (s *Store) PutOtherResult(ctx context.Context, id string, result []byte) error {
	return s.putSame(ctx, results, id, result, digest(result))
}

// Result returns the result of a job with the SHA-256 that the manifest has. If only another result exists, Result returns that
// one, whose SHA-256 the caller must compare.
func (s *Store) Result(ctx context.Context, id, sha256 string) ([]byte, error) {
	result, _, err := read(ctx, s, results, id, undecoded)
	if err != nil || digest(result) == sha256 || sha256 == "" {
		return result, err
	}
	other, _, err := read(ctx, s, results, id, undecoded, sha256)
	if errors.Is(err, ErrNotFound) {
		return result, nil
	}
	return other, err
}

// Activate adds a job to the index of active jobs. Activating an active job is not an error.
// Activate and Deactivate may run at the same time.
func (s *Store) Activate(ctx context.Context, id string) error {
	return s.putSame(ctx, actives, id, []byte{})
}

// Deactivate removes a job from the index of active jobs. A missing job is not an
// error.
func (s *Store) Deactivate(ctx context.Context, id string) error {
	return s.remove(ctx, actives, id)
}

// Active returns the IDs of the active jobs, oldest first. The list may contain a job that has
// ended, if the leader died before it could remove the job from the index.
func (s *Store) Active(ctx context.Context) ([]string, error) { return s.listIDs(ctx, actives) }

// Jobs returns the IDs of all jobs that have a spec, oldest first.
func (s *Store) Jobs(ctx context.Context) ([]string, error) { return s.listIDs(ctx, specs) }

// PartialNames returns the names of all stored partials of a job and of its rounds.
func (s *Store) PartialNames(ctx context.Context, id string) (map[string]bool, error) {
	keys, err := s.list(ctx, path.Join(partials, id)+"/")
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, key := range keys {
		names[path.Base(key)] = true
	}
	return names, nil
}

// DropPartials removes the partials of a job that has ended and of all of its rounds, or of one round.
func (s *Store) DropPartials(ctx context.Context, id string) error {
	return s.dropAll(ctx, partials, id)
}

// DropOtherPartials is like DropPartials, and keeps the given blobs.
func (s *Store) DropOtherPartials(ctx context.Context, id string, keep map[string]bool) error {
	keys, err := s.list(ctx, path.Join(partials, id)+"/")
	if err != nil {
		return err
	}
	for _, key := range keys {
		if keep[path.Base(key)] {
			continue
		}
		below := strings.TrimPrefix(key, path.Join(partials, id)+"/") // in a folder, if the blob belongs to a round
		if err := s.remove(ctx, partials, id, strings.Split(below, "/")...); err != nil {
			return err
		}
	}
	return nil
}

// dropAll removes all values of a kind below the job's ID and the segments in more.
func (s *Store) dropAll(ctx context.Context, kind, id string, more ...string) error {
	key, err := jobKey(kind, id, more...)
	if err != nil {
		return err
	}
	if d, ok := s.blobs.(PrefixDeleter); ok {
		if err := d.DeletePrefix(ctx, key+"/"); err != nil {
			return fmt.Errorf("delete %s/: %w", key, err)
		}
		return nil
	}
	keys, err := s.list(ctx, key+"/")
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := s.blobs.Delete(ctx, key); err != nil {
			return fmt.Errorf("delete %s: %w", key, err)
		}
	}
	return nil
}

// submitTime is longer than any call of Submit can take, plus any difference between the clocks of
// the submitter, which made the ID, and of the process that removes jobs. If a job ID is older than submitTime and
// has no spec, the job was removed or never submitted.
const submitTime = 24 * time.Hour

// HalfRemoved returns the IDs of removed jobs that still have records or remains of interrupted
// writes, oldest first. A removed job has records if its removal was interrupted, or if a process
// wrote a record after the removal. HalfRemoved also returns jobs whose Submit was interrupted long
// ago. Another call of Remove deletes the remaining records of a job.
func (s *Store) HalfRemoved(ctx context.Context) ([]string, error) {
	left := map[string]bool{}
	add := func(key string) {
		kind, rest, _ := strings.Cut(key, "/")
		id, _, _ := strings.Cut(rest, "/")
		if ValidID(id) && (kind+"/" != specs || time.Since(TimeOf(id)) > submitTime) {
			left[id] = true
		}
	}
	for _, kind := range []string{partials, attachments, journals, results, plans, manifests} {
		keys, err := s.list(ctx, kind)
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			add(key)
		}
	}
	if s.remains != nil {
		keys, err := s.remains.ListRemains(ctx)
		if err != nil {
			return nil, fmt.Errorf("list remains of interrupted writes: %w", err)
		}
		for _, key := range keys {
			add(key)
		}
	}
	// Submit writes the spec before all other records of a job. A job with other records but
	// without a spec has therefore been removed.
	specs, err := s.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range specs {
		delete(left, id)
	}
	return slices.Sorted(maps.Keys(left)), nil
}

// Retract deletes the records that a leader writes when it begins a job: the manifest and the plan.
// The leader calls Retract if the job was removed before the leader had written the manifest.
// Retract does not delete the spec, because only Remove deletes specs.
func (s *Store) Retract(ctx context.Context, id string) error {
	for _, kind := range []string{manifests, plans} {
		if err := s.remove(ctx, kind, id); err != nil {
			return err
		}
	}
	return nil
}

// Remove deletes all records of a job that has ended. The caller can repeat a Remove that failed.
// During a removal the method Jobs lists the job until the spec is deleted; after that, HalfRemoved
// lists it. The manifest is deleted after the spec. A leader that finds no manifest therefore finds
// no spec either, and does not start the job again.
func (s *Store) Remove(ctx context.Context, id string) error {
	if err := s.Deactivate(ctx, id); err != nil {
		return err
	}
	for _, kind := range []string{partials, attachments, journals, results} {
		if err := s.dropAll(ctx, kind, id); err != nil {
			return err
		}
	}
	for _, kind := range []string{results, plans, specs, manifests} {
		if err := s.remove(ctx, kind, id); err != nil {
			return err
		}
		if s.remains == nil {
			continue
		}
		if err := s.remains.DeleteRemains(ctx, kind+id); err != nil {
			return fmt.Errorf("delete remains of %s%s: %w", kind, id, err)
		}
	}
	return nil
}

func read[T any](ctx context.Context, s *Store, kind, id string, decode func([]byte) (T, error), more ...string) (value T, version Version, err error) {
	key, err := jobKey(kind, id, more...)
	if err != nil {
		return value, "", err
	}
	data, version, err := s.blobs.Get(ctx, key)
	if err != nil {
		return value, "", fmt.Errorf("read %s: %w", key, err)
	}
	if value, err = decode(data); err != nil {
		var none T
		return none, "", fmt.Errorf("read %s: %w", key, err)
	}
	return value, version, nil
}

func undecoded(data []byte) ([]byte, error) { return data, nil }

// put writes a record of a job and returns its version.
func (s *Store) put(ctx context.Context, kind, id string, value []byte, cond Condition, more ...string) (Version, error) {
	key, err := jobKey(kind, id, more...)
	if err != nil {
		return "", err
	}
	version, err := s.blobs.Put(ctx, key, value, cond)
	if err != nil {
		return "", fmt.Errorf("write %s: %w", key, err)
	}
	return version, nil
}

// putSame writes a value that is the same in every write of its key.
func (s *Store) putSame(ctx context.Context, kind, id string, value []byte, more ...string) error {
	if _, err := s.put(ctx, kind, id, value, IfAbsent, more...); !errors.Is(err, ErrConflict) {
		return err
	}
	return nil
}

// putOnce writes a value that never changes and returns its version. Writing the same bytes again
// is not an error, because an earlier write may have taken effect although the call returned an
// error.
func (s *Store) putOnce(ctx context.Context, kind, id string, value []byte) (Version, error) {
	version, err := s.put(ctx, kind, id, value, IfAbsent)
	if !errors.Is(err, ErrConflict) {
		return version, err
	}
	stored, version, getErr := read(ctx, s, kind, id, undecoded)
	switch {
	case errors.Is(getErr, ErrNotFound): // storage has refused the write although nothing is stored
		return "", fmt.Errorf("%w: %w", ErrUnavailable, getErr)
	case getErr != nil:
		return "", fmt.Errorf("compare with what is stored: %w", getErr)
	case !bytes.Equal(stored, value):
		return "", err
	}
	return version, nil
}

func (s *Store) remove(ctx context.Context, kind, id string, more ...string) error {
	key, err := jobKey(kind, id, more...)
	if err != nil {
		return err
	}
	if err := s.blobs.Delete(ctx, key); err != nil {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	return nil
}

// listIDs returns the valid IDs of the jobs that have a key of a kind, oldest first.
func (s *Store) listIDs(ctx context.Context, kind string) ([]string, error) {
	keys, err := s.list(ctx, kind)
	if err != nil {
		return nil, err
	}
	ids := make([]string, 0, len(keys))
	for _, key := range keys {
		if id := path.Base(key); ValidID(id) && kind+id == key {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

func jobKey(kind, id string, more ...string) (string, error) {
	job, round := engine.SplitRound(id)
	if !ValidID(job) || id != job && (kind != partials || id != engine.RoundID(job, round)) {
		return "", fmt.Errorf("job %q: %w: want an ID of %d letters and digits", id, ErrNotFound, idLength)
	}
	key := kind + id
	for _, segment := range more {
		key += "/" + segment
	}
	if !ValidKey(key) {
		return "", fmt.Errorf("key %q of job %s: %w", key, id, ErrNotFound)
	}
	return key, nil
}

func digest(data []byte) string {
	sum := engine.Digest(data)
	return hex.EncodeToString(sum[:])
}

// copyTo copies a value in steps, because a garbage collection stops all other goroutines until the
// copy of a step returns (see [engine.Digest]). The two slices may overlap if to begins before from.
func copyTo(to, from []byte) {
	for piece := range slices.Chunk(from, 1<<20) {
		to = to[copy(to, piece):]
	}
}
