package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"pgregory.net/rapid"
)

// trace is a partial that lists its merges, and has a sum whose last bits depend on the order of
// the merges.
type trace struct {
	Text string
	Sum  float64
}

type traceParams struct {
	Partitions uint64 `min:"1"`
}

// tracer maps partition i to the number i and the value 1/(i+1). The first attempt at each
// partition in flaky fails.
type tracer struct {
	flaky map[uint64]error
}

func (m *tracer) Map(_ context.Context, partition uint64) (trace, error) {
	if err := m.flaky[partition]; err != nil {
		delete(m.flaky, partition)
		return trace{}, err
	}
	return trace{fmt.Sprint(partition), 1 / float64(partition+1)}, nil
}

func traceDefinition(m Mapper[trace]) Definition[traceParams, trace, trace] {
	return Definition[traceParams, trace, trace]{
		Name: "trace", Version: "1", Defaults: traceParams{Partitions: 1},
		Plan: func(_ context.Context, p traceParams) (Plan, error) { return Plan{Partitions: p.Partitions}, nil },
		Open: func(context.Context, traceParams, Plan) (Mapper[trace], error) { return m, nil },
		Merge: func(left, right trace) (trace, error) {
			return trace{"(" + left.Text + " " + right.Text + ")", left.Sum + right.Sum}, nil
		},
		Finish: func(_ context.Context, _ traceParams, root trace) (trace, error) { return root, nil },
	}
}

// wantTrace computes the partial of a node from the definition of the tree.
func wantTrace(tree engine.Tree, n engine.Node) trace {
	span := tree.Span(n)
	if span.Len() == 1 {
		return trace{fmt.Sprint(span.Lo), 1 / float64(span.Lo+1)}
	}
	left, right := tree.Children(n)
	l, r := wantTrace(tree, left), wantTrace(tree, right)
	return trace{"(" + l.Text + " " + r.Text + ")", l.Sum + r.Sum}
}

func openTrace(t rapid.TB, partitions uint64, m Mapper[trace]) (Job, openTask) {
	t.Helper()
	job := MustNew(traceDefinition(m))
	params, err := job.Params(nil, fmt.Sprintf("partitions=%d", partitions))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := job.Plan(context.Background(), params)
	if err != nil {
		t.Fatal(err)
	}
	task, err := job.binding.open(context.Background(), params, plan)
	if err != nil {
		t.Fatal(err)
	}
	return job, task
}

// TestStackAnyCutting checks that the root's partial does not depend on how [0, N) is cut into
// spans, on their order, on the number of stacks, on drains or on failed partitions.
func TestStackAnyCutting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint64Range(1, 200).Draw(t, "n")
		tree := mustTree(t, n)
		mapper := &tracer{flaky: make(map[uint64]error)}
		for _, p := range rapid.SliceOfN(rapid.Uint64Range(0, n-1), 0, 5).Draw(t, "flaky") {
			mapper.flaky[p] = errors.New("flaky")
		}
		job, task := openTrace(t, n, mapper)

		cuts := rapid.SliceOfNDistinct(rapid.Uint64Range(0, n-1), 0, int(min(n, 10)), rapid.ID).Draw(t, "cuts")
		stacks := []engine.Stack{task.NewStack(), task.NewStack()}
		forest := make(map[engine.Node][]byte)
		drain := func(s engine.Stack, hi uint64) {
			partials, err := s.Drain(hi)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range partials {
				if !tree.Contains(p.Node) || forest[p.Node] != nil || tree.Span(p.Node).Hi > hi {
					t.Fatalf("drained %v up to %d, which is no node of %d partitions, or came before, or lies behind", p.Node, hi, n)
				}
				forest[p.Node] = p.Data
			}
		}
		for _, span := range rapid.Permutation(spansBetween(n, cuts)).Draw(t, "spans") {
			s := rapid.SampledFrom(stacks).Draw(t, "stack")
			for !span.Empty() {
				part := Span{Lo: span.Lo, Hi: rapid.Uint64Range(span.Lo+1, span.Hi).Draw(t, "until")}
				next, err := s.Run(context.Background(), part, new(atomic.Bool))
				var failed *PartitionError
				if errors.As(err, &failed) && failed.Partition != next || err == nil && next != part.Hi {
					t.Fatalf("run %v ended at %d: %v", part, next, err)
				}
				span.Lo = next
				if rapid.Bool().Draw(t, "drain") {
					drain(s, rapid.Uint64Range(0, n).Draw(t, "before"))
				}
			}
		}
		for _, s := range stacks {
			drain(s, n)
		}

		root := tree.Root()
		mergeForest(t, job, tree, forest)
		if len(forest) != 1 || forest[root] == nil {
			t.Fatalf("the forest has %d nodes left", len(forest))
		}
		want, err := cborCodec[trace]{}.Encode(wantTrace(tree, root))
		if err != nil {
			t.Fatal(err)
		}
		if string(forest[root]) != string(want) {
			got, _ := cborCodec[trace]{}.Decode(forest[root])
			t.Fatalf("root is %+v, want %+v", got, wantTrace(tree, root))
		}
	})
}

