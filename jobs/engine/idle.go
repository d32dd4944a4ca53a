package engine

import (
	"context"
	"sync/atomic"
)

// Idle counts the slots of a process that have no work. A merge of large partials borrows idle slots, and merges
// one shard in each of them. The methods may be called from several goroutines. A nil Idle has no slots.
type Idle struct{ slots atomic.Int64 }

// Add adds n idle slots. A slot that gets work is subtracted, even while a merge has borrowed the slot: the merge then
// runs beside the slot's work.
func (i *Idle) Add(n int) {
	if i != nil {
		i.slots.Add(int64(n))
	}
}

// Borrow subtracts up to the given number of idle slots and returns how many. The caller adds them when it has
// finished.
func (i *Idle) Borrow(most int) int {
	if i == nil {
		return 0
	}
	for {
		free := i.slots.Load()
		n := max(0, min(int64(most), free))
		if n == 0 || i.slots.CompareAndSwap(free, free-n) {
			return int(n)
		}
	}
}

type idleKey struct{}

// WithIdle returns a context for the code of jobs, whose merges borrow idle slots of i.
func WithIdle(ctx context.Context, i *Idle) context.Context {
	return context.WithValue(ctx, idleKey{}, i)
}

// IdleOf returns the idle slots of a context, or nil.
func IdleOf(ctx context.Context) *Idle {
	i, _ := ctx.Value(idleKey{}).(*Idle)
	return i
}
