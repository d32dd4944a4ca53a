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
	st := &storage{sim: s, up: true, values: map[string]value{}, stray: map[string]bool{}, writers: map[string]*process{}, terms: map[string]uint64{}}
	st.store = store.New(store.Config{Blobs: truth{storage: st}})
	return st
}

// storage is what is stored, whoever knows it.
type storage struct {
	sim      *Sim
	store    *store.Store // reads at once what is there
	up       bool
	writes   uint64
	values   map[string]value
	keys     []string // of values, sorted
	messages []*message
	lease    leaseState
	late     bool            // the present effect's caller has given up on it, or is dead
	stray    map[string]bool // keys of values that were written late
	writers  map[string]*process
	terms    map[string]uint64 // the epoch that the writer led then, or 0
}

type value struct {
	data    []byte
	version store.Version
}

type message struct {
	body        []byte
	deliveries  int
	hiddenUntil time.Duration
	deleted     bool
}

// callAtMost bounds every call, as drivers do.
const callAtMost = 3 * time.Second

// call has an effect on storage in the name of a process, and then calls answer,
// with an error where no answer comes in time. Anything may go wrong on the way:
// the call is lost before its effect or after, or is slow, so that the effect
// comes when its caller has given up or is dead.
func (st *storage) call(p *process, effect func(), answer func(error)) {
	s := st.sim
	life := p.life
	answered := false
	once := func(err error) {
		p.happen(life, func() {
			if !answered {
				answered = true
				answer(err)
			}
		})
	}
	there, back := st.delay(), st.delay()
	unreachable := !st.up || p.cutFromStorage
	refused := s.chance.is(s.faults.storageRefuses)
	switch {
	case unreachable || refused:
		if refused {
			s.hit("fault: storage call refused")
		}
		s.after(min(there+back, callAtMost), func() { once(store.ErrUnavailable) })
		return
	case s.chance.is(s.faults.storageLoses / 2):
		s.hit("fault: storage call lost")
	case s.chance.is(s.faults.storageLoses):
		s.hit("fault: storage answer lost")
		s.after(there, effect)
	default:
		s.after(there, func() {
			effect()
			s.after(back, func() { once(nil) })
		})
	}
	if there+back > callAtMost {
		s.hit("fault: storage effect after its caller gave up")
	}
	s.after(callAtMost, func() { once(store.ErrUnavailable) })
}

func (st *storage) delay() time.Duration {
	s := st.sim
	d := s.chance.between(s.scenario.storageLatency/4, s.scenario.storageLatency)
	if s.chance.is(s.faults.storageSlow) {
		s.hit("fault: storage call slow")
		d += s.chance.spread(50*time.Millisecond, 2*callAtMost)
	}
	return d
}

// truth reads what is stored, at once and without fail.
type truth struct {
	store.Blobs
	storage *storage
}

func (t truth) Get(_ context.Context, key string) ([]byte, store.Version, error) {
	v, ok := t.storage.values[key]
	if !ok {
		return nil, "", store.ErrNotFound
	}
	return v.data, v.version, nil
}

// blobs is a process's driver of the storage.
type blobs struct{ process *process }

var (
	_ store.Blobs   = (*blobs)(nil)
	_ store.Queue   = (*queue)(nil)
	_ store.Message = (*delivery)(nil)
)

// call has the running task wait for an effect on storage.
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
			s.hit("seen: storage precondition failed")
			return store.ErrConflict
		}
		version = s.storage.put(key, data)
		s.trace.printf(b.process, "    writes %s, late: %v", key, s.storage.late)
		s.storage.stray[key] = s.storage.late
		s.storage.writers[key], s.storage.terms[key] = b.process, b.process.leads()
		s.checks.written(b.process.name, key)
		return nil
	})
	if err != nil {
		return "", err
	}
	return version, nil
}

func (st *storage) put(key string, data []byte) store.Version {
	st.writes++
	version := store.Version(strconv.FormatUint(st.writes, 10))
	if i, found := slices.BinarySearch(st.keys, key); !found {
		st.keys = slices.Insert(st.keys, i, key)
	}
	st.values[key] = value{bytes.Clone(data), version}
	return version
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

// leftover is a key that should be gone once all jobs have ended, or "". What was
// written late, when its writer had given up on it or was dead, may stay, and so may
// a partial whose writer died before anybody heard of it. The index is tidied up by
// the next leader.
func (st *storage) leftover() string {
	for _, key := range st.list("active/") {
		if !st.stray[key] {
			return key
		}
	}
	for _, key := range st.list("partial/") {
		id, _, _ := strings.Cut(strings.TrimPrefix(key, "partial/"), "/")
		if !st.stray[key] && st.writers[key].alive && !(st.sim.jobs[id].removed && st.abandoned(key)) {
			return key
		}
	}
	return ""
}

// remainder is a key of a job that was removed, or "".
func (st *storage) remainder(id string) string {
	for _, key := range st.keys {
		if strings.Contains(key, id) && !st.abandoned(key) {
			return key
		}
	}
	return ""
}

// abandoned reports whether a value's writer could not take it back any more once it
// learned that the job was removed.
func (st *storage) abandoned(key string) bool {
	w, epoch := st.writers[key], st.terms[key]
	switch {
	case st.stray[key] || !w.alive:
		return true
	case epoch > 0: // it led then
		return w.leads() != epoch
	case strings.HasPrefix(key, "partial/"): // it need not have led
		return false
	default: // its term was over already
		return w.candidate != nil
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

// queue is a process's driver of the submission queue.
type queue struct{ process *process }

func (q *queue) Send(ctx context.Context, body []byte) error {
	st := q.process.sim.storage
	return q.process.call(ctx, func() error {
		st.messages = append(st.messages, &message{body: bytes.Clone(body)})
		return nil
	})
}

// Receive looks for a message, again and again, as drivers of queues that have
// to be asked do.
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

// take receives the first message that is visible, and hides it.
func (st *storage) take(p *process) *delivery {
	s := st.sim
	for _, m := range st.messages {
		if m.deleted || m.hiddenUntil > s.now {
			continue
		}
		m.deliveries++
		if m.deliveries > 1 {
			s.hit("seen: submission delivered again")
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
