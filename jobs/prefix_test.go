package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// estimating returns the trace definition with an Estimate, and with a Stop that is true from n partitions on. If
// n is 0, Stop is never true.
func estimating(m Mapper[trace], n uint64) Definition[traceParams, trace, trace] {
	d := traceDefinition(m)
	d.Estimate = func(_ context.Context, _ traceParams, prefix trace, n uint64) (any, error) {
		return fmt.Sprint(n, " ", prefix.Sum), nil
	}
	d.Stop = func(_ context.Context, _ traceParams, _ trace, at uint64) (bool, error) { return n > 0 && at >= n, nil }
	return d
}

func runPrefixes(t *testing.T, d Definition[traceParams, trace, trace], slots, partitions int) (LocalResult, []Estimated, error) {
	t.Helper()
	job := MustNew(d)
	var estimates []Estimated
	l := Local{Slots: slots, Attempts: 2, Estimated: func(e Estimated) { estimates = append(estimates, e) }}
	result, err := l.Run(t.Context(), job, must(job.Params(nil, fmt.Sprintf("partitions=%d", partitions))))
	return result, estimates, err
}

// TestStopGivesTheResultOfASmallerJob compares each stopped run with a run of a job that has as many partitions
// as the prefix, and has no estimates.
func TestStopGivesTheResultOfASmallerJob(t *testing.T) {
	const partitions = 333
	for at := uint64(1); at < partitions; at = engine.NextRung(at) {
		smaller := must(runTrace(t.Context(), t, Local{Slots: 1, Attempts: 1}, fmt.Sprint(at), &tracer{}))
		for _, slots := range []int{1, 2, 5} {
			got, estimates, err := runPrefixes(t, estimating(&tracer{}, engine.LastRung(at)+1), slots, partitions)
			if err != nil {
				t.Fatal(err)
			}
			if got.Stopped == nil || got.Stopped.At != at || got.Stopped.Rung != engine.RungNumber(at) || got.Stopped.Timed {
				t.Fatalf("%d slots: stopped at %+v, want %d", slots, got.Stopped, at)
			}
			if !bytes.Equal(got.Result, smaller.Result) {
				t.Errorf("%d slots, first %d partitions: got %s, want %s", slots, at, got.Result, smaller.Result)
			}
			if len(estimates) != got.Stopped.Rung {
				t.Errorf("%d slots: %d estimates up to rung %d", slots, len(estimates), got.Stopped.Rung)
			}
			var sum trace
			if err := json.Unmarshal(smaller.Result, &sum); err != nil {
				t.Fatal(err)
			}
			if last, want := string(estimates[len(estimates)-1].Value), fmt.Sprintf("%q", fmt.Sprint(at, " ", sum.Sum)); last != want {
				t.Errorf("%d slots: the last estimate is %s, want %s", slots, last, want)
			}
		}
	}
}

// TestEstimatesDoNotChangeTheResult checks runs that no prefix stops.
func TestEstimatesDoNotChangeTheResult(t *testing.T) {
	for _, partitions := range []int{1, 2, 3, 7, 8, 9, 13, 100, 257, 1000} {
		want := must(runTrace(t.Context(), t, Local{Slots: 1, Attempts: 1}, fmt.Sprint(partitions), &tracer{}))
		for _, slots := range []int{1, 3} {
			got, estimates, err := runPrefixes(t, estimating(&tracer{}, 0), slots, partitions)
			if err != nil || got.Stopped != nil || !bytes.Equal(got.Result, want.Result) {
				t.Errorf("%d partitions, %d slots: got %s, %v, want %s", partitions, slots, got.Result, err, want.Result)
			}
			rungs := 0
			for at := engine.NextRung(0); at < uint64(partitions); at = engine.NextRung(at) {
				if rungs++; rungs <= len(estimates) && estimates[rungs-1].Partitions != at {
					t.Errorf("%d partitions: estimate %d is for %d, want %d", partitions, rungs, estimates[rungs-1].Partitions, at)
				}
			}
			if len(estimates) != rungs {
				t.Errorf("%d partitions: %d estimates, want %d", partitions, len(estimates), rungs)
			}
		}
	}
}

