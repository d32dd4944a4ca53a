package dataset

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/fxamacker/cbor/v2"

	"github.com/bellwether-compute/bellwether/jobs"
)

// Second is the second pass of a job whose accumulators may be larger than a worker, as in [jobs.SecondPass]. P is the
// type of the parameters and A the type of the accumulators.
type Second[P, A any] struct {
	// Has reports whether a job with the parameters p may have a second pass.
	Has func(p P) bool
	// Spill moves a part of an accumulator to storage with jobs.PutSpill if it is large. Spill is called while a partition
	// is read, as Job.Store is, and, with whole, after a partition was read and after each merge.
	Spill func(ctx context.Context, p P, acc *A, whole bool) error
	// Needed reports whether the accumulator of a part of the dataset is so large, or partly in storage, that the job needs a
	// second pass.
	Needed func(acc A) bool
	// State returns the state of the second pass from the accumulator of the whole dataset.
	State func(ctx context.Context, p P, acc A, partitions uint64) (state []byte, err error)
	// Open returns a function that makes a Map function of the second pass for a slot. The Map functions return the
	// accumulators that Merge merges and Finish gets.
	Open func(ctx context.Context, p P, state []byte, outputID string, types map[string]string) (fork func() func(ctx context.Context, partition uint64) (A, error), err error)
}

// passState is the state of the second pass. The fields are exported only for the codec.
type passState struct {
	_ struct{} `cbor:",toarray"`

	State            []byte
	Bytes            int64 // the numbers of the first pass, which the first partition of the second pass returns
	Records, Skipped uint64
	Samples          []Fault
}

// secondPass returns the second pass of the definition.
func (e *engine[P, A, R]) secondPass() *jobs.SecondPass[P, Partial[A]] {
	if e.job.Second == nil {
		return nil
	}
	return &jobs.SecondPass[P, Partial[A]]{Has: e.job.Second.Has, Spill: e.spill, State: e.passState, Open: e.openSecond}
}

func (e *engine[P, A, R]) spill(ctx context.Context, p P, merged Partial[A]) (Partial[A], error) {
	for _, r := range merged.Readings {
		for i := range r.Accs {
			if err := e.job.Second.Spill(ctx, p, &r.Accs[i], true); err != nil {
				return merged, err
			}
		}
	}
	return merged, nil
}

func (e *engine[P, A, R]) passState(ctx context.Context, p P, partitions uint64, root Partial[A]) ([]byte, error) {
	needed := false
	for _, r := range root.Readings {
		needed = needed || slices.ContainsFunc(r.Accs, e.job.Second.Needed)
	}
	if !needed {
		return nil, nil
	}
	acc, totals, err := e.merger.finish(ctx, newReader(e.open(ctx)), root)
	if err != nil {
		return nil, err
	}
	s := passState{Bytes: totals.Bytes, Records: totals.Records, Skipped: totals.Skipped, Samples: root.Readings[0].Samples}
	if s.State, err = e.job.Second.State(ctx, p, acc, partitions); err != nil {
		return nil, err
	}
	return cbor.Marshal(s)
}

func (e *engine[P, A, R]) openSecond(ctx context.Context, p P, plan jobs.Plan, state []byte) (jobs.Mapper[Partial[A]], error) {
	var s passState
	if err := cbor.Unmarshal(state, &s); err != nil {
		return nil, errors.New("damaged state of the second pass")
	}
	opened, err := e.openMapper(ctx, p, plan)
	if err != nil {
		return nil, err
	}
	m := &secondMapper[P, A, R]{first: opened.(*mapper[P, A, R]), state: s}
	m.fork, err = e.job.Second.Open(ctx, p, s.State, m.first.outputID, m.first.types)
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// secondMapper computes the partials of the second pass. A partial has the borders of its partition in the first pass, so
// that Merge finds no gap.
type secondMapper[P, A, R any] struct {
	first *mapper[P, A, R]
	state passState
	fork  func() func(ctx context.Context, partition uint64) (A, error)
}

var (
	_ jobs.Forker[Partial[int]] = (*secondMapper[Input, int, int])(nil)
	_ io.Closer                 = (*secondMapper[Input, int, int])(nil)
)

// Close implements io.Closer.
func (m *secondMapper[P, A, R]) Close() error { return m.first.Close() }

// Map computes a partition with a new fork.
func (m *secondMapper[P, A, R]) Map(ctx context.Context, partition uint64) (Partial[A], error) {
	return m.Fork()(ctx, partition)
}

// Fork implements jobs.Forker.
func (m *secondMapper[P, A, R]) Fork() func(ctx context.Context, partition uint64) (Partial[A], error) {
	compute := m.fork()
	return func(ctx context.Context, partition uint64) (Partial[A], error) {
		p := m.first.ranges.part(partition)
		out := Partial[A]{Setup: m.first.setup, Begins: p.begins(), Ends: p.ends()}
		out.From, out.To = p.borders()
		acc, err := compute(ctx, partition)
		if err != nil {
			return out, err
		}
		r := Reading[A]{Cut: true, Accs: []A{acc}}
		if partition == 0 {
			out.Bytes = m.state.Bytes
			r.Records, r.Skipped, r.Samples = m.state.Records, m.state.Skipped, m.state.Samples
		}
		out.Readings = []Reading[A]{r}
		return out, nil
	}
}
