package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

type shardedParams struct {
	Partitions uint64 `json:"partitions" min:"1"`
	Length     int    `json:"length" min:"1"`
	Shard      int    `json:"shard" min:"1"`
}

// sample returns numbers from one index to another of the vector of a partition. Their sum depends on the order of additions.
func (p shardedParams) sample(partition uint64, from, to int) []float64 {
	random := rand.New(rand.NewPCG(partition, 1))
	var list []float64
	for i := range to {
		if x := random.NormFloat64(); i >= from {
			list = append(list, x)
		}
	}
	return list
}

type shardedSample shardedParams

func (m shardedSample) Map(_ context.Context, shard, partition uint64) ([]float64, error) {
	from := int(shard) * m.Shard
	return shardedParams(m).sample(partition, from, min(from+m.Shard, m.Length)), nil
}

// shardedFill is a shardedSample that fills spare memory, and has all optional interfaces.
type shardedFill struct {
	shardedSample
	closed, cleaned *atomic.Int64
}

func (m shardedFill) Fill(ctx context.Context, shard, partition uint64, spare []float64) ([]float64, error) {
	list, err := m.Map(ctx, shard, partition)
	return append(spare[:0], list...), err
}

func (m shardedFill) PartialBytes() int64 { return 8 * int64(m.Shard) }

func (m shardedFill) Close() error {
	m.closed.Add(1)
	return nil
}

func (m shardedFill) CleanUp(context.Context) error {
	m.cleaned.Add(1)
	return nil
}

// inShards is a job in shards. Its result is the sum of vectors, whose shards are moved to storage.
func inShards() Sharded[shardedParams, []float64, string, Attachment] {
	return Sharded[shardedParams, []float64, string, Attachment]{
		Name: "shards", Version: "1", Defaults: shardedParams{Partitions: 5, Length: 10, Shard: 3},
		Plan: func(_ context.Context, p shardedParams) (ShardedPlan, error) {
			return ShardedPlan{Shards: uint64((p.Length-1)/p.Shard + 1), Partitions: p.Partitions, Data: []byte("data")}, nil
		},
		Open: func(_ context.Context, p shardedParams, plan ShardedPlan) (ShardMapper[[]float64], error) {
			if plan.Partitions != p.Partitions || string(plan.Data) != "data" {
				return nil, fmt.Errorf("opened with %+v", plan)
			}
			return shardedSample(p), nil
		},
		Merge: addVectors,
		FinishShard: func(ctx context.Context, _ shardedParams, _ uint64, merged []float64) (string, error) {
			data, err := Vector[float64]{}.Encode(merged)
			if err != nil {
				return "", err
			}
			return PutSpill(ctx, data)
		},
		Finish: func(ctx context.Context, _ shardedParams, shards []string) (Attachment, error) {
			return AttachSpills(ctx, "sum.f64", shards)
		},
		Codec: Vector[float64]{},
	}
}

