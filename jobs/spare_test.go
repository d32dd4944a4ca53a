package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"pgregory.net/rapid"
)

// filler is a mapper whose values are vectors of small integers, so sums are exact.
type filler struct {
	length int
	reused *atomic.Int64 // number of calls that got a spare value; may be nil
}

func (f filler) Map(context.Context, uint64) ([]float64, error) {
	return nil, Permanent(errors.New("Map is not called"))
}

func (f filler) Fill(_ context.Context, partition uint64, spare []float64) ([]float64, error) {
	if len(spare) != f.length {
		spare = make([]float64, f.length)
	} else if f.reused != nil {
		f.reused.Add(1)
	}
	for i := range spare {
		spare[i] = float64((partition*31 + uint64(i)) & 0xffff)
	}
	return spare, nil
}

func addVectors(left, right []float64) ([]float64, error) {
	for i := range left {
		left[i] += right[i]
	}
	return left, nil
}

type vectorParams struct {
	Partitions uint64 `min:"1"`
}

func vectorJob(mapper Mapper[[]float64], merge func(left, right []float64) ([]float64, error)) Job {
	return MustNew(Definition[vectorParams, []float64, []float64]{
		Name: "vectors", Version: "1", Defaults: vectorParams{Partitions: 1},
		Plan:   func(_ context.Context, p vectorParams) (Plan, error) { return Plan{Partitions: p.Partitions}, nil },
		Open:   func(context.Context, vectorParams, Plan) (Mapper[[]float64], error) { return mapper, nil },
		Merge:  merge,
		Finish: func(_ context.Context, _ vectorParams, root []float64) ([]float64, error) { return root, nil },
		Codec:  Vector[float64]{},
	})
}

// TestSpareValuesAnyOrder checks that spare values do not change the drained partials and the
// result of a local run, for any order of the spans. Drained bytes must not change after Drain.
func TestSpareValuesAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint64Range(1, 100).Draw(t, "n")
		tree := mustTree(t, n)
		f := filler{length: 16}
		job := vectorJob(f, addVectors)
		params := must(job.Params(nil, fmt.Sprintf("partitions=%d", n)))
		want := func(node engine.Node) []byte {
			var sum []float64
			span := tree.Span(node)
			for p := span.Lo; p < span.Hi; p++ {
				one := must(f.Fill(context.Background(), p, nil))
				if sum == nil {
					sum = one
				} else {
					sum = must(addVectors(sum, one))
				}
			}
			return must(Vector[float64]{}.Encode(sum))
		}
		task := must(job.binding.open(context.Background(), params, Plan{Partitions: n}))
		stacks := []engine.Stack{task.NewStack(), task.NewStack()}
		var drained []engine.Partial
		forest := make(map[engine.Node][]byte)
		for _, span := range spansBetween(n, rapid.SliceOfNDistinct(rapid.Uint64Range(0, n-1), 0, int(min(n, 5)), rapid.ID).Draw(t, "cuts")) {
			s := rapid.SampledFrom(stacks).Draw(t, "stack")
			for !span.Empty() {
				part := Span{Lo: span.Lo, Hi: rapid.Uint64Range(span.Lo+1, span.Hi).Draw(t, "until")}
				span.Lo = must(s.Run(context.Background(), part, new(atomic.Bool)))
				if rapid.Bool().Draw(t, "drain") {
					drained = append(drained, must(s.Drain(n))...)
				}
			}
		}
		for _, s := range stacks {
			drained = append(drained, must(s.Drain(n))...)
		}
		for _, p := range drained {
			if !bytes.Equal(p.Data, want(p.Node)) {
				t.Fatalf("the partial of node %v has changed since it was drained", p.Node)
			}
			forest[p.Node] = p.Data
		}
		mergeForest(t, job, tree, forest)
		root := want(tree.Root())
		if !bytes.Equal(forest[tree.Root()], root) {
			t.Fatal("the merged partials differ from the sum")
		}
		for _, p := range drained {
			if !bytes.Equal(p.Data, want(p.Node)) {
				t.Fatalf("Merge changed the operand of node %v", p.Node)
			}
		}
		result := must(Local{Slots: rapid.IntRange(1, 4).Draw(t, "slots"), Attempts: 1}.Run(context.Background(), job, params))
		if expected := must(finish(context.Background(), job, params, root)); !bytes.Equal(result.Result, expected) {
			t.Fatalf("the local run returned %s, want %s", result.Result, expected)
		}
	})
}

