package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

func TestCheckAcceptsDeterministicJobs(t *testing.T) {
	job := MustNew(traceDefinition(funcMapper((&tracer{}).Map)))
	for _, partitions := range []string{"1", "2", "3", "100", "1000"} {
		params := must(job.Params(nil, "partitions="+partitions))
		var most atomic.Uint64
		checked, err := Check{Progress: func(done, all uint64) {
			for seen := most.Load(); done > seen && !most.CompareAndSwap(seen, done); seen = most.Load() {
			}
		}}.Run(t.Context(), job, params)
		if err != nil {
			t.Fatalf("%s partitions: %v", partitions, err)
		}
		local := must(Local{Slots: 2, Attempts: 1}.Run(t.Context(), job, params))
		if !bytes.Equal(checked.Result, local.Result) || checked.Partitions != local.Partitions {
			t.Errorf("%s partitions: the check's result differs from that of a run", partitions)
		}
		if want := local.Partitions * uint64(len(checked.Runs)); most.Load() != want {
			t.Errorf("progress ended at %d of %d", most.Load(), want)
		}
	}
}

// ordered is a mapper whose value for a partition depends on the partition that was mapped before.
type ordered struct{}

func (ordered) Map(context.Context, uint64) (trace, error) { panic("want a call of Fork") }

func (ordered) Fork() func(context.Context, uint64) (trace, error) {
	last := uint64(0)
	return func(_ context.Context, p uint64) (trace, error) {
		follows := last+1 == p
		last = p
		return trace{Text: fmt.Sprint(p, follows || p == 0)}, nil
	}
}

// weighted is a partial whose codec loses the count.
type weighted struct {
	Mean  float64
	Count int
}

type weightedCodec struct{ cborCodec[float64] }

func (c weightedCodec) Encode(w weighted) ([]byte, error) { return c.cborCodec.Encode(w.Mean) }
func (c weightedCodec) Decode(data []byte) (weighted, error) {
	mean, err := c.cborCodec.Decode(data)
	return weighted{mean, 1}, err
}

type setCodec struct{}

func (setCodec) Encode(set map[string]bool) ([]byte, error) {
	var b []byte
	for key := range set {
		b = append(b, key+" "...)
	}
	return b, nil
}

func (setCodec) Decode(data []byte) (map[string]bool, error) {
	set := make(map[string]bool)
	for _, key := range strings.Fields(string(data)) {
		set[key] = true
	}
	return set, nil
}

func TestCheckFindsDifferences(t *testing.T) {
	var calls atomic.Uint64
	constant := funcMapper(func(context.Context, uint64) (trace, error) { return trace{}, nil })
	numbered := funcMapper(func(context.Context, uint64) (trace, error) { return trace{Text: fmt.Sprint(calls.Add(1))}, nil })
	with := func(m Mapper[trace], change func(*Definition[traceParams, trace, trace])) Job {
		d := traceDefinition(m)
		change(&d)
		return MustNew(d)
	}
	for name, c := range map[string]struct {
		job  Job
		want []string // texts that the error must contain
	}{
		"plan": {
			with(constant, func(d *Definition[traceParams, trace, trace]) {
				d.Plan = func(context.Context, traceParams) (Plan, error) { return Plan{Partitions: calls.Add(1)}, nil }
			}),
			[]string{"plan: two calls of Plan give different bytes"},
		},
		"map": {
			MustNew(traceDefinition(numbered)),
			[]string{"node 0/0, partition 0: run 1 (1 slot, each partial encoded) and run 2 (1 slot, only the root encoded) give different bytes: Map depends"},
		},
		"order": {
			MustNew(traceDefinition(ordered{})),
			[]string{"run 1 (1 slot, each partial encoded) and run 3 (2 slots, random cuts) give different bytes: Map depends"},
		},
		"merge": {
			with(constant, func(d *Definition[traceParams, trace, trace]) {
				d.Merge = func(trace, trace) (trace, error) { return trace{Text: fmt.Sprint(calls.Add(1))}, nil }
			}),
			[]string{"node 1/0, partitions [0,2): two merges of its children give different bytes: Merge depends"},
		},
		"finish": {
			with(constant, func(d *Definition[traceParams, trace, trace]) {
				d.Finish = func(context.Context, traceParams, trace) (trace, error) {
					return trace{Text: fmt.Sprint(calls.Add(1))}, nil
				}
			}),
			[]string{"result: two calls of Finish give different bytes"},
		},
		"lossy codec": {
			MustNew(Definition[traceParams, weighted, float64]{
				Name: "weighted", Version: "1", Defaults: traceParams{Partitions: 1},
				Plan: traceDefinition(nil).Plan,
				Open: func(context.Context, traceParams, Plan) (Mapper[weighted], error) { return weightedMapper{}, nil },
				Merge: func(l, r weighted) (weighted, error) {
					n := l.Count + r.Count
					return weighted{(l.Mean*float64(l.Count) + r.Mean*float64(r.Count)) / float64(n), n}, nil
				},
				Finish: func(_ context.Context, _ traceParams, w weighted) (float64, error) { return w.Mean, nil },
				Codec:  weightedCodec{},
			}),
			[]string{"node 5/3, partitions [96,99): run 1", "and run 2", "give different bytes: Merge differs for partials that were encoded"},
		},
		"unsorted codec": {
			MustNew(Definition[traceParams, map[string]bool, int]{
				Name: "set", Version: "1", Defaults: traceParams{Partitions: 1},
				Plan:   traceDefinition(nil).Plan,
				Open:   func(context.Context, traceParams, Plan) (Mapper[map[string]bool], error) { return setMapper{}, nil },
				Merge:  func(l, r map[string]bool) (map[string]bool, error) { maps.Copy(l, r); return l, nil },
				Finish: func(_ context.Context, _ traceParams, set map[string]bool) (int, error) { return len(set), nil },
				Codec:  setCodec{},
			}),
			[]string{"node 0/0, partition 0: its partial and the same partial after decoding and encoding give different bytes: the codec"},
		},
	} {
		_, err := Check{Attempts: 1}.Run(t.Context(), c.job, must(c.job.Params(nil, "partitions=99")))
		var difference *DifferenceError
		if !errors.As(err, &difference) {
			t.Errorf("%s: got %v, want a difference", name, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", name, err, want)
			}
		}
	}
}

type weightedMapper struct{}

// Map returns values whose sums are exact, except in the last three partitions.
func (weightedMapper) Map(_ context.Context, p uint64) (weighted, error) {
	if p < 96 {
		return weighted{1, 1}, nil
	}
	return weighted{float64(p), 1}, nil
}

type setMapper struct{}

func (setMapper) Map(_ context.Context, p uint64) (map[string]bool, error) {
	set := make(map[string]bool)
	for i := range 100 {
		set[strconv.Itoa(i)] = true
	}
	return set, nil
}

func TestCheckReportsErrors(t *testing.T) {
	cause := errors.New("cause")
	m := funcMapper(func(_ context.Context, p uint64) (trace, error) {
		if p == 5 {
			return trace{}, cause
		}
		return trace{}, nil
	})
	job := MustNew(traceDefinition(m))
	if _, err := (Check{Attempts: 2}).Run(t.Context(), job, must(job.Params(nil, "partitions=10"))); !errors.Is(err, cause) || !strings.HasPrefix(err.Error(), "run 1 (") {
		t.Errorf("got %v, want run 1 to fail with the cause", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (Check{}).Run(ctx, job, must(job.Params(nil, "partitions=10"))); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
}