// TestFailuresAboveAStopDoNotCount lets a partition fail permanently, above and below the prefix that suffices.
func TestFailuresAboveAStopDoNotCount(t *testing.T) {
	for range 20 {
		broken := func(at uint64) Mapper[trace] {
			return funcMapper(func(_ context.Context, p uint64) (trace, error) {
				if p == at {
					return trace{}, Permanent(errors.New("broken"))
				}
				if p == 0 {
					time.Sleep(time.Millisecond) // the partitions above are computed first
				}
				return trace{Text: fmt.Sprint(p)}, nil
			})
		}
		got, _, err := runPrefixes(t, estimating(broken(16), 16), 4, 1000)
		if err != nil || got.Stopped == nil || got.Stopped.At != 16 {
			t.Fatalf("the partition after the prefix fails: got %+v, %v", got.Stopped, err)
		}
		var failed *PartitionError
		if _, _, err = runPrefixes(t, estimating(broken(15), 16), 4, 1000); !errors.As(err, &failed) || failed.Partition != 15 {
			t.Fatalf("the last partition of the prefix fails: got %v", err)
		}
	}
}

func TestFaultsOfEstimates(t *testing.T) {
	cause := errors.New("cause")
	for name, test := range map[string]struct {
		change func(*Definition[traceParams, trace, trace])
		want   string
	}{
		"Estimate fails": {func(d *Definition[traceParams, trace, trace]) {
			d.Estimate = func(context.Context, traceParams, trace, uint64) (any, error) { return nil, cause }
		}, "Estimate of the first 1 partitions of job trace: cause"},
		"Stop fails": {func(d *Definition[traceParams, trace, trace]) {
			d.Stop = func(context.Context, traceParams, trace, uint64) (bool, error) { return false, cause }
		}, "Stop of the first 1 partitions of job trace: cause"},
		"Stop panics": {func(d *Definition[traceParams, trace, trace]) {
			d.Stop = func(context.Context, traceParams, trace, uint64) (bool, error) { panic("oops") }
		}, "Stop of the first 1 partitions of job trace: panic: oops"},
		"NaN": {func(d *Definition[traceParams, trace, trace]) {
			d.Estimate = func(_ context.Context, _ traceParams, _ trace, n uint64) (any, error) {
				return math.Log(3 - float64(n)), nil
			}
		}, "Estimate of the first 3 partitions of job trace: the estimate contains -Inf"},
		"large": {func(d *Definition[traceParams, trace, trace]) {
			d.Estimate = func(context.Context, traceParams, trace, uint64) (any, error) {
				return strings.Repeat("x", MaxEstimate), nil
			}
		}, "the JSON of the estimate has 1026 bytes: want at most 1024"},
		"Goexit": {func(d *Definition[traceParams, trace, trace]) {
			d.Stop = func(context.Context, traceParams, trace, uint64) (bool, error) {
				runtime.Goexit()
				return false, nil
			}
		}, "Estimate or Stop: the code called runtime.Goexit"},
	} {
		d := estimating(&tracer{}, 0)
		test.change(&d)
		if _, _, err := runPrefixes(t, d, 2, 100); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}

// TestStopEndsRunningPartitions stops a run while a partition above the prefix runs, which ends only with its context.
func TestStopEndsRunningPartitions(t *testing.T) {
	above := make(chan struct{})
	got, _, err := runPrefixes(t, estimating(funcMapper(func(ctx context.Context, p uint64) (trace, error) {
		switch p {
		case 0:
			<-above
		case 500:
			close(above)
			<-ctx.Done()
			return trace{}, ctx.Err()
		}
		return trace{Text: fmt.Sprint(p)}, nil
	}), 1), 2, 1000)
	if err != nil || got.Stopped == nil || got.Stopped.At != 1 {
		t.Fatalf("stopped %+v, %v, want a stop at 1", got.Stopped, err)
	}
}

// TestLocalStopInTime lets the time be up before the first rung is judged, after some rungs, and during a Map that
// ends only with its context.
func TestLocalStopInTime(t *testing.T) {
	const partitions = 1000
	for _, held := range []uint64{0, 1, 40, partitions} {
		d := estimating(funcMapper(func(ctx context.Context, p uint64) (trace, error) {
			switch {
			case held == 0 && p == 0:
				time.Sleep(20 * time.Millisecond) // the time is probably up before the first rung is judged
			case p == held, held == 0 && p == partitions-1:
				<-ctx.Done()
				return trace{}, ctx.Err()
			}
			return trace{Text: fmt.Sprint(p)}, nil
		}), 0)
		job := MustNew(d)
		params := must(job.Params(nil, fmt.Sprintf("partitions=%d", partitions)))
		after := 10 * time.Millisecond
		if held == partitions {
			after = time.Hour
		}
		got, err := Local{Slots: 3, Attempts: 1, StopAfter: after}.Run(t.Context(), job, params)
		if err != nil || (got.Stopped == nil) != (held == partitions) {
			t.Fatalf("partition %d is held: stopped %+v, %v", held, got.Stopped, err)
		}
		needed := uint64(partitions)
		if s := got.Stopped; s != nil {
			needed = s.At
			if !s.Timed || s.Rung != engine.RungNumber(s.At) || held > 0 && s.At > held {
				t.Errorf("partition %d is held: stopped %+v", held, s)
			}
		}
		smaller := must(Local{Slots: 1, Attempts: 1}.Run(t.Context(), MustNew(traceDefinition(funcMapper(func(_ context.Context, p uint64) (trace, error) {
			return trace{Text: fmt.Sprint(p)}, nil
		}))), must(job.Params(nil, fmt.Sprintf("partitions=%d", needed)))))
		if !bytes.Equal(got.Result, smaller.Result) {
			t.Errorf("partition %d is held, stopped %+v: got %s, want %s", held, got.Stopped, got.Result, smaller.Result)
		}
	}
	job := MustNew(traceDefinition(&tracer{}))
	if _, err := (Local{Slots: 1, Attempts: 1, StopAfter: 1}).Run(t.Context(), job, must(job.Params(nil))); err == nil || !strings.Contains(err.Error(), "neither estimates nor rounds") {
		t.Errorf("a job without estimates: got %v", err)
	}
}

// TestCancelledRunDoesNotStop cancels a run whose time is up and that has not judged a prefix.
func TestCancelledRunDoesNotStop(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	job := MustNew(estimating(funcMapper(func(ctx context.Context, _ uint64) (trace, error) {
		time.AfterFunc(10*time.Millisecond, cancel)
		<-ctx.Done()
		return trace{}, ctx.Err()
	}), 0))
	_, err := Local{Slots: 1, Attempts: 1, StopAfter: 1}.Run(ctx, job, must(job.Params(nil, "partitions=100")))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func TestNoEstimatesForSomeParameters(t *testing.T) {
	d := estimating(&tracer{}, 1)
	d.NoEstimates = func(p traceParams) bool { return p.Partitions == 100 }
	got, estimates, err := runPrefixes(t, d, 2, 100)
	if err != nil || got.Stopped != nil || len(estimates) > 0 {
		t.Errorf("got %+v, %v, %v, want no estimate and no stop", got.Stopped, estimates, err)
	}
}

// TestEstimatesOfOtherParameters asks in turns about parameters with and without estimates.
func TestEstimatesOfOtherParameters(t *testing.T) {
	d := estimating(&tracer{}, 0)
	d.NoEstimates = func(p traceParams) bool { return p.Partitions == 1 }
	job := MustNew(d)
	for i := range 6 {
		if got := job.Estimates(must(job.Params(nil, fmt.Sprintf("partitions=%d", 1+i%3)))); got != (i%3 > 0) {
			t.Errorf("%d partitions: got %v", 1+i%3, got)
		}
	}
}

func TestCheckJudgesPrefixes(t *testing.T) {
	check := func(d Definition[traceParams, trace, trace]) (CheckResult, error) {
		job := MustNew(d)
		return Check{Attempts: 1}.Run(t.Context(), job, must(job.Params(nil, "partitions=100")))
	}
	got, err := check(estimating(&tracer{}, 20))
	if err != nil || got.Stopped == nil || got.Stopped.At != 20 || len(got.Runs) != 6 {
		t.Errorf("got %+v, %v", got, err)
	}
	smaller := must(runTrace(t.Context(), t, Local{Slots: 1, Attempts: 1}, "20", &tracer{}))
	if !bytes.Equal(got.Result, smaller.Result) {
		t.Errorf("got %s, want %s", got.Result, smaller.Result)
	}
	var differs *DifferenceError
	for _, first := range []int{2, 21} { // the first call that stops is the second of two calls for a rung, or the first
		calls := 0
		d := estimating(&tracer{}, 0)
		d.Stop = func(context.Context, traceParams, trace, uint64) (bool, error) { calls++; return calls >= first, nil }
		if _, err := check(d); !errors.As(err, &differs) || differs.Cause != causeEstimate {
			t.Errorf("Stop depends on the number of calls: got %v", err)
		}
	}
	// A difference within a node that crosses rungs is traced to its partition.
	if _, err := check(estimating(ordered{}, 0)); !errors.As(err, &differs) {
		t.Errorf("Map depends on the calls before it: got %v", err)
	}
}
