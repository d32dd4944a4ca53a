package jobs

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
)

func runTrace(ctx context.Context, t *testing.T, l Local, partitions string, m Mapper[trace]) (LocalResult, error) {
	t.Helper()
	job := MustNew(traceDefinition(m))
	params, err := job.Params(nil, "partitions="+partitions)
	if err != nil {
		t.Fatal(err)
	}
	return l.Run(ctx, job, params)
}

func TestLocalRetries(t *testing.T) {
	flaky := func() *tracer { return &tracer{flaky: map[uint64]error{7: errors.New("flaky")}} }
	if _, err := runTrace(context.Background(), t, Local{Attempts: 2}, "10", flaky()); err != nil {
		t.Errorf("with a second attempt: %v", err)
	}
	var failed *PartitionError
	if _, err := runTrace(context.Background(), t, Local{Attempts: 1}, "10", flaky()); !errors.As(err, &failed) || failed.Partition != 7 {
		t.Errorf("with one attempt: %v", err)
	}
	permanent := &tracer{flaky: map[uint64]error{7: Permanent(errors.New("permanent"))}}
	if _, err := runTrace(context.Background(), t, Local{Attempts: 5}, "10", permanent); !IsPermanent(err) {
		t.Errorf("a permanent error was tried again: %v", err)
	}
}

// TestLocalReportsTheCause checks that Run returns the error of the failed partition, and not the
// error of a slot that stopped because of the failure.
func TestLocalReportsTheCause(t *testing.T) {
	cause := errors.New("cause")
	m := funcMapper(func(_ context.Context, p uint64) (trace, error) {
		if p == 500 {
			return trace{}, cause
		}
		return trace{}, nil
	})
	for range 50 {
		if _, err := runTrace(context.Background(), t, Local{Slots: 4}, "100000", m); !errors.Is(err, cause) {
			t.Fatalf("got %v", err)
		}
	}
}

func TestLocalEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var mapped atomic.Uint64
	m := funcMapper(func(context.Context, uint64) (trace, error) {
		if mapped.Add(1) == 1000 {
			cancel()
		}
		return trace{}, nil
	})
	if _, err := runTrace(ctx, t, Local{Slots: 2}, "4611686018427387904", m); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestLocalProgress(t *testing.T) {
	var most atomic.Uint64
	progress := func(done, all uint64) {
		if all != 1000 {
			t.Errorf("progress of %d partitions", all)
		}
		for seen := most.Load(); done > seen && !most.CompareAndSwap(seen, done); seen = most.Load() {
		}
	}
	if _, err := runTrace(context.Background(), t, Local{Slots: 2, Progress: progress}, "1000", funcMapper((&tracer{}).Map)); err != nil {
		t.Fatal(err)
	}
	if most.Load() != 1000 {
		t.Errorf("progress ended at %d of 1000", most.Load())
	}
}

type closeFails struct{ tracer }

func (closeFails) Close() error { return errors.New("cannot close") }

func TestLocalReportsClose(t *testing.T) {
	if _, err := runTrace(context.Background(), t, Local{}, "3", &closeFails{}); err == nil || !strings.Contains(err.Error(), "cannot close") {
		t.Errorf("got %v", err)
	}
}

// TestLocalGoexit checks that a run fails if a Map function ends its goroutine. Otherwise the
// result would lack the goroutine's subtree.
func TestLocalGoexit(t *testing.T) {
	job := MustNew(Definition[struct{}, int, int]{
		Name: "exits", Version: "1",
		Plan:   func(context.Context, struct{}) (Plan, error) { return Plan{Partitions: 8}, nil },
		Open:   func(context.Context, struct{}, Plan) (Mapper[int], error) { return exits{}, nil },
		Merge:  func(left, right int) (int, error) { return left + right, nil },
		Finish: func(_ context.Context, _ struct{}, root int) (int, error) { return root, nil },
	})
	if _, err := (Local{Slots: 2, Attempts: 1}).Run(context.Background(), job, Params(`{}`)); !errors.Is(err, ErrGoexit) {
		t.Errorf("got %v, want ErrGoexit", err)
	}
}

type exits struct{}

func (exits) Map(_ context.Context, partition uint64) (int, error) {
	if partition == 5 {
		runtime.Goexit()
	}
	return 1, nil
}
