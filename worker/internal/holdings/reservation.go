package holdings

import (
	"context"
	"slices"
)

// Reservation is memory that a merge or a write to storage may use.
type Reservation struct {
	h       *Holdings
	bytes   int64
	awaited bool // other reservations that exceed the limit wait for this one
	ended   bool
}

// Reserve waits until n bytes of memory are free, or until there is no other reservation and no
// partial is being moved to a file. If n bytes would exceed the limit by more than a quarter, Reserve also waits for
// the merge stacks of slots, which hand over their partials while memory is short. Reservations are granted in the
// order of the calls, so that small ones cannot keep a large one waiting.
func (h *Holdings) Reserve(ctx context.Context, n int64) (*Reservation, error) {
	defer context.AfterFunc(ctx, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.freed.Broadcast()
	})()
	h.mu.Lock()
	defer h.mu.Unlock()
	r := &Reservation{h: h, bytes: n, awaited: true}
	h.waiting = append(h.waiting, r)
	defer func() {
		h.waiting = slices.DeleteFunc(h.waiting, func(o *Reservation) bool { return o == r })
		h.freed.Broadcast()
	}()
	waits := func() bool {
		exceeds := h.used() + n - h.cfg.Limit
		return h.waiting[0] != r || (h.reserves > 0 || h.spilling) && exceeds > 0 || h.stacks > 0 && exceeds > h.cfg.Limit/4
	}
	for waits() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		h.freed.Wait()
	}
	h.reserves++
	h.change(&h.reserved, n)
	return r, nil
}

// Detach lets other reservations no longer wait for this one. The memory still counts. Detach is
// meant for memory of code that may never return.
func (r *Reservation) Detach() {
	r.h.mu.Lock()
	defer r.h.mu.Unlock()
	r.detach()
}

func (r *Reservation) detach() {
	if r.awaited {
		r.awaited = false
		r.h.reserves--
		r.h.freed.Broadcast()
	}
}

// Release ends the reservation. Further calls of Release do nothing.
func (r *Reservation) Release() {
	r.h.mu.Lock()
	defer r.h.mu.Unlock()
	if r.ended {
		return
	}
	r.ended = true
	r.detach()
	r.h.change(&r.h.reserved, -r.bytes)
}
