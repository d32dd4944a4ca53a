package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// auditJob returns a job of 1,000 partitions whose Map calls value.
func auditJob(value func(partition uint64) uint64) Job {
	return MustNew(Definition[struct{}, uint64, uint64]{
		Name: "audited", Version: "1",
		Plan: func(context.Context, struct{}) (Plan, error) { return Plan{Partitions: 1000}, nil },
		Open: func(context.Context, struct{}, Plan) (Mapper[uint64], error) {
			return auditMapper(value), nil
		},
		Merge:  func(left, right uint64) (uint64, error) { return left + right, nil },
		Finish: func(_ context.Context, _ struct{}, root uint64) (uint64, error) { return root, nil },
	})
}

type auditMapper func(partition uint64) uint64

func (m auditMapper) Map(_ context.Context, partition uint64) (uint64, error) {
	return m(partition), nil
}

// TestAuditFindsJobsThatAreNotDeterministic audits 1 % of the partitions in 100 runs.
func TestAuditFindsJobsThatAreNotDeterministic(t *testing.T) {
	var calls atomic.Uint64
	job, found := auditJob(func(uint64) uint64 { return calls.Add(1) }), 0
	for run := range 100 {
		_, err := Local{Slots: 2, Attempts: 3, Audit: Audit{Share: 10_000, Seed: fmt.Sprint(run)}}.Run(t.Context(), job, must(job.Params(nil)))
		if err != nil && IsPermanent(err) && strings.Contains(err.Error(), ": audit: the partition was computed twice, and the partials have the SHA-256 ") {
			found++
		}
	}
	if found < 99 {
		t.Errorf("found in %d of 100 runs", found)
	}
}

// TestAuditProgress checks that the second computation of a partition counts as another function, for
// which a time limit begins again.
func TestAuditProgress(t *testing.T) {
	var progress engine.Progress
	var seen []string
	job := auditJob(func(p uint64) uint64 {
		partition, function := progress.At()
		seen = append(seen, fmt.Sprint(partition, " ", function))
		return p
	})
	params := must(job.Params(nil))
	task := must(job.binding.open(t.Context(), params, Plan{Partitions: 1000}))
	task.audits(Audit{Share: MaxAudit})
	stack := task.NewStack()
	stack.Watch(&progress)
	if _, err := stack.Run(t.Context(), Span{Lo: 7, Hi: 9}, new(atomic.Bool)); err != nil {
		t.Fatal(err)
	}
	if want := "7 Map, 7 Map for the audit, 8 Map, 8 Map for the audit"; strings.Join(seen, ", ") != want {
		t.Errorf("got %q, want %q", seen, want)
	}
}

func TestAuditOfDeterministicJob(t *testing.T) {
	var calls atomic.Uint64
	job := auditJob(func(p uint64) uint64 { calls.Add(1); return p })
	for share, want := range map[uint32]func(calls uint64) bool{
		0:        func(n uint64) bool { return n == 1000 },
		1:        func(n uint64) bool { return n > 1000 && n < 1010 },
		10_000:   func(n uint64) bool { return n > 1000 && n < 1050 },
		MaxAudit: func(n uint64) bool { return n == 2000 },
	} {
		calls.Store(0)
		r, err := Local{Slots: 2, Attempts: 1, Audit: Audit{Share: share, Seed: "seed"}}.Run(t.Context(), job, must(job.Params(nil)))
		if err != nil || string(r.Result) != "499500" || !want(calls.Load()) {
			t.Errorf("share %d: %s, %v, %d calls", share, r.Result, err, calls.Load())
		}
	}
}

// TestDeferredAudit checks that the records of a stack agree with a second computation by another task
// of the same job, and not with that of a job with other values.
func TestDeferredAudit(t *testing.T) {
	open := func(value func(uint64) uint64) openTask {
		job := auditJob(value)
		return must(job.binding.open(t.Context(), must(job.Params(nil)), Plan{Partitions: 1000}))
	}
	task := open(func(p uint64) uint64 { return p })
	task.Audit(100_000, "seed")
	stack := task.NewStack()
	if _, err := stack.Run(t.Context(), Span{Lo: 0, Hi: 1000}, new(atomic.Bool)); err != nil {
		t.Fatal(err)
	}
	audited := stack.Audited()
	if len(audited) < 50 || len(audited) > 150 || len(stack.Audited()) != 0 {
		t.Fatalf("%d partitions are audited", len(audited))
	}
	var partitions []uint64
	for _, a := range audited {
		partitions = append(partitions, a.Partition)
	}
	same := must(open(func(p uint64) uint64 { return p }).Recompute(t.Context(), partitions, new(engine.Progress)))
	other := must(open(func(p uint64) uint64 { return p + 1 }).Recompute(t.Context(), partitions, nil))
	for i, a := range audited {
		if err := a.Compare(same[i], ""); err != nil {
			t.Error(err)
		}
		if err := a.Compare(other[i], ", on a and on b"); err == nil || !strings.Contains(err.Error(), "twice, on a and on b, and the partials have the SHA-256 ") {
			t.Errorf("got %v", err)
		}
	}
	failing := open(func(p uint64) uint64 {
		if p == partitions[1] {
			panic("broken")
		}
		return p
	})
	_, err := failing.Recompute(t.Context(), partitions, nil)
	if at, ok := errors.AsType[*PartitionError](err); !ok || at.Partition != partitions[1] || !strings.Contains(err.Error(), "broken") {
		t.Errorf("got %v", err)
	}
}
