package sim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/memory"
)

// storage is a cluster's blobs, queue and lease. Calls by processes may be delayed or lost.
type storage struct {
	sim      *Sim
	identity string
	up       bool
	blobs    *memory.Blobs
	store    *store.Store               // store that reads blobs without delay or faults
	origins  map[string]origin          // origin of each blob, by the blob's key
	history  map[string][]store.Version // versions that each blob has had, by key; "" means a removal
	messages []*message
	lease    *lease
	late     bool // true if the caller of the current call has died or has stopped waiting
}

// newStorage returns a storage whose identity is a pair of digits, repeated 16 times.
func newStorage(s *Sim, digits string) *storage {
	blobs := memory.NewBlobs()
	identity := strings.Repeat(digits, 16)
	record := append([]byte{1, 0xa1, 1, 0x78, 32}, identity...) // CBOR encoding of the map {1: identity}
	if _, err := blobs.Put(context.Background(), "identity", record, store.IfAbsent); err != nil {
		panic(fmt.Errorf("store identity: %w", err)) // cannot happen: storage in memory refuses only a blob that exists, and this storage is empty
	}
	return &storage{sim: s, identity: identity, up: true, blobs: blobs, store: store.New(store.Config{Blobs: blobs}), origins: map[string]origin{}, history: map[string][]store.Version{}}
}

// callTimeout is the maximum time that a caller waits for a storage call.
const callTimeout = 3 * time.Second

// call simulates a call of a process to storage. call first runs the function effect, which changes
// or reads the storage, and then calls the function answer. The argument of answer is an error if
// storage does not reply in time. The call may be lost before its effect, or its reply may be lost
// after the effect. A slow call may take effect after the caller has stopped waiting or has died.
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

// call blocks the running coroutine until the process's storage has replied, or for callTimeout.
func (p *process) call(ctx context.Context, effect func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var result, lost error
	st := p.storage
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