// TestLocalReusesValues checks that a run allocates about one value for each level and slot, and
// not one value for each partition.
func TestLocalReusesValues(t *testing.T) {
	const partitions, slots = 4096, 2
	var reused atomic.Int64
	job := vectorJob(filler{16, &reused}, addVectors)
	if _, err := (Local{Slots: slots, Attempts: 1}).Run(context.Background(), job, must(job.Params(nil, "partitions=4096"))); err != nil {
		t.Fatal(err)
	}
	if fresh := partitions - reused.Load(); fresh > slots*12*2 {
		t.Errorf("%d of %d partitions got no spare value", fresh, partitions)
	}
}

// TestMergeReturnsRight checks that the value that Merge returned is not freed, even if that value
// shares memory with the right operand.
func TestMergeReturnsRight(t *testing.T) {
	for name, merge := range map[string]func(left, right []float64) ([]float64, error){
		"right": func(left, right []float64) ([]float64, error) { return addVectors(right, left) },
		"part of right": func(left, right []float64) ([]float64, error) {
			sum, err := addVectors(right, left)
			return sum[:len(sum):len(sum)], err
		},
		"fresh": func(left, right []float64) ([]float64, error) {
			return addVectors(append([]float64(nil), left...), right)
		},
	} {
		t.Run(name, func(t *testing.T) {
			job, reference := vectorJob(filler{length: 16}, merge), vectorJob(filler{length: 16}, addVectors)
			params := must(job.Params(nil, "partitions=100"))
			got := must(Local{Slots: 2, Attempts: 1}.Run(context.Background(), job, params))
			want := must(Local{Slots: 1, Attempts: 1}.Run(context.Background(), reference, params))
			if !bytes.Equal(got.Result, want.Result) {
				t.Errorf("got %s, want %s", got.Result, want.Result)
			}
			if _, err := (Check{Slots: 2, Attempts: 1}).Run(context.Background(), job, params); err != nil {
				t.Error(err)
			}
		})
	}
}

// stale is a faulty filler that does not clear the spare value.
type stale struct{ filler }

func (s stale) Fill(_ context.Context, partition uint64, spare []float64) ([]float64, error) {
	if len(spare) != s.length {
		spare = make([]float64, s.length)
	}
	spare[partition%uint64(s.length)] += 1
	return spare, nil
}

func TestCheckFindsStaleSpare(t *testing.T) {
	job := vectorJob(stale{filler{length: 16}}, addVectors)
	_, err := Check{Slots: 2, Attempts: 1}.Run(context.Background(), job, must(job.Params(nil, "partitions=100")))
	var difference *DifferenceError
	if !errors.As(err, &difference) || !strings.Contains(difference.Cause, "Fill") {
		t.Errorf("got %v, want a difference that names Fill", err)
	}
}

// fillAndFork is an invalid mapper with the methods Fill and Fork.
type fillAndFork struct{ filler }

func (f fillAndFork) Fork() func(context.Context, uint64) ([]float64, error) { return f.Map }

func TestOpenRefusesFillers(t *testing.T) {
	job := vectorJob(fillAndFork{}, addVectors)
	if _, err := job.binding.open(context.Background(), must(job.Params(nil)), Plan{Partitions: 1}); err == nil || !strings.Contains(err.Error(), "want one of them") {
		t.Errorf("got %v", err)
	}
	type shallow struct {
		Name string
		A, B []float64
		C    [2][]struct{ X, Y int32 }
	}
	for part, kind := range map[string]reflect.Type{
		"":               reflect.TypeFor[*shallow](),
		"[]int":          reflect.TypeFor[[][]int](),
		"map[string]int": reflect.TypeFor[struct{ M map[string]int }](),
		"*int":           reflect.TypeFor[[]*int](),
		"*jobs.shallow":  reflect.TypeFor[**shallow](),
	} {
		if err := fillable(kind); (err == nil) != (part == "") || err != nil && !strings.Contains(err.Error(), "contain a "+part) {
			t.Errorf("%v: %v", kind, err)
		}
	}
	a, b := &shallow{A: make([]float64, 4)}, &shallow{}
	share := sharing[*shallow]()
	if share(a, b) || !share(a, a) {
		t.Error("two pointers share memory if they are the same")
	}
	b.B = a.A[3:]
	other := &shallow{A: make([]float64, 4)}
	if !share(a, b) || share(a, other) {
		t.Error("structs share memory if their slices overlap")
	}
}

