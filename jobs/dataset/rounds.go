package dataset

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
)

// Rounds is the code of a kind of job that passes over the records of a dataset several times. P is the type of the
// parameters, D the type of the rows of a partition, S the type of the state, T the type of a partial and R the type
// of the result, as in jobs.Rounds. A worker reads a partition once, and keeps its rows for the next rounds if they
// fit into its memory (jobs.Cache).
//
// A partition has the records that begin in its range. The records of an object are in partitions that depend on
// Input.Block, so a result depends on the block size only if Map and Merge do, for example by the order in which
// they add floats.
type Rounds[P, D, S, T, R any] struct {
	Name, Version, Summary string // fields of jobs.Rounds
	Defaults               P
	Measure                string

	Input   func(p P) Input    // as in Job
	Columns func(p P) []string // as in Job

	// Read adds a record to the rows of a partition, which are at first the zero value of D. Read is called for the
	// records of an object in their order. If Read returns an error, it must not have changed the rows. The job then
	// fails or skips the record, as with Job.Fold. Read may be called with records that do not exist, as Job.Fold may.
	Read func(rows *D, r *Record) error
	// Open replaces Read if reading a record depends on the parameters or on the columns. Open returns a Read
	// function, which is called from only one goroutine.
	Open func(p P, columns []string) (read func(rows *D, r *Record) error, err error)
	// Size returns the number of bytes that rows take in memory.
	Size func(rows D) int64

	Check    func(p P, times map[string]string) error                                             // as in Job
	Prepare  func(ctx context.Context, p P, columns []string) (stores bool, err error)            // as in Job; with stores, Place.OutputID is set
	Discard  func(ctx context.Context, p P, outputID string) error                                // as in Job
	Start    func(ctx context.Context, p P) (S, error)                                            // state of round 1
	Continue func(ctx context.Context, p P, earlier S) (S, error)                                 // state of round 1 from the last one of an earlier job, as in jobs.Rounds; may be nil
	Map      func(ctx context.Context, p P, state S, at Place, rows D) (T, error)                 // must not change the state and the rows
	Merge    func(left, right T) (T, error)                                                       // may change and return left or right
	Next     func(ctx context.Context, p P, state S, total T, round uint64) (jobs.Step[S], error) // as in jobs.Rounds

	MaxRounds func(p P) uint64
	// Finish computes the result from the last state.
	Finish func(ctx context.Context, p P, state S, totals Totals) (R, error)

	Limits     jobs.Limits // as in jobs.Rounds
	Restricted bool
}

// RoundState is the state of a job that DefineRounds has defined. The fields are exported only for the codec.
type RoundState[S any] struct {
	_ struct{} `cbor:",toarray"`

	State  S
	Totals Totals
}

// DefineRounds returns the job's definition, for jobs.NewRounds.
func DefineRounds[P, D, S, T, R any](j Rounds[P, D, S, T, R]) jobs.Rounds[P, RoundState[S], RoundPartial[T], R] {
	return defineRounds(j, func(ctx context.Context) source.Driver { return Open(ctx) })
}

func defineRounds[P, D, S, T, R any](j Rounds[P, D, S, T, R], open func(ctx context.Context) source.Driver) jobs.Rounds[P, RoundState[S], RoundPartial[T], R] {
	read := Job[P, D, R]{Input: j.Input, Columns: j.Columns, Fold: j.Read, Open: j.Open, Check: j.Check, Prepare: j.Prepare, Discard: j.Discard}
	r := &rounds[P, D, S, T, R]{job: j, engine: &engine[P, D, R]{job: read, open: open}}
	d := jobs.Rounds[P, RoundState[S], RoundPartial[T], R]{
		Name: j.Name, Version: j.Version, Summary: j.Summary, Defaults: j.Defaults, Measure: j.Measure,
		Plan: r.engine.plan, Preview: r.engine.preview, Start: r.start, Open: r.open,
		Merge: func(left, right RoundPartial[T]) (RoundPartial[T], error) { return left.merge(right, j.Merge) },
		Next:  r.next, MaxRounds: j.MaxRounds, Finish: r.finish, Limits: j.Limits, Restricted: j.Restricted,
	}
	if j.Continue != nil {
		d.Continue = r.continues
	}
	if (j.Read == nil) == (j.Open == nil) || j.Size == nil || j.Start == nil || j.Map == nil || j.Merge == nil || j.Next == nil || j.Finish == nil || j.Prepare != nil && j.Discard == nil {
		d.Plan = nil // a nil Plan makes jobs.NewRounds refuse the definition
	}
	return d
}

// rounds runs the jobs of one definition.
type rounds[P, D, S, T, R any] struct {
	job    Rounds[P, D, S, T, R]
	engine *engine[P, D, R]
}

func (r *rounds[P, D, S, T, R]) start(ctx context.Context, p P, plan jobs.Plan) (s RoundState[S], err error) {
	if s.Totals, err = firstTotals(plan); err == nil {
		s.State, err = r.job.Start(ctx, p)
	}
	return s, err
}

func (r *rounds[P, D, S, T, R]) continues(ctx context.Context, p P, plan jobs.Plan, earlier RoundState[S]) (s RoundState[S], err error) {
	if s.Totals, err = firstTotals(plan); err == nil {
		s.State, err = r.job.Continue(ctx, p, earlier.State)
	}
	return s, err
}

// firstTotals returns the totals before the first round.
func firstTotals(plan jobs.Plan) (Totals, error) {
	data, _, err := decodePlan(plan)
	if err != nil {
		return Totals{}, err
	}
	return Totals{OutputID: data.OutputID, Omitted: data.Omitted}, nil
}

