package jobs

import "context"

// Plan says how a computation is cut: into a fixed number of partitions. It is made
// once per job and stored.
type Plan struct {
	Partitions uint64 // 1 to MaxPartitions; must not depend on the number of workers
	Data       []byte // optional; passed to every Open
}

// Mapper computes partitions. All slots of a worker share one Mapper, so Map is
// called from several goroutines at once. The caller owns the returned value: Merge
// may change it.
//
// A Mapper may also implement [Forker], and [io.Closer]: Close is called once, after
// the last Map has returned.
type Mapper[T any] interface {
	Map(ctx context.Context, partition uint64) (T, error)
}

// Forker is an optional interface of a [Mapper] that keeps state between the
// partitions of one slot, such as buffers, or work that neighbouring partitions
// share. A slot usually runs partitions in ascending order, but it may begin
// anywhere, go back, and get another fork at any time. The value of a partition must
// not depend on any of this.
type Forker[T any] interface {
	// Fork returns a Map function for one slot, which is called from one goroutine at a
	// time. Fork itself may be called from several. A function that panicked is not
	// called again.
	Fork() func(ctx context.Context, partition uint64) (T, error)
}

// Definition is the code of a kind of job. P is the type of its parameters, T that of
// a partial result and R that of the result, which must encode as JSON.
//
// P is a struct whose fields are the parameters. Each field is exported and is an
// integer, float, string, bool or [time.Duration]. Its tags:
//
//   - json: the parameter's name; by default the field's name in lower case
//   - min, max: bounds of a number or duration, both inclusive
//   - oneof: the strings allowed, separated by spaces
//   - help: one line of help
//
// P may implement [Validator]. The conditions of bit identity are in the package
// documentation.
type Definition[P, T, R any] struct {
	Name     string // 1 to 40 lower-case letters, digits and dashes, the first a letter
	Version  string // 1 to 40 characters; change it when partials or results change
	Summary  string // one line
	Defaults P

	// Plan cuts the computation. It is called once per job, by the leader, and its
	// return value is stored.
	Plan func(ctx context.Context, p P) (Plan, error)
	// Open prepares a worker for the job. It is called once per job and worker.
	Open func(ctx context.Context, p P, plan Plan) (Mapper[T], error)
	// Merge merges two partials, of which left covers the lower partitions. It may
	// change them and return either. An error or a panic fails the job, because the
	// same operands fail everywhere.
	Merge func(left, right T) (T, error)
	// Finish computes the result from the root, once all partitions are merged.
	Finish func(ctx context.Context, p P, root T) (R, error)
	// Codec encodes partials. Nil is CBOR in core deterministic encoding.
	Codec Codec[T]
}