// TestOwnOperands checks that Merge changes only operands that it owns.
func TestOwnOperands(t *testing.T) {
	job := vectorJob(filler{length: 4}, addVectors)
	left, right := must(Vector[float64]{}.Encode([]float64{1, 2})), must(Vector[float64]{}.Encode([]float64{3, 4}))
	before := bytes.Clone(left)
	want := must(merge(t.Context(), job, nil, left, right))
	if !bytes.Equal(left, before) {
		t.Error("Merge changed its operand")
	}
	got := must(job.Engine().Merge(t.Context(), nil, engine.Operand{Data: left}, engine.Operand{Data: right, Own: true}))
	if !bytes.Equal(got, want) || !bytes.Equal(left, before) {
		t.Errorf("got %x, want %x, and the left operand is %x", got, want, left)
	}
	got = must(job.Engine().Merge(t.Context(), nil, engine.Operand{Data: left, Own: true}, engine.Operand{Data: right, Own: true}))
	if !bytes.Equal(got, want) || &got[0] != &left[0] {
		t.Errorf("got %x, want %x in the memory of the left operand", got, want)
	}
}

// TestTaskSpares gives a Filler the memory of an encoded partial.
func TestTaskSpares(t *testing.T) {
	open := func(job Job) openTask {
		return must(job.binding.open(context.Background(), must(job.Params(nil)), Plan{Partitions: 2}))
	}
	spare := make([]byte, 4*8)
	get := func(int) []byte { return spare }
	task := open(vectorJob(filler{length: 4}, addVectors))
	var given [][]byte
	put := func(data []byte) { given = append(given, data) }
	if !task.Spares(get, put) {
		t.Fatal("a Filler of vectors takes no memory")
	}
	stack := task.NewStack()
	if _, err := stack.Run(context.Background(), Span{Lo: 0, Hi: 1}, new(atomic.Bool)); err != nil {
		t.Fatal(err)
	}
	if got := must(stack.Drain(1)); &got[0].Data[0] != &spare[0] {
		t.Error("the partial is not in the memory that was given")
	}
	const large = smallSpare + 8 // size in bytes
	job := vectorJob(filler{length: large / 8}, addVectors)
	task = must(job.binding.open(context.Background(), must(job.Params(nil)), Plan{Partitions: 4}))
	var sizes []int
	task.Spares(func(size int) []byte {
		sizes = append(sizes, size)
		return nil
	}, put)
	stack = task.NewStack()
	if _, err := stack.Run(context.Background(), Span{Lo: 0, Hi: 4}, new(atomic.Bool)); err != nil {
		t.Fatal(err)
	}
	if len(given) != 1 || len(given[0]) != large { // the last partition frees two values
		t.Errorf("%d values were given away, want one", len(given))
	}
	if must(stack.Drain(4)); len(given) != 2 {
		t.Errorf("%d values were given away, want also that of the empty stack", len(given))
	}
	if !slices.Equal(sizes, []int{0, large, large}) { // the third partition uses the memory that the first merge has freed
		t.Errorf("memory of %v bytes was requested", sizes)
	}
	sizes = nil
	task = must(job.binding.open(context.Background(), must(job.Params(nil)), Plan{Partitions: 4}))
	task.Spares(func(size int) []byte {
		sizes = append(sizes, size)
		return make([]byte, 8) // too small for Fill
	}, put)
	if _, err := task.NewStack().Run(context.Background(), Span{Lo: 0, Hi: 2}, new(atomic.Bool)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(sizes, []int{0, 0}) {
		t.Errorf("memory of %v bytes was requested, but Fill does not use it", sizes)
	}
	given = nil
	task = open(vectorJob(filler{length: 4}, addVectors))
	task.Spares(func(int) []byte { return nil }, put)
	stack = task.NewStack()
	if _, err := stack.Run(context.Background(), Span{Lo: 0, Hi: 2}, new(atomic.Bool)); err != nil {
		t.Fatal(err)
	}
	if len(given) != 0 {
		t.Errorf("%d small values were given away before the stack was empty", len(given))
	}
	if must(stack.Drain(2)); len(given) != 1 {
		t.Errorf("%d small values were given away when the stack was empty, want one", len(given))
	}
	if open(vectorJob(struct{ Mapper[[]float64] }{filler{length: 4}}, addVectors)).Spares(get, put) {
		t.Error("a mapper that is no Filler takes memory")
	}
}

func TestLocalGoexitInMerge(t *testing.T) {
	job := vectorJob(filler{length: 4}, func(left, right []float64) ([]float64, error) {
		runtime.Goexit()
		return nil, nil
	})
	if _, err := (Local{Slots: 2, Attempts: 1}).Run(context.Background(), job, must(job.Params(nil, "partitions=8"))); !errors.Is(err, ErrGoexit) {
		t.Errorf("got %v, want ErrGoexit", err)
	}
}