// spansBetween cuts [0, n) at the given partitions.
func spansBetween(n uint64, cuts []uint64) []Span {
	isCut := make(map[uint64]bool)
	for _, c := range cuts {
		isCut[c] = true
	}
	spans := []Span{{}}
	for p := range n {
		if last := &spans[len(spans)-1]; isCut[p] && p > last.Lo {
			spans = append(spans, Span{Lo: p, Hi: p})
		}
		spans[len(spans)-1].Hi = p + 1
	}
	return spans
}

// mergeForest merges siblings until no two siblings are left.
func mergeForest(t rapid.TB, job Job, tree engine.Tree, forest map[engine.Node][]byte) {
	for merged := true; merged; {
		merged = false
		for n, right := range forest {
			left, ok := forest[n.Sibling()]
			if !ok || !n.IsRight() {
				continue
			}
			data, err := merge(context.Background(), job, nil, left, right)
			if err != nil {
				t.Fatal(err)
			}
			delete(forest, n)
			delete(forest, n.Sibling())
			forest[tree.Lift(n.Parent())] = data
			merged = true
		}
	}
}

func TestLocalMatchesTheTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint64Range(1, 2000).Draw(t, "n")
		job := MustNew(traceDefinition(&tracer{}))
		params, err := job.Params(nil, fmt.Sprintf("partitions=%d", n))
		if err != nil {
			t.Fatal(err)
		}
		got, err := Local{Slots: rapid.IntRange(0, 4).Draw(t, "slots")}.Run(context.Background(), job, params)
		if err != nil {
			t.Fatal(err)
		}
		tree := mustTree(t, n)
		want, err := finish(context.Background(), job, params, must(cborCodec[trace]{}.Encode(wantTrace(tree, tree.Root()))))
		if err != nil {
			t.Fatal(err)
		}
		if string(got.Result) != string(want) || got.Partitions != n {
			t.Fatalf("got %s of %d partitions, want %s of %d", got.Result, got.Partitions, want, n)
		}
	})
}

func TestStackStaysSmall(t *testing.T) {
	const n = 1<<16 - 1
	_, task := openTrace(t, n, funcMapper(func(context.Context, uint64) (trace, error) { return trace{}, nil }))
	s := task.NewStack()
	if _, err := s.Run(context.Background(), Span{Lo: 1, Hi: n - 1}, new(atomic.Bool)); err != nil {
		t.Fatal(err)
	}
	partials, err := s.Drain(n)
	if err != nil {
		t.Fatal(err)
	}
	if want := len(mustTree(t, n).Cover(Span{Lo: 1, Hi: n - 1})); len(partials) != want {
		t.Errorf("drained %d nodes, the cover has %d", len(partials), want)
	}
	if partials, err := s.Drain(n); len(partials) != 0 || err != nil {
		t.Errorf("drained %d nodes of an empty stack: %v", len(partials), err)
	}
}

