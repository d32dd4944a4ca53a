package jobs

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/engine/caches"
)

// openCache returns a cache of a job that may use a number of bytes.
func openCache(t *testing.T, bytes int64) (*Cache[[]byte], *caches.Job) {
	t.Helper()
	ctx, job := openCaches(caches.With(t.Context(), caches.New(bytes)))
	t.Cleanup(job.Close)
	return NewCache(ctx, func(v []byte) int64 { return int64(len(v)) }), job
}

// loads returns a function that loads a value and counts its calls.
func loads(size int, count *atomic.Int64) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) {
		count.Add(1)
		return make([]byte, size), nil
	}
}

// TestCacheKeepsWhatFits reads ten partitions in three rounds. Four of them fit, and stay.
func TestCacheKeepsWhatFits(t *testing.T) {
	const size = 1000
	c, job := openCache(t, 4*(size+entryBytes))
	for round := range 3 {
		job.Begin()
		var count atomic.Int64
		for partition := range uint64(10) {
			if _, err := c.Get(t.Context(), partition, loads(size, &count)); err != nil {
				t.Fatal(err)
			}
		}
		if want := []int64{10, 6, 6}[round]; count.Load() != want {
			t.Errorf("round %d loaded %d partitions, want %d", round+1, count.Load(), want)
		}
	}
}

// TestCacheFollowsPartitions moves the partitions of a worker: those of the first rounds make room for the others.
func TestCacheFollowsPartitions(t *testing.T) {
	const size = 1000
	c, job := openCache(t, 4*(size+entryBytes))
	var counts []int64
	for round := range 6 {
		job.Begin()
		first := uint64(0)
		if round >= 2 {
			first = 100
		}
		var count atomic.Int64
		for partition := first; partition < first+4; partition++ {
			if _, err := c.Get(t.Context(), partition, loads(size, &count)); err != nil {
				t.Fatal(err)
			}
		}
		counts = append(counts, count.Load())
	}
	if got, want := fmt.Sprint(counts), "[4 0 4 4 0 0]"; got != want {
		t.Errorf("the rounds loaded %s partitions, want %s", got, want)
	}
}

// TestCacheLoadsOnce lets many goroutines get one partition at the same time.
func TestCacheLoadsOnce(t *testing.T) {
	for _, limit := range []int64{0, 1 << 20} { // also if the value is not kept
		c, _ := openCache(t, limit)
		var count atomic.Int64
		begun, waiting := make(chan struct{}), make(chan struct{})
		load := func(context.Context) ([]byte, error) {
			close(begun)
			<-waiting
			count.Add(1)
			return []byte{7}, nil
		}
		var group sync.WaitGroup
		group.Go(func() { _, _ = c.Get(t.Context(), 1, load) })
		<-begun
		for range 8 {
			group.Go(func() {
				if v, err := c.Get(waiter{t.Context()}, 1, loads(3, &count)); err != nil || len(v) != 1 {
					t.Errorf("got %v, error %v, want the value of the load that runs", v, err)
				}
			})
		}
		for range 8 {
			<-waits // each goroutine has found the load
		}
		close(waiting)
		group.Wait()
		if count.Load() != 1 {
			t.Errorf("the partition was loaded %d times, want once", count.Load())
		}
	}
}

// waiter is a context that says when a goroutine begins to wait for it.
type waiter struct{ context.Context }

var waits = make(chan struct{}, 100)

func (w waiter) Done() <-chan struct{} {
	waits <- struct{}{}
	return w.Context.Done()
}

// TestCacheLoadFails checks that a goroutine that waited for a load that fails, panics or ends its goroutine loads the
// value itself.
func TestCacheLoadFails(t *testing.T) {
	for name, fail := range map[string]func() error{
		"error":  func() error { return errors.New("lost") },
		"panic":  func() error { panic("lost") },
		"goexit": func() error { runtime.Goexit(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := openCache(t, 1<<20)
			begun, waiting := make(chan struct{}), make(chan struct{})
			var group sync.WaitGroup
			group.Go(func() {
				defer func() { _ = recover() }()
				_, err := c.Get(t.Context(), 1, func(context.Context) ([]byte, error) {
					close(begun)
					<-waiting
					return nil, fail()
				})
				if err == nil {
					t.Error("the load that failed gave no error")
				}
			})
			<-begun
			var count atomic.Int64
			group.Go(func() {
				if v, err := c.Get(waiter{t.Context()}, 1, loads(3, &count)); err != nil || len(v) != 3 {
					t.Errorf("got %v, error %v, want the value of the second load", v, err)
				}
			})
			<-waits
			close(waiting)
			group.Wait()
		})
	}
}

// TestCacheWaitEnds cancels a Get that waits for the load of another goroutine.
func TestCacheWaitEnds(t *testing.T) {
	c, _ := openCache(t, 1<<20)
	begun, waiting := make(chan struct{}), make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		_, _ = c.Get(t.Context(), 1, func(context.Context) ([]byte, error) {
			close(begun)
			<-waiting
			return nil, nil
		})
	})
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Get(ctx, 1, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want that of the context", err)
	}
	close(waiting)
	group.Wait()
}