// TestShardedAsWhole checks that the shards of a sharded job have the bytes of the job that is not sharded, whatever the
// number of shards.
func TestShardedAsWhole(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	whole := MustNew(Definition[shardedParams, []float64, Attachment]{
		Name: "whole", Version: "1", Defaults: inShards().Defaults,
		Plan: func(_ context.Context, p shardedParams) (Plan, error) { return Plan{Partitions: p.Partitions}, nil },
		Open: func(_ context.Context, p shardedParams, _ Plan) (Mapper[[]float64], error) {
			return vectorMapping(func(partition uint64) []float64 { return p.sample(partition, 0, p.Length) }), nil
		},
		Merge: addVectors,
		Finish: func(_ context.Context, _ shardedParams, root []float64) (Attachment, error) {
			data, err := Vector[float64]{}.EncodeInPlace(root)
			return NewAttachment("sum.f64", data), err
		},
		Codec: Vector[float64]{},
	})
	sharded := MustNewSharded(inShards())
	var closed, cleaned atomic.Int64
	filled := inShards()
	filled.Open = func(_ context.Context, p shardedParams, _ ShardedPlan) (ShardMapper[[]float64], error) {
		return shardedFill{shardedSample(p), &closed, &cleaned}, nil
	}
	for _, p := range []shardedParams{{1, 1, 1}, {1, 5, 2}, {2, 5, 5}, {3, 7, 2}, {5, 10, 3}, {8, 8, 1}, {13, 20, 20}, {17, 16, 4}} {
		want, err := Local{Slots: 2, Attempts: 1}.Run(t.Context(), whole, must(whole.EncodeParams(p)))
		if err != nil {
			t.Fatal(err)
		}
		for slots := range 4 {
			got, err := Local{Slots: slots + 1, Attempts: 1}.Run(t.Context(), sharded, must(sharded.EncodeParams(p)))
			if err != nil || !bytes.Equal(got.Result, want.Result) || !bytes.Equal(got.Attachment.Data(), want.Attachment.Data()) {
				t.Errorf("%+v with %d slots: got %s, %v, want %s", p, slots+1, got.Result, err, want.Result)
			}
		}
		for _, d := range []Sharded[shardedParams, []float64, string, Attachment]{inShards(), filled} {
			job := MustNewSharded(d)
			checked, err := Check{Slots: 3, Attempts: 1}.Run(t.Context(), job, must(job.EncodeParams(p)))
			if err != nil || !bytes.Equal(checked.Result, want.Result) {
				t.Errorf("%+v, checked: got %s, %v, want %s", p, checked.Result, err, want.Result)
			}
		}
	}
	if closed.Load() == 0 || cleaned.Load() != 0 {
		t.Errorf("mappers were closed %d times and cleaned up %d times", closed.Load(), cleaned.Load())
	}
	if left := must(os.ReadDir(os.TempDir())); len(left) > 0 {
		t.Errorf("the runs left %v", left)
	}
}

type vectorMapping func(partition uint64) []float64

func (m vectorMapping) Map(_ context.Context, partition uint64) ([]float64, error) {
	return m(partition), nil
}

// TestFinishShardIsRetried checks that a failed FinishShard is called again with the same shard, in a slot and in a merge of
// encoded partials.
func TestFinishShardIsRetried(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	want := map[shardedParams]string{}
	for _, failing := range []bool{false, true} {
		for _, p := range []shardedParams{{8, 6, 3}, {3, 9, 1}} {
			var tried sync.Map
			d := inShards()
			finish := d.FinishShard
			d.FinishShard = func(ctx context.Context, p shardedParams, shard uint64, merged []float64) (string, error) {
				if _, again := tried.LoadOrStore(shard, true); failing && !again {
					return "", errors.New("storage is busy")
				}
				return finish(ctx, p, shard, merged)
			}
			job := MustNewSharded(d)
			got, err := Local{Slots: 2, Attempts: 3}.Run(t.Context(), job, must(job.EncodeParams(p)))
			if err != nil || failing && string(got.Result) != want[p] {
				t.Errorf("%+v: got %s, %v, want %s", p, got.Result, err, want[p])
			}
			want[p] = string(got.Result)
		}
	}
}

