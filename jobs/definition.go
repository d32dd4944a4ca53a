package jobs

import "context"

// Plan is how a computation is cut: a fixed number of partitions, and what Open
// needs to know besides the parameters. It is made once per job and kept.
type Plan struct {
	Partitions uint64 // 1 to MaxPartitions; must not depend on the number of workers
	Data       []byte // optional, given to every Open
}

// Mapper computes partitions. One Mapper serves all slots of a worker, so Map is
// called from several goroutines at once. What it returns belongs to the caller:
// Merge may change it. If a Mapper also implements [io.Closer], Close is called
// once, after the last Map has returned.
type Mapper[T any] interface {
	Map(ctx context.Context, partition uint64) (T, error)
}

// Forker is what a Mapper may implement to keep state between the partitions of
// one slot, such as buffers, or work that neighbouring partitions share. A slot
// walks its partitions in ascending order for the most part, but may begin
// anywhere, go back, and be given another fork at any time: what a partition
// gives must not depend on that.
type Forker[T any] interface {
	// Fork returns a Map for one slot, called from one goroutine at a time. Calls
	// of Fork itself may come from several. A fork that panicked is not used again.
	Fork() func(ctx context.Context, partition uint64) (T, error)
}

// Definition is the code of a kind of job: P are its parameters, T is a partial
// result, and R is the result, which must encode as JSON.
//
// P is a struct; each of its fields, exported and an integer, float, string, bool
// or [time.Duration], is a parameter. The tag json names it (without one, it is
// the field's name in lower case), min and max bound a number or duration, oneof
// lists what a string may be, separated by spaces, and help is a line of help.
// P may be a [Validator].
//
// The package documentation says what makes results the same bytes on every run.
type Definition[P, T, R any] struct {
	Name     string // 1 to 40 lower-case letters, digits and dashes, a letter first
	Version  string // changes when results or partials do: workers of another version get none of the job
	Summary  string // one line
	Defaults P

	// Plan cuts the computation, once, on the leader. Its answer is made durable.
	Plan func(ctx context.Context, p P) (Plan, error)
	// Open readies a worker for the job, once per job and worker.
	Open func(ctx context.Context, p P, plan Plan) (Mapper[T], error)
	// Merge merges two partials; left comes before right. It may change them and
	// return either. An error or a panic fails the job, since the same operands
	// would fail everywhere.
	Merge func(left, right T) (T, error)
	// Finish makes the result of the root, once every partition is merged.
	Finish func(ctx context.Context, p P, root T) (R, error)
	// Codec encodes partials. Nil is CBOR, core deterministic.
	Codec Codec[T]
}
