package jobs

import (
	"context"
	"errors"
	"fmt"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// Rounds is the code of a kind of job that passes over its partitions several times. P is the type of the
// parameters, S the type of the state, T the type of a partial result and R the type of the result. Each
// round computes all partitions with one state, and the merged partial gives the state of the next round:
//
//	Plan ─▶ Start ─▶ state 1 ─▶ Map, Merge ─▶ Next ─▶ state 2 ─▶ Map, Merge ─▶ Next ─▶ … ─▶ Finish
//
// The fields that are not described here are those of [Definition]. The result has the same bytes in every run
// under the conditions of the package documentation, which apply to Start, Round and Next too. A job with rounds
// has no estimates, and cannot reuse partials of other jobs.
type Rounds[P, S, T, R any] struct {
	Name     string
	Version  string
	Summary  string
	Defaults P

	Plan func(ctx context.Context, p P) (Plan, error)
	// Start returns the state of round 1. It is called once, by one of the workers.
	Start func(ctx context.Context, p P, plan Plan) (S, error)
	// Continue returns the state of round 1 of a job that continues from an earlier job, in place of Start.
	// The parameter earlier is the last state of the earlier job, which had the same definition but perhaps other
	// parameters and another plan. Continue should refuse a state that does not fit them with an error of [Permanent].
	// If Continue is nil, the job cannot continue from an earlier one.
	Continue func(ctx context.Context, p P, plan Plan, earlier S) (S, error)
	// Open prepares a worker for the job. Each worker calls Open once per job, so the returned value may keep
	// what it reads for one round until the next one, in a [Cache].
	Open  func(ctx context.Context, p P, plan Plan) (Rounder[S, T], error)
	Merge func(left, right T) (T, error)
	// Next computes the state of the next round from the state of a round and the merged partial of all of its
	// partitions. The number of the first round is 1. Next may change the state and the total.
	Next func(ctx context.Context, p P, state S, total T, round uint64) (Step[S], error)
	// MaxRounds returns the largest number of rounds, at least 1. After this number of rounds the job ends with the state
	// that Next has returned, also if Next did not say that it is done.
	MaxRounds func(p P) uint64
	// Finish computes the result from the last state.
	Finish func(ctx context.Context, p P, state S) (R, error)

	Codec      Codec[T]
	Shards     Sharder[T] // as in a Definition
	StateCodec Codec[S]   // encodes states; nil means CBOR in core deterministic encoding

	// Measure names the number in the field Value of a [Step], in one or two words such as "loss". If it is empty,
	// Next returns no number for people.
	Measure string

	Limits     Limits // the limit Finish also applies to Start and Next
	Restricted bool
	Preview    func(ctx context.Context, p P, plan Plan) (Preview, error)
	Items      func(ctx context.Context, p P, plan Plan) (func(partition uint64) string, error)
	NoAudit    func(p P) (reason string)
}

// Rounder is a job with rounds that is open in a process. It may implement [io.Closer] and [Cleaner].
type Rounder[S, T any] interface {
	// Round returns the mapper of a round. Map must not change the state, and its values must not depend on other
	// rounds, whose partitions may still run. The mapper may have the optional interfaces of a [Mapper], except
	// [Keyer] and [Cleaner]. Round is called once for each round, and never at the same time for two rounds.
	Round(ctx context.Context, state S) (Mapper[T], error)
}

// Step is what [Rounds].Next returns.
type Step[S any] struct {
	State S
	Done  bool    // true if the state is the last one
	Value float64 // a number for people, such as a loss; it must be finite
}

// NewRounds checks a definition with rounds and returns its job.
func NewRounds[P, S, T, R any](d Rounds[P, S, T, R]) (Job, error) {
	if err := engine.CheckKind(d.Name, d.Version); err != nil {
		return Job{}, fmt.Errorf("define job: %w", err)
	}
	b, err := bindRounds(d)
	if err != nil {
		return Job{}, fmt.Errorf("define job %s: %w", d.Name, err)
	}
	job := newJob(b.binding)
	job.measure, job.binding = d.Measure, b
	return job, nil
}

// MustNewRounds is like [NewRounds] but panics if the definition is not valid.
func MustNewRounds[P, S, T, R any](d Rounds[P, S, T, R]) Job {
	job, err := NewRounds(d)
	if err != nil {
		panic(err)
	}
	return job
}

// MaxRounds returns the largest number of rounds of a job with these parameters, or 0 if the job has no rounds.
func (j Job) MaxRounds(p Params) uint64 { return j.binding.Rounds(p) }

// Iterates reports whether the definition is a [Rounds]. A job with a second pass has rounds too, but does not iterate.
func (j Job) Iterates(p Params) bool { return !j.passes && j.MaxRounds(p) > 0 }

// Continues reports whether the job can continue from the last state of an earlier job.
func (j Job) Continues() bool { return j.binding.Continues() }

// Measure returns the name of the number in the field Value of a [Step]. It is empty for a job without such a number.
func (j Job) Measure() string { return j.measure }

// errNoRound is the error of a partition that runs outside a round.
var errNoRound = errors.New("a partition of a job with rounds runs only in a round")

// outsideRounds is the mapper of the task of a job with rounds.
type outsideRounds[T any] struct{}

func (outsideRounds[T]) Map(context.Context, uint64) (T, error) {
	var none T
	return none, Permanent(errNoRound)
}
