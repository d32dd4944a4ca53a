package jobs

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/bellwether-compute/bellwether/jobs/engine/caches"
)

// Cache keeps values of partitions between the rounds of a job, such as the rows that a partition has read. The
// values of all caches of a process count against its memory (the flag --memory), in which partials have priority. A
// value that does not fit is loaded again in the next round. A value in use may exceed the memory: of these there is
// at most one per slot.
//
// A cache only saves time: after each round a value may be missing, because the partition has moved to another worker
// or because memory was short. The cache is empty when the job is closed. Several goroutines may use a cache.
type Cache[V any] struct {
	job  *caches.Job
	size func(V) int64

	mu      sync.Mutex
	kept    map[uint64]*cached[V]
	loading map[uint64]*loading[V]
}

// cached is a value that the cache keeps until its memory is needed.
type cached[V any] struct {
	value   atomic.Pointer[V] // nil after the value was dropped
	counted *caches.Value
}

// loading is a value that one caller loads and for which others wait.
type loading[V any] struct {
	done  chan struct{} // closed after the load
	ok    bool          // value is set
	value V
}

// NewCache returns an empty cache. It is called in the function Open of a [Rounds], with the context of that
// function. With another context the cache keeps nothing. The function size returns the number of bytes that a value
// takes in memory.
func NewCache[V any](ctx context.Context, size func(V) int64) *Cache[V] {
	job, ok := ctx.Value(cachesKey{}).(*caches.Job)
	if !ok {
		job = caches.New(0).Job()
	}
	return &Cache[V]{job: job, size: size, kept: map[uint64]*cached[V]{}, loading: map[uint64]*loading[V]{}}
}

// Get returns the value of a partition. If the cache does not have it, Get calls load. If several goroutines need the
// value of a partition at the same time, only one of them loads it, unless its load fails. They share the value, so
// nobody may change it.
func (c *Cache[V]) Get(ctx context.Context, partition uint64, load func(ctx context.Context) (V, error)) (V, error) {
	for {
		c.mu.Lock()
		if k := c.kept[partition]; k != nil {
			if value := k.value.Load(); value != nil {
				c.mu.Unlock()
				c.job.Use(k.counted)
				return *value, nil
			}
		}
		other := c.loading[partition]
		if other == nil {
			mine := &loading[V]{done: make(chan struct{})}
			c.loading[partition] = mine
			c.mu.Unlock()
			return c.load(ctx, partition, mine, load)
		}
		c.mu.Unlock()
		select {
		case <-other.done:
			if other.ok {
				return other.value, nil
			}
		case <-ctx.Done():
			var none V
			return none, context.Cause(ctx)
		}
	}
}

// load loads a value for this caller and for those that wait.
func (c *Cache[V]) load(ctx context.Context, partition uint64, l *loading[V], load func(ctx context.Context) (V, error)) (value V, err error) {
	defer func() { // also if load panics or ends the goroutine
		c.mu.Lock()
		delete(c.loading, partition)
		c.mu.Unlock()
		close(l.done)
	}()
	if value, err = load(ctx); err != nil {
		return value, err
	}
	l.value, l.ok = value, true
	c.keep(partition, value)
	return value, nil
}

// entryBytes is what an entry takes beside its value.
const entryBytes = 256

// keep keeps a value if it fits.
func (c *Cache[V]) keep(partition uint64, value V) {
	k := &cached[V]{}
	k.value.Store(&value)
	k.counted = c.job.Add(max(0, c.size(value))+entryBytes, func() { k.value.Store(nil) })
	if k.counted == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept[partition] = k
}

// openCaches returns a context for the function Open of a job with rounds, whose caches belong to the returned job.
func openCaches(ctx context.Context) (context.Context, *caches.Job) {
	job := caches.Of(ctx).Job()
	return context.WithValue(ctx, cachesKey{}, job), job
}

type cachesKey struct{}

// beginRound tells the caches of a job that a round begins, and logs if values of the last round did not fit.
func beginRound(ctx context.Context, job *caches.Job) {
	s, short := job.Begin()
	if !short {
		return
	}
	Logger(ctx).Warn(fmt.Sprintf("The data of this worker's partitions do not fit into its caches, so a part is loaded again in each round: "+
		"for speed give each worker %d MiB more with --memory, or add workers", megabytes(caches.MemoryFor(s.Refused))),
		"data", fmt.Sprintf("%d MiB", megabytes(s.Read)), "not_kept", fmt.Sprintf("%d MiB", megabytes(s.Refused)))
}

// megabytes returns a number of bytes in MiB, rounded up.
func megabytes(bytes int64) int64 { return (bytes + 1<<20 - 1) >> 20 }

// DefaultMemory is the default of the field Memory of [Local].
const DefaultMemory = 1 << 30

// withMemory returns a context with which jobs are opened whose caches may use a part of the memory.
func withMemory(ctx context.Context, memory int64) context.Context {
	return caches.With(ctx, caches.New(caches.Share(cmp.Or(memory, DefaultMemory))))
}