func TestStackStops(t *testing.T) {
	var stop atomic.Bool
	_, task := openTrace(t, 100, funcMapper(func(_ context.Context, p uint64) (trace, error) {
		if p == 41 {
			stop.Store(true)
		}
		return trace{}, nil
	}))
	if next, err := task.NewStack().Run(context.Background(), Span{Lo: 10, Hi: 90}, &stop); next != 42 || err != nil {
		t.Errorf("run ended at %d: %v, want 42", next, err)
	}
}

func TestStackRefusesSpanOutside(t *testing.T) {
	_, task := openTrace(t, 100, &tracer{})
	if next, err := task.NewStack().Run(context.Background(), Span{Lo: 90, Hi: 101}, new(atomic.Bool)); next != 90 || !IsPermanent(err) {
		t.Errorf("run ended at %d: %v, want a permanent error", next, err)
	}
}

func TestStackGoesOnAfterPanic(t *testing.T) {
	cause := errors.New("cause")
	tried := 0
	_, task := openTrace(t, 4, funcMapper(func(_ context.Context, p uint64) (trace, error) {
		if p == 2 {
			if tried++; tried == 1 {
				panic(cause)
			}
		}
		return trace{Text: fmt.Sprint(p)}, nil
	}))
	s := task.NewStack()
	next, err := s.Run(context.Background(), Span{Lo: 0, Hi: 4}, new(atomic.Bool))
	var panicked *PanicError
	var failed *PartitionError
	if next != 2 || !errors.As(err, &panicked) || !errors.As(err, &failed) || failed.Partition != 2 || IsPermanent(err) || !errors.Is(err, cause) {
		t.Fatalf("run ended at %d: %v", next, err)
	}
	if next, err := s.Run(context.Background(), Span{Lo: 2, Hi: 4}, new(atomic.Bool)); next != 4 || err != nil {
		t.Fatalf("second run ended at %d: %v", next, err)
	}
	if partials, err := s.Drain(4); err != nil || len(partials) != 1 {
		t.Fatalf("drained %v: %v", partials, err)
	}
}

// TestMergerIsRetried checks that a failed merge is retried and that the nodes on the stack are not
// computed again.
func TestMergerIsRetried(t *testing.T) {
	mapped, merged := map[uint64]int{}, 0
	d := Definition[struct{}, string, string]{
		Name: "merger", Version: "1",
		Plan: func(context.Context, struct{}) (Plan, error) { return Plan{Partitions: 4}, nil },
		Open: func(context.Context, struct{}, Plan) (Mapper[string], error) {
			return mapText(func(_ context.Context, p uint64) (string, error) {
				mapped[p]++
				return strconv.FormatUint(p, 10), nil
			}), nil
		},
		Merge: func(string, string) (string, error) { panic("not called") },
		Merger: func(struct{}) func(context.Context, string, string) (string, error) {
			return func(_ context.Context, left, right string) (string, error) {
				if merged++; merged == 2 {
					return "", errors.New("once")
				}
				return "(" + left + right + ")", nil
			}
		},
		Finish: func(_ context.Context, _ struct{}, root string) (string, error) { return root, nil },
	}
	job := MustNew(d)
	params := must(job.Params(nil))
	if !job.Engine().HasMerger(params) {
		t.Error("the job has no merger")
	}
	task := must(job.binding.open(t.Context(), params, Plan{Partitions: 4}))
	s := task.NewStack()
	next, err := s.Run(t.Context(), Span{Lo: 0, Hi: 4}, new(atomic.Bool))
	if next != 3 || err == nil || IsPermanent(err) || !strings.Contains(err.Error(), "partition 3: merge node 1/1: once") {
		t.Fatalf("the run ended at %d: %v", next, err)
	}
	if next, err = s.Run(t.Context(), Span{Lo: 3, Hi: 4}, new(atomic.Bool)); next != 4 || err != nil {
		t.Fatalf("the second run ended at %d: %v", next, err)
	}
	if partials := must(s.Drain(4)); len(partials) != 1 || partials[0].Node != (engine.Node{Level: 2, Index: 0}) || mapped[2] != 1 || mapped[3] != 2 {
		t.Errorf("drained %v, mapped %v", partials, mapped)
	}
	merged = 1
	one, two := must(cborCodec[string]{}.Encode("1")), must(cborCodec[string]{}.Encode("2"))
	if _, err := merge(t.Context(), job, params, one, two); err == nil || IsPermanent(err) {
		t.Errorf("Merge: %v, want an error that is not permanent", err)
	}
	merged = 1
	if r, err := (Local{Slots: 1, Attempts: 2}).Run(t.Context(), job, params); err != nil || string(r.Result) != `"((01)(23))"` {
		t.Errorf("Local.Run: %s, %v", r.Result, err)
	}
}