func TestShardedFails(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	type definition = Sharded[shardedParams, []float64, string, Attachment]
	failed := errors.New("broken")
	for want, change := range map[string]func(d *definition){
		"FinishShard of shard 1: broken": func(d *definition) {
			finish := d.FinishShard
			d.FinishShard = func(ctx context.Context, p shardedParams, shard uint64, merged []float64) (string, error) {
				if shard == 1 {
					return "", failed
				}
				return finish(ctx, p, shard, merged)
			}
		},
		"broken":                         func(d *definition) { d.Merge = func([]float64, []float64) ([]float64, error) { return nil, failed } },
		"0 shards of 5 partitions: want": func(d *definition) { d.Plan = planned(ShardedPlan{Partitions: 5}) },
		"1 shards of 0 partitions: want": func(d *definition) { d.Plan = planned(ShardedPlan{Shards: 1}) },
		"want at most 2^62 in all":       func(d *definition) { d.Plan = planned(ShardedPlan{Shards: 2, Partitions: 1<<61 + 1}) },
		"Open returned neither a mapper": func(d *definition) { d.Open = opening(nil, nil) },
		"open job shards: broken":        func(d *definition) { d.Open = opening(nil, failed) },
		"attachment \"sum.f64\": read data": func(d *definition) {
			d.FinishShard = func(context.Context, shardedParams, uint64, []float64) (string, error) { return "none", nil }
		},
	} {
		d := inShards()
		change(&d)
		job := MustNewSharded(d)
		if _, err := (Local{Slots: 2, Attempts: 2}).Run(t.Context(), job, must(job.Params(nil))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	for want, change := range map[string]func(d *definition){
		"define job shards: want all of": func(d *definition) { d.FinishShard = nil },
		"define job: Name":               func(d *definition) { d.Name = "" },
	} {
		d := inShards()
		change(&d)
		if _, err := NewSharded(d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func planned(plan ShardedPlan) func(context.Context, shardedParams) (ShardedPlan, error) {
	return func(context.Context, shardedParams) (ShardedPlan, error) { return plan, nil }
}

func opening(m ShardMapper[[]float64], err error) func(context.Context, shardedParams, ShardedPlan) (ShardMapper[[]float64], error) {
	return func(context.Context, shardedParams, ShardedPlan) (ShardMapper[[]float64], error) { return m, err }
}

// TestShardsWithoutPartitions merges partials without the partitions of a shard, as after skipped partitions.
func TestShardsWithoutPartitions(t *testing.T) {
	ctx, release := withTempSpills(t.Context())
	defer release()
	job := MustNewSharded(inShards())
	params := must(job.Params(nil))
	plan := must(job.Plan(ctx, params))
	task := must(job.binding.open(ctx, params, plan))
	one := func(partition uint64) engine.Operand {
		s := task.NewStack()
		var stop atomic.Bool
		if _, err := s.Run(ctx, Span{Lo: partition, Hi: partition + 1}, &stop); err != nil {
			t.Fatal(err)
		}
		return engine.Operand{Data: must(s.Drain(partition + 1))[0].Data}
	}
	// Of shard 0, only partition 4 is left, of shard 1 only the partitions that were added to it, of shard 2 all but one,
	// and of shard 3 nothing.
	merged := one(4)
	for _, partition := range []uint64{13, 16, 17, 19, 20} {
		data, err := job.Engine().Merge(ctx, params, merged, one(partition))
		if err != nil {
			t.Fatal(err)
		}
		merged = engine.Operand{Data: data}
	}
	result, attached, err := job.Engine().Finish(ctx, params, merged)
	if err == nil || !strings.Contains(err.Error(), "attachment") {
		t.Errorf("got %s, %v, %v, want that the attachment lacks shard 1", result, attached, err)
	}
	d := inShards()
	d.Finish = func(_ context.Context, _ shardedParams, shards []string) (Attachment, error) {
		return NewAttachment("shards", fmt.Appendf(nil, "%d: %v %v %v %v", len(shards), shards[0] != "", shards[1] != "", shards[2] != "", shards[3] != "")), nil
	}
	_, attached, err = MustNewSharded(d).Engine().Finish(ctx, params, merged)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(attached.(Attachment).Data()); got != "4: true false true false" {
		t.Errorf("got %s", got)
	}
}

func TestShardCodec(t *testing.T) {
	codec := shardCodec[[]float64]{Zstd[[]float64](Vector[float64]{})}
	parts := []shardPart[[]float64]{
		{kind: noPart, shard: 3, shards: 4, value: nil},
		{kind: onePart, shard: 2, shards: 9, value: make([]float64, 100)},
		{kind: onePart, shards: 1},
		{kind: manyParts, shards: 2, results: []byte("abc")},
	}
	for _, part := range parts {
		data := must(codec.Encode(part))
		again := must(codec.Decode(data))
		if fmt.Sprint(again) != fmt.Sprint(part) {
			t.Errorf("%v was decoded as %v", part, again)
		}
		if owned := must(codec.DecodeInPlace(bytes.Clone(data))); fmt.Sprint(owned) != fmt.Sprint(part) {
			t.Errorf("%v was decoded in place as %v", part, owned)
		}
		if size, want := codec.decodedSize(data), 8*len(part.value); size != uint64(want) {
			t.Errorf("%v: got a decoded size of %d, want %d", part, size, want)
		}
		for cut := range len(data) {
			if _, err := codec.Decode(data[:cut]); err == nil && cut < shardTail {
				t.Errorf("%d bytes of %v were decoded", cut, part)
			}
		}
	}
	if _, err := codec.Decode(make([]byte, shardTail)); err == nil || !strings.Contains(err.Error(), "unknown kind 0") {
		t.Errorf("got %v", err)
	}
}
