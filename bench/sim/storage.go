package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

func newStorage(s *Sim) *storage {
	st := &storage{sim: s, up: true, values: map[string]*value{}}
	st.store = store.New(store.Config{Blobs: direct{storage: st}})
	return st
}

// storage is the cluster's storage: blobs, the submission queue and the lease.
type storage struct {
	sim      *Sim
	store    *store.Store // reads without delay or faults
	up       bool
	writes   uint64
	values   map[string]*value
	keys     []string // of values, sorted
	messages []*message
	lease    *lease
	late     bool // the caller of the present effect has given up or is dead
}

type value struct {
	data    []byte
	version store.Version
	writer  *process
	epoch   uint64 // that the writer led when it wrote, or 0
	late    bool   // the writer had given up or was dead
}

type message struct {
	body        []byte
	deliveries  int
	hiddenUntil time.Duration
	deleted     bool
}

// callTimeout bounds every call, as in the drivers.
const callTimeout = 3 * time.Second

// call has an effect on storage in the name of a process, and then calls answer, with
// an error if no answer comes in time. The call may be lost before its effect or after
// it, or be so slow that its caller has given up or is dead by then.
func (st *storage) call(p *process, effect func(), answer func(error)) {
	s := st.sim
	life := p.life
	answered := false
	once := func(err error) {
		p.run(life, func() {
			if !answered {
				answered = true
				answer(err)
			}
		})
	}
	there, back := st.delay(), st.delay()
	unreachable := !st.up || p.cutFromStorage
	refused := s.rng.chance(s.rates.storageRefuses)
	switch {
	case unreachable || refused:
		if refused {
			s.cover("fault: storage call refused")
		}
		s.after(min(there+back, callTimeout), func() { once(store.ErrUnavailable) })
		return
	case s.rng.chance(s.rates.storageLoses / 2):
		s.cover("fault: storage call lost")
	case s.rng.chance(s.rates.storageLoses):
		s.cover("fault: storage answer lost")
		s.after(there, effect)
	default:
		s.after(there, func() {
			effect()
			s.after(back, func() { once(nil) })
		})
	}
	if there+back > callTimeout {
		s.cover("fault: storage effect after its caller gave up")
	}
	s.after(callTimeout, func() { once(store.ErrUnavailable) })
}

func (st *storage) delay() time.Duration {
	s := st.sim
	d := s.rng.between(s.scenario.storageLatency/4, s.scenario.storageLatency)
	if s.rng.chance(s.rates.storageSlow) {
		s.cover("fault: storage call slow")
		d += s.rng.logBetween(50*time.Millisecond, 2*callTimeout)
	}
	return d
}

// direct reads blobs without delay or faults.
type direct struct {
	store.Blobs
	storage *storage
}

func (t direct) Get(_ context.Context, key string) ([]byte, store.Version, error) {
	v, ok := t.storage.values[key]
	if !ok {
		return nil, "", store.ErrNotFound
	}
	return v.data, v.version, nil
}

// blobs is a process's driver for blobs.
type blobs struct{ process *process }

var (
	_ store.Blobs   = (*blobs)(nil)
	_ store.Queue   = (*queue)(nil)
	_ store.Message = (*delivery)(nil)
)