func (r *rounds[P, D, S, T, R]) next(ctx context.Context, p P, state RoundState[S], total RoundPartial[T], round uint64) (jobs.Step[RoundState[S]], error) {
	next, err := r.job.Next(ctx, p, state.State, total.Value, round)
	t := state.Totals
	t.Records, t.Bytes, t.Skipped, t.Samples = total.Records, total.Bytes, total.Skipped, nil
	for _, s := range total.Samples {
		t.Samples = append(t.Samples, s.sample())
	}
	return jobs.Step[RoundState[S]]{State: RoundState[S]{State: next.State, Totals: t}, Done: next.Done, Value: next.Value}, err
}

func (r *rounds[P, D, S, T, R]) finish(ctx context.Context, p P, state RoundState[S]) (R, error) {
	return r.job.Finish(ctx, p, state.State, state.Totals)
}

func (r *rounds[P, D, S, T, R]) open(ctx context.Context, p P, plan jobs.Plan) (jobs.Rounder[RoundState[S], RoundPartial[T]], error) {
	opened, err := r.engine.openMapper(ctx, p, plan)
	if err != nil {
		return nil, err
	}
	size := func(o *owned[D]) int64 { return r.job.Size(o.rows) }
	return &rounder[P, D, S, T, R]{job: r.job, from: opened.(*mapper[P, D, R]), rows: jobs.NewCache(ctx, size)}, nil
}

// rounder is a job that is open on a worker.
type rounder[P, D, S, T, R any] struct {
	job  Rounds[P, D, S, T, R]
	from *mapper[P, D, R]
	rows *jobs.Cache[*owned[D]]
}

// Round returns the mapper of a round. It ends the reading in advance for partitions that other workers have got.
func (r *rounder[P, D, S, T, R]) Round(_ context.Context, state RoundState[S]) (jobs.Mapper[RoundPartial[T]], error) {
	r.from.transfers.forget()
	return roundMapper[P, D, S, T, R]{job: r, state: state.State}, nil
}

// Close ends reading in advance.
func (r *rounder[P, D, S, T, R]) Close() error { return r.from.Close() }

// CleanUp calls the job's Discard.
func (r *rounder[P, D, S, T, R]) CleanUp(ctx context.Context) error { return r.from.CleanUp(ctx) }

// roundMapper computes the partials of a round. It does not embed the rounder, because a worker closes it after its round.
type roundMapper[P, D, S, T, R any] struct {
	job   *rounder[P, D, S, T, R]
	state S
}

var _ jobs.Forker[RoundPartial[int]] = roundMapper[Input, int, int, int, int]{}

// Map computes a partition with a new fork.
func (m roundMapper[P, D, S, T, R]) Map(ctx context.Context, partition uint64) (RoundPartial[T], error) {
	return m.Fork()(ctx, partition)
}

// Fork implements jobs.Forker.
func (m roundMapper[P, D, S, T, R]) Fork() func(ctx context.Context, partition uint64) (RoundPartial[T], error) {
	r := m.job
	f := r.from.newFork()
	return func(ctx context.Context, partition uint64) (out RoundPartial[T], err error) {
		o, err := r.rows.Get(ctx, partition, func(ctx context.Context) (*owned[D], error) { return r.from.own(ctx, f, partition) })
		if err != nil {
			return out, err
		}
		// Merge appends to the samples, and other rounds use o too, so the partial's slice has no room to append in place.
		out = RoundPartial[T]{First: o.first, Last: o.last, Bytes: o.bytes, Records: o.records, Skipped: o.skipped, Samples: slices.Clip(o.samples)}
		out.Value, err = r.job.Map(ctx, r.from.params, m.state, Place{OutputID: r.from.outputID, Partition: partition, Last: true}, o.rows)
		return out, err
	}
}

// RoundPartial is the partial of a round of a job that DefineRounds has defined. The fields are exported only for
// the codec.
type RoundPartial[T any] struct {
	_ struct{} `cbor:",toarray"`

	Value            T
	First, Last      Border
	Bytes            int64
	Records, Skipped uint64
	Samples          []Fault
}

// Border is the beginning or the end of a range. The fields are exported only for the codec.
type Border struct {
	_ struct{} `cbor:",toarray"`

	Object string
	Offset int64
	Quoted bool // the reading of the range assumes that the border is inside quotes
}

var errBorder = errors.New("it is inside a quoted field by the text before it, and outside by the text after it, or the reverse: " +
	"give a larger block, so that fewer ranges begin in the middle of a quoted field, or the parameter quote, which is empty if quotes enclose no fields")

// merge merges the partials of neighbouring ranges.
func (left RoundPartial[T]) merge(right RoundPartial[T], merge func(left, right T) (T, error)) (RoundPartial[T], error) {
	if at := right.First; at.Offset > 0 {
		if left.Last.Object != at.Object || left.Last.Offset != at.Offset {
			return left, fmt.Errorf("%s: byte %d: the range before it is missing", at.Object, at.Offset)
		}
		if left.Last.Quoted != at.Quoted {
			return left, jobs.Permanent(&Fault{Object: at.Object, Offset: at.Offset, Text: errBorder.Error()})
		}
	}
	value, err := merge(left.Value, right.Value)
	samples := append(left.Samples, right.Samples...)
	return RoundPartial[T]{
		Value: value, First: left.First, Last: right.Last, Bytes: left.Bytes + right.Bytes, Records: left.Records + right.Records,
		Skipped: left.Skipped + right.Skipped, Samples: samples[:min(len(samples), maxSamples)],
	}, err
}
