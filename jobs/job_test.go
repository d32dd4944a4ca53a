package jobs

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

func TestNewRefuses(t *testing.T) {
	for want, change := range map[string]func(*Definition[allParams, int, int]){
		"Name \"Upper\"":           func(d *Definition[allParams, int, int]) { d.Name = "Upper" },
		"Version \"\"":             func(d *Definition[allParams, int, int]) { d.Version = "" },
		"want all of":              func(d *Definition[allParams, int, int]) { d.Merge = nil },
		"Defaults: parameter kind": func(d *Definition[allParams, int, int]) { d.Defaults.Kind = "neither" },
		"1 to 40 chara":            func(d *Definition[allParams, int, int]) { d.Version = strings.Repeat("1", 41) },
	} {
		d := allDefinition()
		change(&d)
		if _, err := New(d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("MustNew did not panic")
		}
	}()
	MustNew(Definition[allParams, int, int]{})
}

// TestLimits checks that each function has a limit, and that a negative limit lifts it.
func TestLimits(t *testing.T) {
	d := allDefinition()
	want := Limits{Plan: 10 * time.Minute, Open: 10 * time.Minute, Map: 24 * time.Hour, Merge: 10 * time.Minute, Finish: 10 * time.Minute, Estimate: 10 * time.Minute}
	if got := MustNew(d).Limits(); got != want {
		t.Errorf("default limits: got %v, want %v", got, want)
	}
	d.Limits.Map = -1
	want.Map = 0
	if got := MustNew(d).Limits(); got != want {
		t.Errorf("without a limit of Map: got %v, want %v", got, want)
	}
}

func TestPlanChecksPartitions(t *testing.T) {
	for n, ok := range map[uint64]bool{0: false, 1: true, MaxPartitions: true, MaxPartitions + 1: false} {
		d := allDefinition()
		d.Plan = func(context.Context, allParams) (Plan, error) { return Plan{Partitions: n}, nil }
		job := MustNew(d)
		if _, err := job.Plan(context.Background(), must(job.Params(nil))); (err == nil) != ok {
			t.Errorf("a plan of %d partitions: %v", n, err)
		}
	}
}

// TestStoredParamsAreChecked checks that the parameters of a stored job are checked again when they
// are used.
func TestStoredParamsAreChecked(t *testing.T) {
	job := MustNew(allDefinition())
	if _, err := job.Plan(context.Background(), Params(`{"limit":-1}`)); err == nil || !strings.Contains(err.Error(), "parameter limit") {
		t.Errorf("Plan: %v", err)
	}
	if _, err := job.binding.open(context.Background(), Params(`garbage`), Plan{Partitions: 1}); err == nil {
		t.Error("Open took garbage")
	}
	if _, err := finish(context.Background(), job, Params(`{"x":1}`), must(cborCodec[int]{}.Encode(1))); err == nil {
		t.Error("Finish took an unknown parameter")
	}
}

func TestJobErrors(t *testing.T) {
	cause := errors.New("cause")
	ctx := context.Background()
	d := allDefinition()
	job := MustNew(d)
	params := must(job.Params(nil))
	one := must(cborCodec[int]{}.Encode(1))

	if _, err := job.binding.open(ctx, params, Plan{Partitions: 1}); err == nil {
		t.Error("Open took a nil mapper")
	}
	if _, err := job.binding.open(ctx, params, Plan{}); err == nil {
		t.Error("Open took a plan without partitions")
	}
	if _, err := merge(ctx, job, params, one, []byte{0xff}); err == nil || IsPermanent(err) {
		t.Errorf("Merge of garbage: %v", err)
	}
	if _, err := finish(ctx, job, params, []byte("garbage")); err == nil {
		t.Error("Finish took garbage")
	}

	d.Plan = func(context.Context, allParams) (Plan, error) { panic(Permanent(cause)) }
	d.Open = func(context.Context, allParams, Plan) (Mapper[int], error) { return nil, cause }
	d.Merge = func(int, int) (int, error) { panic("merge") }
	d.Finish = func(context.Context, allParams, int) (int, error) { return 0, cause }
	job = MustNew(d)
	var panicked *PanicError
	if _, err := job.Plan(ctx, params); !errors.As(err, &panicked) || !IsPermanent(err) || !errors.Is(err, cause) {
		t.Errorf("Plan: %v", err)
	}
	if _, err := job.binding.open(ctx, params, Plan{Partitions: 1}); !errors.Is(err, cause) {
		t.Errorf("Open: %v", err)
	}
	if _, err := merge(ctx, job, params, one, one); !errors.As(err, &panicked) || !IsPermanent(err) || !strings.Contains(err.Error(), "job_test.go") {
		t.Errorf("Merge: %v, want a permanent error with its stack", err)
	}
	if _, err := finish(ctx, job, params, one); !errors.Is(err, cause) {
		t.Errorf("Finish: %v", err)
	}
}

func TestFinishRefusesWhatJSONCannotSay(t *testing.T) {
	job := MustNew(Definition[allParams, int, float64]{
		Name: "nan", Version: "1", Defaults: allDefaults,
		Plan:   allDefinition().Plan,
		Open:   allDefinition().Open,
		Merge:  allDefinition().Merge,
		Finish: func(context.Context, allParams, int) (float64, error) { return math.NaN(), nil },
	})
	if result, err := finish(context.Background(), job, must(job.Params(nil)), must(cborCodec[int]{}.Encode(1))); err == nil {
		t.Errorf("the result is %s", result)
	}
}

func TestPermanent(t *testing.T) {
	if Permanent(nil) != nil {
		t.Error("Permanent(nil) is an error")
	}
	cause := errors.New("cause")
	err := &PartitionError{3, Permanent(cause)}
	if !IsPermanent(err) || !errors.Is(err, cause) || err.Error() != "partition 3: cause" {
		t.Errorf("got %v", err)
	}
	if IsPermanent(cause) || IsPermanent(nil) {
		t.Error("an unmarked error is permanent")
	}
}