type mapText func(ctx context.Context, partition uint64) (string, error)

func (f mapText) Map(ctx context.Context, partition uint64) (string, error) { return f(ctx, partition) }

// TestStackNamesTheFunctionThatEndsItsGoroutine checks the error for a call of runtime.Goexit in
// each function that a stack calls.
func TestStackNamesTheFunctionThatEndsItsGoroutine(t *testing.T) {
	calls := map[string]*stack[int]{
		"Fork":  {opened: opened[int]{mapper: endingForker{}}},
		"Map":   {opened: opened[int]{mapper: ending{}}},
		"Merge": {opened: opened[int]{mapper: endingForker{mapping: true}, merge: merger[int]{merge: func(int, int) (int, error) { runtime.Goexit(); return 0, nil }}, pool: new(spares[int])}},
	}
	for name, s := range calls {
		s.tree = must(engine.NewTree(2))
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = s.Run(context.Background(), Span{Lo: 0, Hi: 2}, new(atomic.Bool))
		}()
		<-done
		if err := s.Interrupted(); !errors.Is(err, ErrGoexit) || !strings.Contains(err.Error(), name+": ") {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

// ending is a mapper whose Map calls runtime.Goexit.
type ending struct{}

func (ending) Map(context.Context, uint64) (int, error) { runtime.Goexit(); return 0, nil }

// endingForker is a mapper that calls runtime.Goexit in Fork, or in the Map function if mapping is
// set.
type endingForker struct {
	ending
	mapping bool
}

func (f endingForker) Fork() func(context.Context, uint64) (int, error) {
	if !f.mapping {
		runtime.Goexit()
	}
	return func(context.Context, uint64) (int, error) { return 0, nil }
}

// TestStackForgetsWhatAFailedMergeTouched checks that the operands of a failed merge are not
// reported, because the merge may have left them inconsistent.
func TestStackForgetsWhatAFailedMergeTouched(t *testing.T) {
	for name, fail := range map[string]func() error{
		"error": func() error { return errors.New("cannot merge") },
		"panic": func() error { panic("cannot merge") },
	} {
		t.Run(name, func(t *testing.T) {
			d := traceDefinition(&tracer{})
			d.Merge = func(left, _ trace) (trace, error) {
				if left.Text == "merged" {
					return trace{}, fail()
				}
				return trace{Text: "merged"}, nil
			}
			job := MustNew(d)
			params, err := job.Params(nil, "partitions=4")
			if err != nil {
				t.Fatal(err)
			}
			task, err := job.binding.open(context.Background(), params, Plan{Partitions: 4})
			if err != nil {
				t.Fatal(err)
			}
			s := task.NewStack()
			if next, err := s.Run(context.Background(), Span{Lo: 0, Hi: 4}, new(atomic.Bool)); next != 3 || !IsPermanent(err) {
				t.Errorf("run ended at %d: %v, want a permanent error", next, err)
			}
			if partials, err := s.Drain(4); len(partials) != 0 || err != nil {
				t.Errorf("drained %v: %v", partials, err)
			}
			if _, err := merge(context.Background(), job, nil, must(cborCodec[trace]{}.Encode(trace{Text: "merged"})), must(cborCodec[trace]{}.Encode(trace{}))); !IsPermanent(err) {
				t.Errorf("Job.Merge: %v, want a permanent error", err)
			}
		})
	}
}

// forker is a mapper that counts its forks. Each fork counts its calls.
type forker struct {
	tracer
	forks atomic.Int64
}

func (m *forker) Fork() func(context.Context, uint64) (trace, error) {
	m.forks.Add(1)
	calls := 0
	return func(_ context.Context, p uint64) (trace, error) {
		if calls++; calls == 3 {
			panic("third call")
		}
		return trace{Text: fmt.Sprint(calls)}, nil
	}
}

func TestStackForks(t *testing.T) {
	m := &forker{}
	_, task := openTrace(t, 4, m)
	s := task.NewStack()
	if next, err := s.Run(context.Background(), Span{Lo: 0, Hi: 4}, new(atomic.Bool)); next != 2 || err == nil {
		t.Fatalf("run ended at %d: %v", next, err)
	}
	// After the panic the mapper is forked again, so the new fork counts its calls from 1.
	if next, err := s.Run(context.Background(), Span{Lo: 2, Hi: 4}, new(atomic.Bool)); next != 4 || err != nil {
		t.Fatalf("second run ended at %d: %v", next, err)
	}
	if n := m.forks.Load(); n != 2 {
		t.Errorf("%d forks, want 2", n)
	}
}

// streamMapper yields values until the partition end. From the partition bad on, it yields errors.
type streamMapper struct {
	tracer
	end, bad uint64
	halt     func(partition uint64) // called before each value
	open     int                    // streams that have not ended
}

func (m *streamMapper) Stream(ctx context.Context, span Span) iter.Seq2[trace, error] {
	return func(yield func(trace, error) bool) {
		m.open++
		defer func() { m.open-- }()
		for p := span.Lo; p < min(span.Hi, m.end); p++ {
			m.halt(p)
			value, err := m.Map(ctx, p)
			if p >= m.bad {
				err = errors.New("bad")
			}
			if !yield(value, err) {
				return
			}
		}
	}
}

func TestStackStreams(t *testing.T) {
	for _, test := range []struct {
		end, bad, last, next uint64
		want                 string
	}{
		{end: 8, bad: 8, last: 8, next: 8},
		{end: 8, bad: 5, last: 8, next: 5, want: "partition 5: bad"},
		{end: 6, bad: 8, last: 8, next: 6, want: "the sequence of Stream ended before partition 6"},
		{end: 8, bad: 8, last: 2, next: 3},
	} {
		var stop atomic.Bool
		m := &streamMapper{end: test.end, bad: test.bad, halt: func(p uint64) { stop.Store(p == test.last) }}
		_, task := openTrace(t, 8, m)
		s := task.NewStack()
		next, err := s.Run(context.Background(), Span{Lo: 0, Hi: 8}, &stop)
		if next != test.next || (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: run ended at %d: %v", test, next, err)
		}
		if m.open != 0 {
			t.Errorf("%+v: %d streams have not ended", test, m.open)
		}
		tree, codec := must(engine.NewTree(8)), must(newCBORCodec[trace]())
		covered := uint64(0)
		for _, p := range must(s.Drain(8)) {
			covered += tree.Span(p.Node).Len()
			if got, want := must(codec.Decode(p.Data)), wantTrace(tree, p.Node); got != want {
				t.Errorf("%+v: node %v is %v, want %v", test, p.Node, got, want)
			}
		}
		if covered != next {
			t.Errorf("%+v: the nodes cover %d partitions, want %d", test, covered, next)
		}
	}
}

type funcMapper func(context.Context, uint64) (trace, error)

func (f funcMapper) Map(ctx context.Context, p uint64) (trace, error) { return f(ctx, p) }

// merge merges two partials that the test keeps.
func merge(ctx context.Context, job Job, params Params, left, right []byte) ([]byte, error) {
	return job.Engine().Merge(ctx, params, engine.Operand{Data: left}, engine.Operand{Data: right})
}

// finish finishes a job with a partial that the test keeps.
func finish(ctx context.Context, job Job, params Params, root []byte) (json.RawMessage, error) {
	result, _, err := job.Engine().Finish(ctx, params, engine.Operand{Data: root})
	return result, err
}

func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

func mustTree(t rapid.TB, n uint64) engine.Tree {
	t.Helper()
	tree, err := engine.NewTree(n)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}