// call blocks the running coroutine until storage has answered a call with an effect.
func (p *process) call(ctx context.Context, effect func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var result, lost error
	st := p.sim.storage
	p.sim.await(func(done func()) {
		st.call(p, func() {
			st.late = lost != nil || !p.alive
			result = effect()
		}, func(err error) {
			lost = err
			done()
		})
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	return errors.Join(lost, result)
}

func (b *blobs) Get(ctx context.Context, key string) (data []byte, version store.Version, err error) {
	st := b.process.sim.storage
	err = b.process.call(ctx, func() error {
		v, ok := st.values[key]
		if !ok {
			return store.ErrNotFound
		}
		data, version = bytes.Clone(v.data), v.version
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	return data, version, nil
}

func (b *blobs) Put(ctx context.Context, key string, data []byte, cond store.Condition) (version store.Version, err error) {
	s := b.process.sim
	err = b.process.call(ctx, func() error {
		old, exists := s.storage.values[key]
		if want, ok := cond.Version(); ok && (!exists || old.version != want) || cond.Absent() && exists {
			s.cover("seen: storage precondition failed")
			return store.ErrConflict
		}
		version = s.storage.put(key, value{data: bytes.Clone(data), writer: b.process, epoch: b.process.leads(), late: s.storage.late})
		s.trace.printf(b.process, "    writes %s, late: %v", key, s.storage.late)
		s.checks.written(b.process.name, key)
		return nil
	})
	if err != nil {
		return "", err
	}
	return version, nil
}

func (st *storage) put(key string, v value) store.Version {
	st.writes++
	v.version = store.Version(strconv.FormatUint(st.writes, 10))
	if i, found := slices.BinarySearch(st.keys, key); !found {
		st.keys = slices.Insert(st.keys, i, key)
	}
	st.values[key] = &v
	return v.version
}

func (b *blobs) Delete(ctx context.Context, key string) error {
	return b.process.call(ctx, func() error {
		st := b.process.sim.storage
		st.sim.trace.printf(b.process, "    removes %s", key)
		delete(st.values, key)
		if i, found := slices.BinarySearch(st.keys, key); found {
			st.keys = slices.Delete(st.keys, i, i+1)
		}
		return nil
	})
}

func (b *blobs) List(ctx context.Context, prefix string) (keys []string, err error) {
	err = b.process.call(ctx, func() error {
		keys = b.process.sim.storage.list(prefix)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return keys, nil
}

// leftover returns a key that should be gone once all jobs have ended, or "". A value
// that was written late may stay, and so may a partial whose writer died before any
// other process learned of it. The next leader cleans up the index.
func (st *storage) leftover() string {
	for _, key := range st.list("active/") {
		if !st.values[key].late {
			return key
		}
	}
	for _, key := range st.list("partial/") {
		id, _, _ := strings.Cut(strings.TrimPrefix(key, "partial/"), "/")
		v := st.values[key]
		if !v.late && v.writer.alive && !(st.sim.jobs[id].removed && v.orphaned(key)) {
			return key
		}
	}
	return ""
}

// remainder returns a key of a job that was removed, or "".
func (st *storage) remainder(id string) string {
	for _, key := range st.keys {
		if strings.Contains(key, id) && !st.values[key].orphaned(key) {
			return key
		}
	}
	return ""
}

// orphaned reports whether a value's writer could no longer remove it when it learned
// that the job was removed.
func (v *value) orphaned(key string) bool {
	switch {
	case v.late || !v.writer.alive:
		return true
	case v.epoch > 0: // it led when it wrote
		return v.writer.leads() != v.epoch
	case strings.HasPrefix(key, "partial/"): // workers write these
		return false
	default: // its term was over
		return v.writer.elector != nil
	}
}

func (st *storage) list(prefix string) []string {
	var keys []string
	at, _ := slices.BinarySearch(st.keys, prefix)
	for _, key := range st.keys[at:] {
		if !strings.HasPrefix(key, prefix) {
			break
		}
		keys = append(keys, key)
	}
	return keys
}

// queue is a process's driver for the submission queue.
type queue struct{ process *process }

func (q *queue) Send(ctx context.Context, body []byte) error {
	st := q.process.sim.storage
	return q.process.call(ctx, func() error {
		st.messages = append(st.messages, &message{body: bytes.Clone(body)})
		return nil
	})
}

// Receive polls for a message, as drivers do whose queues cannot push.
func (q *queue) Receive(ctx context.Context) (store.Message, error) {
	p := q.process
	for {
		var d *delivery
		err := p.call(ctx, func() error {
			d = p.sim.storage.take(p)
			return nil
		})
		switch {
		case err == nil && d != nil:
			return d, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			return nil, err
		}
		p.pause(ctx, 200*time.Millisecond)
	}
}

// take returns the first visible message, and hides it.
func (st *storage) take(p *process) *delivery {
	s := st.sim
	for _, m := range st.messages {
		if m.deleted || m.hiddenUntil > s.now {
			continue
		}
		m.deliveries++
		if m.deliveries > 1 {
			s.cover("seen: submission delivered again")
		}
		m.hiddenUntil = s.now + s.scenario.hideFor
		return &delivery{p, m, m.deliveries}
	}
	return nil
}

type delivery struct {
	process *process
	message *message
	count   int
}

func (d *delivery) Body() []byte { return bytes.Clone(d.message.body) }

func (d *delivery) Deliveries() int { return d.count }

func (d *delivery) Extend(ctx context.Context) error {
	s := d.process.sim
	return d.process.call(ctx, func() error {
		if d.message.deleted {
			return fmt.Errorf("message: %w", store.ErrNotFound)
		}
		d.message.hiddenUntil = s.now + s.scenario.hideFor
		return nil
	})
}

func (d *delivery) Delete(ctx context.Context) error {
	return d.process.call(ctx, func() error {
		s := d.process.sim
		s.trace.printf(d.process, "    removes a submission from the queue")
		d.message.deleted = true
		return nil
	})
}
