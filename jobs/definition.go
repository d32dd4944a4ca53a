package jobs

import (
	"cmp"
	"context"
	"iter"
	"time"
)

// Plan contains the number of partitions of a job. A job is planned once, and its plan is stored.
type Plan struct {
	Partitions uint64 // 1 to MaxPartitions; the number must not depend on the number of workers
	Data       []byte // optional data, passed to every call of Open
}

// Mapper computes partitions. All slots of a worker share one Mapper, so Map is
// called from several goroutines at once. The caller owns the returned value: Merge
// may change it.
//
// A Mapper may also implement one of [Forker], [Filler] and [Streamer], and [Cleaner], [Keyer] and [Sizer]. If a
// Mapper implements [io.Closer], Close is called once, after the last Map has returned.
type Mapper[T any] interface {
	Map(ctx context.Context, partition uint64) (T, error)
}

// Forker is an optional interface of a [Mapper] that keeps state between the partitions that a slot
// runs. Examples are buffers, and intermediate results that neighbouring partitions share. A slot
// usually runs partitions in ascending order, but it may begin at any partition, go back, and get
// another fork at any time. The value of a partition must not depend on the order or on the fork.
type Forker[T any] interface {
	// Fork returns a Map function for one slot, which is called from one goroutine at a
	// time. Fork itself may be called from several goroutines. A Map function that
	// panicked is not called again.
	Fork() func(ctx context.Context, partition uint64) (T, error)
}

// Cleaner is an optional interface of a [Mapper] whose Map writes to other storage than the
// cluster's storage. If a job ends, each process that has opened the job calls CleanUp after Close.
// The job may have completed, failed or been cancelled, so CleanUp must check whether the job's
// result refers to the written data. A job that retries a completed one with skipped partitions has the same plan, and its
// partials refer to what the completed job has written; its CleanUp must leave this. CleanUp is not called if the process
// ends before the job.
type Cleaner interface {
	CleanUp(ctx context.Context) error
}

// Sizer is an optional interface of a [Mapper] whose partials are large. PartialBytes returns about
// how many bytes of memory a partial takes. A worker then respects its memory limit from the first
// partition on. Without a Sizer, a worker learns the size from the first partial, and the first
// partitions of several slots may together exceed the limit.
type Sizer interface {
	PartialBytes() int64
}

// Streamer is an optional interface of a [Mapper] that computes several partitions at once, for
// example because it sends the inputs of the next partitions to another process in advance. A slot
// calls Stream instead of Map. Only the second computation of an audit calls Map.
type Streamer[T any] interface {
	// Stream yields the values of the partitions of a span in order. The sequence ends with the
	// first error, which is the error of the first partition without a value. The caller may stop
	// early. Stream then drops values that it has computed but not yielded.
	Stream(ctx context.Context, span Span) iter.Seq2[T, error]
}

