package kmeans

import (
	"context"
	"math"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset"
	"github.com/bellwether-compute/bellwether/jobs/dataset/output"
)

// Definition is the definition of the job kmeans.
var Definition = func() jobs.Rounds[Params, dataset.RoundState[state], dataset.RoundPartial[tally], Result] {
	d := dataset.DefineRounds(job)
	d.NoAudit = func(p Params) string {
		if p.Output != "" {
			return "each computation of a partition writes its rows to another object; leave out the parameter output"
		}
		return ""
	}
	return d
}()

var job = dataset.Rounds[Params, rows, state, tally, Result]{
	Name: "kmeans", Version: "1", Summary: "clusters of rows from files or blobs: centres, sizes, inertia",
	Defaults: defaults(), Measure: "inertia",
	Columns: func(p Params) []string {
		if list := names(p.Columns); len(list) > 0 {
			return append(list, names(p.Keep)...)
		}
		return nil
	},
	Open: reader, Size: size, Prepare: prepare, Discard: discard,
	Start:    func(context.Context, Params) (state, error) { return state{}, nil },
	Continue: func(_ context.Context, p Params, earlier state) (state, error) { return earlier.again(p) },
	Map:      compute, Merge: merge, Next: next, Finish: finish,
	MaxRounds: func(p Params) uint64 {
		if p.Output != "" {
			return p.Rounds + 2
		}
		return p.Rounds + 1
	},
}

// phase is what a round does.
type phase uint8

const (
	sampling phase = iota // round 1
	moving                // computes the means of the rows of each centre
	writing               // writes the output
)

// state is the state of a round. The fields are exported for the codec.
type state struct {
	Phase   phase
	Columns []string  // names of the columns of numbers; in round 1 only of a job that continues from an earlier one
	Centres []float64 // one after the other; as Columns
	Scales  []scale   // of each column
	Spread  scale     // of squared distances

	// The fields below describe the centres in the last state, and before it the centres of the round before.
	Sizes     []uint64 // rows of each centre
	Inertia   float64
	Rounds    uint64 // finished rounds with centres
	Converged bool
	Parts     []output.Part
}

// tally is the partial of a round. The fields are exported for the codec.
type tally struct {
	_ struct{} `cbor:",toarray"`

	// These fields are of round 1.
	Columns []string  // empty if there are no rows
	Rows    uint64    // number of rows
	Largest []float64 // largest absolute value of each column
	Sample  []sampled
	Limit   int // size of the sample

	Sizes   []uint64 // rows of each centre
	Sums    []sum    // scaled sums of each column of the rows of each centre
	Inertia sum      // scaled

	Parts []output.Part // of the last round of a job with an output
}

// compute computes the partial of a partition.
func compute(ctx context.Context, p Params, s state, at dataset.Place, r rows) (tally, error) {
	switch s.Phase {
	case sampling:
		return sampleOf(p, r), ctx.Err()
	case writing:
		parts, err := write(ctx, p, s, at, r)
		return tally{Parts: parts}, err
	}
	return s.assign(ctx, r)
}

// sampleOf returns the sample and the largest values of a partition.
func sampleOf(p Params, r rows) tally {
	t := tally{Limit: sampleSize(p.K)}
	t.Columns, t.Rows, t.Largest = r.names, uint64(r.count()), make([]float64, len(r.names))
	sample := newSampler(t.Limit)
	for _, row := range r.each() {
		for j, x := range row {
			t.Largest[j] = max(t.Largest[j], math.Abs(x))
		}
		sample.add(hash(p.Seed, row), row)
	}
	sample.trim()
	t.Sample = sample.list
	return t
}

// between is the number of rows between two checks of the context.
const between = 1 << 14

// assign assigns the rows of a partition to the nearest centres.
func (s state) assign(ctx context.Context, r rows) (tally, error) {
	width := len(s.Scales)
	t := tally{Sizes: make([]uint64, len(s.Centres)/width), Sums: make([]sum, len(s.Centres))}
	factors, spread := make([]float64, width), s.Spread.factor()
	for j, f := range s.Scales {
		factors[j] = f.factor()
	}
	for i, row := range r.each() {
		if i%between == 0 && ctx.Err() != nil {
			return t, context.Cause(ctx)
		}
		c, squared := Nearest(row, s.Centres)
		t.Sizes[c]++
		t.Inertia.add(int64(squared * spread))
		sums := t.Sums[c*width : (c+1)*width]
		sums = sums[:len(row)]
		for j, x := range row {
			sums[j].add(int64(x * factors[j]))
		}
	}
	return t, nil
}

// merge merges the partials of neighbouring partitions.
func merge(left, right tally) (tally, error) {
	if left.Limit > 0 {
		left.Sample = mergeSamples(left.Sample, right.Sample, left.Limit)
		if left.Rows += right.Rows; len(left.Columns) == 0 {
			left.Columns, left.Largest = right.Columns, right.Largest
		}
		for j, x := range right.Largest {
			left.Largest[j] = max(left.Largest[j], x)
		}
	}
	for c, n := range right.Sizes {
		left.Sizes[c] += n
	}
	for i, s := range right.Sums {
		left.Sums[i].plus(s)
	}
	left.Inertia.plus(right.Inertia)
	left.Parts = append(left.Parts, right.Parts...)
	return left, nil
}
