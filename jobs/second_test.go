package jobs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// inTwoPasses is a definition with a second pass. Its partials are numbers, of which those above 10 are moved to storage.
func inTwoPasses() Definition[struct{}, []string, string] {
	return Definition[struct{}, []string, string]{
		Name: "twice", Version: "1",
		Plan: func(context.Context, struct{}) (Plan, error) { return Plan{Partitions: 5}, nil },
		Open: func(context.Context, struct{}, Plan) (Mapper[[]string], error) {
			return mapping(func(_ context.Context, i uint64) ([]string, error) { return []string{fmt.Sprint(i)}, nil }), nil
		},
		Merge: func(left, right []string) ([]string, error) { return append(left, right...), nil },
		SecondPass: &SecondPass[struct{}, []string]{
			Has: func(struct{}) bool { return true },
			Spill: func(ctx context.Context, _ struct{}, merged []string) ([]string, error) {
				if len(merged) < 4 || len(merged[0]) > 1 {
					return merged, nil
				}
				name, err := PutSpill(ctx, []byte(strings.Join(merged, " ")))
				return []string{name}, err
			},
			State: func(_ context.Context, _ struct{}, _ uint64, root []string) ([]byte, error) {
				return []byte(root[0]), nil
			},
			Open: func(_ context.Context, _ struct{}, _ Plan, state []byte) (Mapper[[]string], error) {
				return mapping(func(ctx context.Context, i uint64) ([]string, error) {
					if i > 0 {
						return nil, nil
					}
					data, err := GetSpill(ctx, string(state))
					return []string{string(data)}, err
				}), nil
			},
		},
		Finish: func(_ context.Context, _ struct{}, root []string) (string, error) {
			return strings.Join(root, "|"), nil
		},
	}
}

type mapping func(context.Context, uint64) ([]string, error)

func (m mapping) Map(ctx context.Context, i uint64) ([]string, error) { return m(ctx, i) }

func TestSecondPass(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	job := MustNew(inTwoPasses())
	result, err := Local{Slots: 2, Attempts: 1}.Run(t.Context(), job, nil)
	if err != nil || string(result.Result) != `"0 1 2 3"` || result.Rounds != 2 {
		t.Errorf("got %s in %d passes, %v", result.Result, result.Rounds, err)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("the run left %v, %v", left, err)
	}
	if _, err := (Check{Slots: 2, Attempts: 1}).Run(t.Context(), job, nil); err != nil {
		t.Errorf("check: %v", err)
	}
	if job.StopsEarly(nil) || !job.Engine().HasMerger(nil) || job.MaxRounds(nil) != 2 {
		t.Errorf("stops early %v, merger %v, rounds %d", job.StopsEarly(nil), job.Engine().HasMerger(nil), job.MaxRounds(nil))
	}
	if _, err := job.binding.family(nil, ""); err == nil || !strings.HasSuffix(err.Error(), "it may have a second pass") {
		t.Errorf("reuse: got %v", err)
	}
}

// TestSecondPassIsOptional runs a job that needs no second pass, and one whose parameters exclude it.
func TestSecondPassIsOptional(t *testing.T) {
	for has, rounds := range map[bool]uint64{true: 1, false: 0} {
		d := inTwoPasses()
		d.SecondPass.Has = func(struct{}) bool { return has }
		d.SecondPass.Spill = func(_ context.Context, _ struct{}, merged []string) ([]string, error) { return merged, nil }
		d.SecondPass.State = func(context.Context, struct{}, uint64, []string) ([]byte, error) { return nil, nil }
		result, err := Local{Slots: 2, Attempts: 1}.Run(t.Context(), MustNew(d), nil)
		if err != nil || string(result.Result) != `"0|1|2|3|4"` || result.Rounds != rounds {
			t.Errorf("got %s in %d passes, %v, want %d", result.Result, result.Rounds, err, rounds)
		}
	}
}

func TestSecondPassRefuses(t *testing.T) {
	for want, change := range map[string]func(d *Definition[struct{}, []string, string]){
		"want all of Has, Spill, State and Open": func(d *Definition[struct{}, []string, string]) { d.SecondPass.State = nil },
		"want neither a Merger nor Shards": func(d *Definition[struct{}, []string, string]) {
			d.Merger = func(struct{}) func(context.Context, []string, []string) ([]string, error) { return nil }
		},
		"want neither Estimate nor Stop": func(d *Definition[struct{}, []string, string]) {
			d.Stop = func(context.Context, struct{}, []string, uint64) (bool, error) { return true, nil }
		},
	} {
		d := inTwoPasses()
		change(&d)
		if _, err := New(d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	b := MustNew(inTwoPasses()).binding
	for _, state := range []string{"", "\x00", "\x01", "\x04x"} {
		if _, err := b.Next(t.Context(), nil, engine.Round{Number: 1, State: []byte(state)}, engine.Operand{}); err == nil {
			t.Errorf("state %q: got no error", state)
		}
	}
	if _, err := GetSpill(t.Context(), "x"); !errors.Is(err, errNoSpills) {
		t.Errorf("got %v, want %v", err, errNoSpills)
	}
}

// An error of Spill is no error of the merge, which is tried again. An error of Merge is permanent.
func TestSpillFails(t *testing.T) {
	d, failed := inTwoPasses(), errors.New("storage is full")
	d.SecondPass.Spill = func(context.Context, struct{}, []string) ([]string, error) { return nil, failed }
	operand, err := newCBORCodec[[]string]()
	if err != nil {
		t.Fatal(err)
	}
	data, err := operand.Encode([]string{"a"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = MustNew(d).Engine().Merge(t.Context(), nil, engine.Operand{Data: data}, engine.Operand{Data: data})
	if !errors.Is(err, failed) || IsPermanent(err) {
		t.Errorf("got %v, want a temporary error", err)
	}
	d.Merge = func([]string, []string) ([]string, error) { return nil, failed }
	_, err = MustNew(d).Engine().Merge(t.Context(), nil, engine.Operand{Data: data}, engine.Operand{Data: data})
	if !errors.Is(err, failed) || !IsPermanent(err) {
		t.Errorf("got %v, want a permanent error", err)
	}
}