// Definition is the code of a kind of job. P is the type of the parameters, T the type of a partial
// result and R the type of the result. Encoding and decoding must not change a value of type T;
// [New] checks this for the default codec. R must encode as JSON.
//
// P is a struct whose fields are the parameters. Each field is exported and is an
// integer, float, string, bool or [time.Duration]. The tags of a field are:
//
//   - json: the parameter's name; the default is the field's name in lower case. With omitempty, the stored form of the
//     parameters leaves out an empty value, so that workers without a parameter that was added later accept jobs that do
//     not use it. The default is then empty
//   - min, max: inclusive bounds of a number or duration
//   - oneof: the allowed strings, separated by spaces
//   - required: "true" if a string has no default, so that each job must give one
//   - help: a description of one line, unless P is a [Describer]
//
// P may also embed structs, whose fields are then parameters of P too, in the order of all fields. As
// in encoding/json, a parameter of P hides a parameter of the same name in an embedded struct, whose
// field then keeps its default. Two embedded structs with a parameter of one name are refused. The tag last of an embedded struct names
// parameters, separated by spaces, that follow all others in the list of parameters.
//
// P and the structs that it embeds may implement [Validator]. The conditions of bit identity are in the package
// documentation.
type Definition[P, T, R any] struct {
	Name     string // 1 to 40 lower-case letters, digits and dashes; the first character is a letter
	Version  string // 1 to 40 characters; must change whenever partials or results change
	Summary  string // description of the job in one line
	Defaults P

	// Plan cuts the computation into partitions. A worker calls Plan, and the leader stores the
	// plan.
	Plan func(ctx context.Context, p P) (Plan, error)
	// Open prepares a worker for the job. Each worker calls Open once per job.
	Open func(ctx context.Context, p P, plan Plan) (Mapper[T], error)
	// Merge merges two partials. The partial left covers the lower partitions. Merge may change
	// both operands and return either. Usually Merge changes left and returns it. If Merge returns
	// left, large partials need no new memory, and a [Filler] can reuse the memory of right. An
	// error or a panic fails the job, because a retry with the same operands would fail too.
	Merge func(left, right T) (T, error)
	// Merger, if not nil, returns a function that merges the partials of a job with the parameters
	// p. If the returned function is nil, the job uses the field Merge. The function may call other
	// programs and take long, so only workers call it, and never the leader. Unlike Merge, the
	// function must not change its operands, because a failed call is retried up to the job's
	// number of attempts.
	Merger func(p P) func(ctx context.Context, left, right T) (T, error)
	// sharded is true for the partials of a [Sharded]. The functions may then move data to storage, and the mapper may be a
	// Filler, because the function that Merger returns changes its operands only if it succeeds or its error is permanent.
	sharded bool
	// Shards, if not nil, says how partials are cut into shards, and promises that Merge merges each shard as it merges
	// the partial. Merges of large partials then use the slots of their process that have no work, for example at the
	// top of the tree, where few merges are left. A definition has not both Shards and a Merger. For a Merge that adds
	// vectors element by element, Shards is a [Vector].
	Shards Sharder[T]
	// Large, if not nil, merges and finishes partials that exceed the memory of a worker.
	Large *Large[P, R]
	// SecondPass, if not nil, lets a job whose merged partial may be larger than a worker pass over its partitions twice.
	// A definition with a second pass has neither Shards nor a Merger.
	SecondPass *SecondPass[P, T]
	// Finish computes the result from the root's partial, which covers all partitions. A
	// large part of the result may be an [Attachment].
	Finish func(ctx context.Context, p P, root T) (R, error)
	// Codec encodes partials. Nil means CBOR in core deterministic encoding. For large slices
	// use [Vector] or [Raw], and [Zstd] to compress partials.
	Codec Codec[T]

	// Limits bound how long the functions may take.
	Limits Limits

	// Restricted is true if a submitter can harm the workers with the job's parameters, for example
	// kill processes or write files. A worker runs a restricted job only if its configuration, or
	// the flag --allow of the command "bellwether worker", names the job.
	Restricted bool

	// Preview, if not nil, describes the input of a job from the job's plan. A job with a Preview
	// is also planned by the process that submits it: if Plan returns a permanent error there, the
	// submission is refused. The Plan of a job with a Preview must therefore return a permanent
	// error only if the parameters are wrong for every process, and not if this process cannot read
	// the input.
	Preview func(ctx context.Context, p P, plan Plan) (Preview, error)

	// Items, if not nil, returns a function that names what each partition of a planned job computes, for
	// people: for example the object that the partition reads. An empty name means that there is no name.
	Items func(ctx context.Context, p P, plan Plan) (func(partition uint64) string, error)

	// Estimate, if not nil, describes what the first n partitions of a running job say about the result: a
	// value and its interval, or anything else whose JSON has at most [MaxEstimate] bytes. The status of the
	// job shows it. An Interval of package jobs/estimate is also drawn as a curve with a band. If Estimate returns nil, there is no
	// estimate for n. The prefix is the merged partial of the n partitions. Estimate must not change it.
	//
	// Estimate and Stop are called for the rungs n = 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24 and so on
	// (the numbers with at most three significant bits), in this order, as soon as the n partitions are
	// finished. An error fails the job after its number of attempts. A definition that gets or loses both
	// functions needs another Version. The package documentation describes prefixes.
	Estimate func(ctx context.Context, p P, prefix T, n uint64) (any, error)

	// Stop, if not nil, reports whether the first n partitions suffice. If they do, the job ends with the
	// result of these n partitions, and all others are dropped. Stop must depend on its arguments alone, and
	// must not change the prefix.
	Stop func(ctx context.Context, p P, prefix T, n uint64) (bool, error)

	// NoEstimates, if not nil, reports whether jobs with the parameters p have neither estimates nor stops.
	NoEstimates func(p P) bool

	// NoAudit returns why a job with parameters p cannot be audited ([Audit]), for example because
	// each computation of a partition writes an object. If the reason is empty or NoAudit is nil,
	// the job can be audited.
	NoAudit func(p P) (reason string)
	// NoReuse returns why a job with parameters p cannot reuse partials of other jobs ([Reuse]), for
	// example because Map writes objects that belong to the job. If the reason is empty or NoReuse is
	// nil, the job can reuse partials.
	NoReuse func(p P) (reason string)
}

// Limits bound how long each call of a definition's functions may take. When a limit has passed,
// the context of the call is cancelled and the call counts as failed. A failed call is retried up
// to the job's number of attempts. Code that does not return after the limit blocks a slot of its
// worker until the code returns. A negative value means no limit. A run in one process ([Local]) has no limits.
//
// Partitions that take less than a microsecond on average are not timed one by one if Map is an hour or
// longer: the limit may then pass twice, and the error may name a range of partitions, which fails the
// job without a retry.
type Limits struct {
	Plan   time.Duration // limit of a call of Plan; the default is 10 min
	Open   time.Duration // limit of a call of Open or Close; the default is 10 min
	Map    time.Duration // limit of a partition and the merges that follow from it; the default is 24 h
	Merge  time.Duration // limit of a merge outside a span; the default is 10 min
	Finish time.Duration // limit of a call of Finish; the default is 10 min

	// Estimate is the limit of a call of Estimate and Stop for one rung, including the merges of its prefix;
	// the default is 10 min.
	Estimate time.Duration
}

const (
	defaultLimit    = 10 * time.Minute
	defaultMapLimit = 24 * time.Hour // a partition can be made smaller, so a longer one has probably hung
)

// withDefaults returns the limits with defaults in place of zeros. A limit of 0 in the result means no limit.
func (l Limits) withDefaults() Limits {
	l.Plan = cmp.Or(l.Plan, defaultLimit)
	l.Open = cmp.Or(l.Open, defaultLimit)
	l.Map = cmp.Or(l.Map, defaultMapLimit)
	l.Merge = cmp.Or(l.Merge, defaultLimit)
	l.Finish = cmp.Or(l.Finish, defaultLimit)
	l.Estimate = cmp.Or(l.Estimate, defaultLimit)
	for _, d := range []*time.Duration{&l.Plan, &l.Open, &l.Map, &l.Merge, &l.Finish, &l.Estimate} {
		*d = max(0, *d)
	}
	return l
}
