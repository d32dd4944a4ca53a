package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

func TestVectorShards(t *testing.T) {
	vector := Vector[int32]{}
	for length := range 20 {
		partial := make([]int32, length)
		for i := range partial {
			partial[i] = int32(i)
		}
		for n := 1; n <= 9; n++ {
			shards := vector.Split(partial, n)
			if got := slices.Concat(shards...); len(shards) != n || !slices.Equal(got, partial) {
				t.Fatalf("%d shards of %v are %v", n, partial, shards)
			}
			for _, shard := range shards {
				if cap(shard) != len(shard) {
					t.Fatalf("an append to the shard %v of %d of %v changes the next one", shard, n, partial)
				}
				if diff := len(shard) - length/n; diff < 0 || diff > 1 {
					t.Fatalf("the shards %v of %v differ in length by more than 1", shards, partial)
				}
			}
			if joined := vector.Join(partial, shards); length > 0 && &joined[0] != &partial[0] {
				t.Fatalf("the %d unchanged shards of %v were copied", n, partial)
			}
		}
	}
	if size := vector.Size(make([]int32, 5)); size != 20 {
		t.Errorf("5 numbers of 4 bytes have size %d", size)
	}
}

// TestVectorJoinsOtherMemory checks that Join copies shards that Merge did not return in the memory of left.
func TestVectorJoinsOtherMemory(t *testing.T) {
	left := []uint16{1, 2, 3, 4, 5, 6}
	for name, change := range map[string]func(shards [][]uint16){
		"new memory":    func(shards [][]uint16) { shards[1] = []uint16{9, 8} },
		"longer":        func(shards [][]uint16) { shards[2] = append(shards[2], 7) },
		"shorter":       func(shards [][]uint16) { shards[0] = shards[0][:1] },
		"shorter last":  func(shards [][]uint16) { shards[2] = shards[2][:1] },
		"none":          func(shards [][]uint16) { shards[1] = nil },
		"another order": func(shards [][]uint16) { shards[0], shards[1] = shards[1], shards[0] },
	} {
		shards := Vector[uint16]{}.Split(left, 3)
		change(shards)
		if got, want := (Vector[uint16]{}).Join(left, shards), slices.Concat(shards...); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

// shardable is the length of a vector that is large enough for eight shards.
const shardable = 8 * leastShard / 8

// shardedJob returns a job that merges vectors in shards. Its result is the digest of the root.
func shardedJob(mapper Mapper[[]float64], merge func(left, right []float64) ([]float64, error), sharder Sharder[[]float64]) Job {
	return MustNew(shardedDefinition(mapper, merge, sharder))
}

func shardedDefinition(mapper Mapper[[]float64], merge func(left, right []float64) ([]float64, error), sharder Sharder[[]float64]) Definition[vectorParams, []float64, string] {
	return Definition[vectorParams, []float64, string]{
		Name: "vectors", Version: "1", Defaults: vectorParams{Partitions: 1},
		Plan:  func(_ context.Context, p vectorParams) (Plan, error) { return Plan{Partitions: p.Partitions}, nil },
		Open:  func(context.Context, vectorParams, Plan) (Mapper[[]float64], error) { return mapper, nil },
		Merge: merge,
		Finish: func(_ context.Context, _ vectorParams, root []float64) (string, error) {
			data, err := Vector[float64]{}.EncodeInPlace(root)
			return fmt.Sprintf("%x", engine.Digest(data)), err
		},
		Codec: Vector[float64]{}, Shards: sharder,
	}
}

// TestMergeBorrowsIdleSlots checks that a merge runs on all idle slots at the same time, if its partials are large
// enough, and that it returns the slots.
func TestMergeBorrowsIdleSlots(t *testing.T) {
	for _, c := range []struct{ length, idle, want int }{
		{shardable, 0, 1},
		{shardable, 1, 2},
		{shardable, 3, 4},
		{shardable, 100, 8},
		{shardable / 4, 100, 2},
		{shardable / 8, 100, 1},
		{2*shardable/8 - 1, 100, 1},
	} {
		var begun atomic.Int64
		all := make(chan struct{})
		job := shardedJob(filler{length: c.length}, func(left, right []float64) ([]float64, error) {
			if begun.Add(1) == int64(c.want) {
				close(all)
			}
			<-all // the test would not end if shards were merged one after the other
			return addVectors(left, right)
		}, Vector[float64]{})
		idle := new(engine.Idle)
		idle.Add(c.idle)
		one := make([]float64, c.length)
		for i := range one {
			one[i] = float64(i)
		}
		data := must(Vector[float64]{}.Encode(one))
		merged := must(merge(engine.WithIdle(t.Context(), idle), job, must(job.Params(nil)), data, data))
		want := must(Vector[float64]{}.Encode(must(addVectors(one, one))))
		if !bytes.Equal(merged, want) || begun.Load() != int64(c.want) {
			t.Errorf("%+v: merged in %d shards, equal: %v", c, begun.Load(), bytes.Equal(merged, want))
		}
		if n := idle.Borrow(1000); n != c.idle {
			t.Errorf("%+v: %d slots are idle after the merge", c, n)
		}
	}
}

func TestMergeOfShardsFails(t *testing.T) {
	cause := errors.New("cause")
	last := func(left []float64) bool { return left[len(left)-1] == shardable-1 }
	for name, c := range map[string]struct {
		fail func()
		err  error
		is   error
		text string
	}{
		"error":  {err: cause, is: cause, text: "cause"},
		"panic":  {fail: func() { panic("boom") }, text: "boom"},
		"goexit": {fail: runtime.Goexit, is: ErrGoexit, text: "Merge: the code called runtime.Goexit"},
	} {
		job := shardedJob(filler{length: shardable}, func(left, right []float64) ([]float64, error) {
			if last(left) {
				if c.fail != nil {
					c.fail()
				}
				return nil, c.err
			}
			return left, nil
		}, Vector[float64]{})
		idle := new(engine.Idle)
		idle.Add(3)
		data := make([]float64, shardable)
		data[shardable-1] = shardable - 1
		partial := must(Vector[float64]{}.Encode(data))
		_, err := merge(engine.WithIdle(t.Context(), idle), job, must(job.Params(nil)), partial, partial)
		if err == nil || !strings.Contains(err.Error(), c.text) || c.is != nil && !errors.Is(err, c.is) || !IsPermanent(err) {
			t.Errorf("%s: got %v", name, err)
		}
		if n := idle.Borrow(1000); n != 3 {
			t.Errorf("%s: %d slots are idle after the merge, want 3", name, n)
		}
	}
}

// lateFiller is a filler whose last partition waits until another slot has ended.
type lateFiller struct {
	filler
	last uint64
}

func (f lateFiller) Fill(ctx context.Context, partition uint64, spare []float64) ([]float64, error) {
	for partition == f.last && ctx.Err() == nil {
		if idle := engine.IdleOf(ctx); idle.Borrow(1) == 1 {
			idle.Add(1)
			break
		}
		time.Sleep(time.Millisecond)
	}
	return f.filler.Fill(ctx, partition, spare)
}

// TestLocalMergesShards checks that a slot without partitions helps the last merges of a run, and that the bytes of the
// result are those of a run without shards.
func TestLocalMergesShards(t *testing.T) {
	const partitions = 13
	var lengths sync.Map
	shards := func(left, right []float64) ([]float64, error) {
		lengths.Store(len(left), true)
		return addVectors(left, right)
	}
	plain := shardedJob(filler{length: shardable}, addVectors, nil)
	params := must(plain.Params(nil, fmt.Sprint("partitions=", partitions)))
	want := must(Local{Slots: 1, Attempts: 1}.Run(t.Context(), plain, params))
	for slots := 1; slots <= 4; slots++ {
		mapper := lateFiller{filler{length: shardable}, partitions - 1}
		if slots == 1 {
			mapper.last = partitions // the only slot must not wait for another
		}
		lengths.Clear()
		got := must(Local{Slots: slots, Attempts: 1}.Run(t.Context(), shardedJob(mapper, shards, Vector[float64]{}), params))
		if !bytes.Equal(got.Result, want.Result) {
			t.Errorf("%d slots: the result differs from that without shards", slots)
		}
		if _, whole := lengths.Load(shardable); !whole && slots == 1 {
			t.Error("a run with one slot merges shards")
		}
		_, half := lengths.Load(shardable / 2)
		_, third := lengths.Load(shardable / 3)
		_, quarter := lengths.Load(shardable / 4)
		if slots > 1 && !half && !third && !quarter {
			t.Errorf("%d slots: no merge used an idle slot", slots)
		}
	}
}

func TestCheckAcceptsShards(t *testing.T) {
	for _, length := range []int{0, 1, 5, 1000} {
		job := shardedJob(filler{length: length}, addVectors, Vector[float64]{})
		if _, err := (Check{Attempts: 1}).Run(t.Context(), job, must(job.Params(nil, "partitions=20"))); err != nil {
			t.Errorf("vectors of %d numbers: %v", length, err)
		}
	}
}

// fewer splits into one shard less than is asked for.
type fewer struct{ Vector[float64] }

func (f fewer) Split(partial []float64, n int) [][]float64 { return f.Vector.Split(partial, n-1) }

// backwards joins shards in another order than Split has returned them.
type backwards struct{ Vector[float64] }

func (backwards) Join(_ []float64, shards [][]float64) []float64 {
	slices.Reverse(shards)
	return slices.Concat(shards...)
}

// growing is a mapper whose vectors differ in length.
type growing struct{}

func (growing) Map(_ context.Context, partition uint64) ([]float64, error) {
	return slices.Repeat([]float64{1}, int(partition)+1), nil
}

func TestCheckFindsMergesThatUseMoreThanAShard(t *testing.T) {
	addLonger := func(left, right []float64) ([]float64, error) {
		if len(left) < len(right) {
			left, right = right, left
		}
		for i := range right {
			left[i] += right[i]
		}
		return left, nil
	}
	header := func(left, right []float64) ([]float64, error) {
		if len(left) > 0 {
			left[0]++
		}
		for i := 1; i < len(left); i++ {
			left[i] += right[i]
		}
		return left, nil
	}
	vectors := Vector[float64]{}
	for name, c := range map[string]struct {
		job  Job
		want string
	}{
		"header": {shardedJob(filler{length: 100}, header, vectors), "node 1/0, partitions [0,2): its merge and merges of its children's shards (shard 1 of 3) give different bytes: Merge uses more"},
		"append": {
			shardedJob(filler{length: 100}, func(left, right []float64) ([]float64, error) { return append(left, right...), nil }, vectors),
			"merges of its children's shards (shard 0 of 3) give different bytes: Merge uses more",
		},
		"lengths": {shardedJob(growing{}, addLonger, vectors), "(shard 1 of 3) give different bytes: Merge uses more of a partial than one shard"},
		"split":   {shardedJob(filler{length: 100}, addVectors, fewer{}), "node 1/0, partitions [0,2), in shards: Split returned 2 shards: want 3"},
		"join":    {shardedJob(filler{length: 100}, addVectors, backwards{}), "(3 joined shards) give different bytes"},
	} {
		_, err := Check{Attempts: 1}.Run(t.Context(), c.job, must(c.job.Params(nil, "partitions=9")))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestWrongNumberOfShards(t *testing.T) {
	job := shardedJob(filler{length: shardable}, addVectors, fewer{})
	idle := new(engine.Idle)
	idle.Add(1)
	data := make([]byte, 8*shardable)
	_, err := merge(engine.WithIdle(t.Context(), idle), job, must(job.Params(nil)), data, data)
	if err == nil || !strings.Contains(err.Error(), "Split returned 1 and 1 shards: want 2") {
		t.Errorf("got %v", err)
	}
}

func TestShardsExcludeMerger(t *testing.T) {
	d := shardedDefinition(filler{length: 1}, addVectors, Vector[float64]{})
	d.Merger = func(vectorParams) func(context.Context, []float64, []float64) ([]float64, error) { return nil }
	if _, err := New(d); err == nil || !strings.Contains(err.Error(), "Merger and Shards: want one of them") {
		t.Errorf("got %v", err)
	}
}

// TestCheckFindsShardsOfRounds checks that the shards of a definition with rounds are checked too.
func TestCheckFindsShardsOfRounds(t *testing.T) {
	d := Rounds[vectorParams, float64, []float64, float64]{
		Name: "rounds", Version: "1", Defaults: vectorParams{Partitions: 1},
		Plan:  func(_ context.Context, p vectorParams) (Plan, error) { return Plan{Partitions: p.Partitions}, nil },
		Start: func(context.Context, vectorParams, Plan) (float64, error) { return 0, nil },
		Open: func(context.Context, vectorParams, Plan) (Rounder[float64, []float64], error) {
			return fillRounds{}, nil
		},
		Merge: func(left, right []float64) ([]float64, error) { return append(left, right...), nil },
		Next: func(_ context.Context, _ vectorParams, _ float64, total []float64, _ uint64) (Step[float64], error) {
			return Step[float64]{State: total[0], Done: true}, nil
		},
		MaxRounds: func(vectorParams) uint64 { return 1 },
		Finish:    func(_ context.Context, _ vectorParams, state float64) (float64, error) { return state, nil },
		Codec:     Vector[float64]{}, Shards: Vector[float64]{},
	}
	job := MustNewRounds(d)
	_, err := Check{Attempts: 1}.Run(t.Context(), job, must(job.Params(nil, "partitions=9")))
	if err == nil || !strings.Contains(err.Error(), "round 1: node 1/0") || !strings.Contains(err.Error(), causeShards) {
		t.Errorf("got %v", err)
	}
}

type fillRounds struct{}

func (fillRounds) Round(context.Context, float64) (Mapper[[]float64], error) { return growing{}, nil }