// TestCacheGivesTheOwnValue gets random partitions from several goroutines, while the memory grows and shrinks. No Get
// returns the value of another partition, and the used memory never exceeds the limit.
func TestCacheGivesTheOwnValue(t *testing.T) {
	const partitions = 200
	memory := caches.New(0)
	ctx, job := openCaches(caches.With(t.Context(), memory))
	c := NewCache(ctx, func(v uint64) int64 { return int64(v) })
	var group sync.WaitGroup
	for seed := range uint64(4) {
		group.Go(func() {
			x := seed
			for range 5000 {
				x = x*6364136223846793005 + 1442695040888963407
				partition := x >> 33 % partitions
				v, err := c.Get(t.Context(), partition, func(context.Context) (uint64, error) { return partition, nil })
				if err != nil || v != partition {
					t.Errorf("got the value of partition %d for partition %d, error %v", v, partition, err)
					return
				}
				switch x >> 60 {
				case 0:
					memory.SetLimit(int64(x >> 40 % (partitions * entryBytes)))
				case 1:
					job.Begin()
				}
			}
		})
	}
	group.Wait()
	memory.SetLimit(1000)
	if used := memory.Used(); used > 1000 {
		t.Errorf("the caches use %d bytes, the limit is 1000", used)
	}
	job.Close()
	if used := memory.Used(); used != 0 {
		t.Errorf("after the job was closed, its caches use %d bytes", used)
	}
}

// rowsJob returns a job with rounds whose cache uses the keys that the function key returns.
func rowsJob(key func(partition uint64) uint64, loaded *atomic.Int64) Job {
	type none struct{}
	return MustNewRounds(Rounds[none, uint64, uint64, uint64]{
		Name: "rows", Version: "1", Summary: "sum of rows",
		Plan:  func(context.Context, none) (Plan, error) { return Plan{Partitions: 16}, nil },
		Start: func(context.Context, none, Plan) (uint64, error) { return 1, nil },
		Open: func(ctx context.Context, _ none, _ Plan) (Rounder[uint64, uint64], error) {
			return rowsRounder{NewCache(ctx, func([]uint64) int64 { return 8 << 10 }), key, loaded}, nil
		},
		Merge: func(l, r uint64) (uint64, error) { return l + r, nil },
		Next: func(_ context.Context, _ none, state, total, _ uint64) (Step[uint64], error) {
			return Step[uint64]{State: state + total}, nil
		},
		MaxRounds: func(none) uint64 { return 3 },
		Finish:    func(_ context.Context, _ none, state uint64) (uint64, error) { return state, nil },
	})
}

type rowsRounder struct {
	rows   *Cache[[]uint64]
	key    func(uint64) uint64
	loaded *atomic.Int64
}

func (r rowsRounder) Round(_ context.Context, state uint64) (Mapper[uint64], error) {
	return mapperFunc(func(ctx context.Context, partition uint64) (uint64, error) {
		rows, err := r.rows.Get(ctx, r.key(partition), func(context.Context) ([]uint64, error) {
			r.loaded.Add(1)
			return []uint64{partition}, nil
		})
		if err != nil {
			return 0, err
		}
		return state * rows[0], nil
	}), nil
}

type mapperFunc func(context.Context, uint64) (uint64, error)

func (f mapperFunc) Map(ctx context.Context, partition uint64) (uint64, error) {
	return f(ctx, partition)
}

// TestCheckFindsRowsOfAnotherPartition plants a job that uses the rows of another partition, which a check must find.
func TestCheckFindsRowsOfAnotherPartition(t *testing.T) {
	for _, c := range []struct {
		name string
		key  func(uint64) uint64
		ok   bool
	}{
		{"own", func(p uint64) uint64 { return p }, true},
		{"planted", func(p uint64) uint64 { return p / 2 }, false},
	} {
		_, err := Check{Slots: 4, Attempts: 1}.Run(t.Context(), rowsJob(c.key, new(atomic.Int64)), Params("{}"))
		_, differs := errors.AsType[*DifferenceError](err)
		if c.ok && err != nil || !c.ok && !differs {
			t.Errorf("%s: the check gives error %v", c.name, err)
		}
	}
}

// TestShortCachesAreLogged runs a job whose rows do not fit: the job says so once, and gives the same result.
func TestShortCachesAreLogged(t *testing.T) {
	own := func(p uint64) uint64 { return p }
	var results []string
	for _, c := range []struct {
		memory int64
		loaded int64
		lines  int
	}{
		{0, 16, 0},
		{caches.MemoryFor(8 * (8<<10 + entryBytes)), 16 + 8 + 8, 1},
	} {
		var lines []string
		var mu sync.Mutex
		ctx := WithLog(t.Context(), func(l LogLine) {
			mu.Lock()
			defer mu.Unlock()
			lines = append(lines, l.Text)
		})
		var loaded atomic.Int64
		done, err := Local{Slots: 2, Attempts: 1, Memory: c.memory}.Run(ctx, rowsJob(own, &loaded), Params("{}"))
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, string(done.Result))
		if loaded.Load() != c.loaded {
			t.Errorf("with %d bytes: %d loads, want %d", c.memory, loaded.Load(), c.loaded)
		}
		text := strings.Join(lines, "\n")
		if len(lines) != c.lines || c.lines > 0 && (!strings.Contains(text, "give each worker 1 MiB more with --memory") || !strings.Contains(text, `data="1 MiB"`)) {
			t.Errorf("with %d bytes the log is %q, want %d lines", c.memory, text, c.lines)
		}
	}
	if results[0] != results[1] {
		t.Errorf("the results differ: %q", results)
	}
}
