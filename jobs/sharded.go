package jobs

import (
	"context"
	"fmt"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// Sharded is the code of a kind of job whose partials are too large for a worker, or for the caches of a processor, so
// they are computed and merged shard by shard. P is the type of the parameters, T the type of a shard of a partial, S the
// type of what is kept of a merged shard, and R the type of the result:
//
//	Plan ─▶ shard 0: Map, Merge ─▶ FinishShard ─┐
//	        shard 1: Map, Merge ─▶ FinishShard ─┼─▶ Finish
//	        …                                   ┘
//
// A shard is for example a range of a vector. Map computes one shard of one partition. All workers map, merge and finish
// shards at the same time, and each needs memory for the partials of a few shards. Shards of 64 KiB to 1 MiB are the fastest,
// because a slot then merges in the caches of its processor what it has mapped.
//
// Each shard is merged in the aggregation tree of Partitions, so its merged partial does not depend on the number of shards.
// The engine counts Partitions, rounded up to a power of two, for each shard, and shows these numbers: partition n is
// partition n mod 2^k of the shard n / 2^k. FinishShard is called by a worker as soon as the merged shard meets its
// neighbour, and again if the result of the call is lost. The conditions of bit identity apply to all functions.
//
// The fields that are not described here are those of [Definition]. A sharded job has no estimates, and cannot reuse
// partials of other jobs.
type Sharded[P, T, S, R any] struct {
	Name     string
	Version  string
	Summary  string
	Defaults P

	Plan func(ctx context.Context, p P) (ShardedPlan, error)
	Open func(ctx context.Context, p P, plan ShardedPlan) (ShardMapper[T], error)
	// Merge merges a shard of two partials.
	Merge func(left, right T) (T, error)
	// FinishShard computes what Finish needs of a merged shard, for example a checksum, or the name under which
	// FinishShard has written the shard. It must not change the merged partial. The results of all shards together must
	// fit into a worker. A failed call is retried up to the job's number of attempts. A call counts to the limit of
	// the merge from which it follows, or of Finish for the last shard.
	FinishShard func(ctx context.Context, p P, shard uint64, merged T) (S, error)
	// Finish computes the result from the results of all shards, in order. A shard whose partitions were all
	// skipped has the zero value.
	Finish func(ctx context.Context, p P, shards []S) (R, error)
	Codec  Codec[T]

	Limits     Limits
	Restricted bool
	Preview    func(ctx context.Context, p P, plan ShardedPlan) (Preview, error)
	Items      func(ctx context.Context, p P, plan ShardedPlan) (func(shard, partition uint64) string, error)
	NoAudit    func(p P) (reason string)
}

// ShardedPlan contains the numbers of shards and partitions of a job. A job is planned once, and its plan is stored.
type ShardedPlan struct {
	Shards     uint64 // at least 1; must not depend on the number of workers
	Partitions uint64 // of each shard, at least 1; Shards x Partitions is at most MaxPartitions, with Partitions rounded up to a power of two
	Data       []byte // optional data, passed to every call of Open
}

// ShardMapper computes shards of partitions. Its methods are called as those of a [Mapper], and it may have the same
// optional interfaces [Cleaner], [Sizer] and io.Closer, and [ShardFiller]. PartialBytes is the size of a shard.
type ShardMapper[T any] interface {
	Map(ctx context.Context, shard, partition uint64) (T, error)
}

// ShardFiller is an optional interface of a [ShardMapper]. Fill is to Map what it is in a [Filler].
type ShardFiller[T any] interface {
	Fill(ctx context.Context, shard, partition uint64, spare T) (T, error)
}

// NewSharded checks a definition of a sharded job and returns its job.
func NewSharded[P, T, S, R any](d Sharded[P, T, S, R]) (Job, error) {
	if err := engine.CheckKind(d.Name, d.Version); err != nil {
		return Job{}, fmt.Errorf("define job: %w", err)
	}
	whole, err := d.whole()
	if err != nil {
		return Job{}, fmt.Errorf("define job %s: %w", d.Name, err)
	}
	return New(whole)
}

// MustNewSharded is like [NewSharded] but panics if the definition is not valid.
func MustNewSharded[P, T, S, R any](d Sharded[P, T, S, R]) Job {
	job, err := NewSharded(d)
	if err != nil {
		panic(err)
	}
	return job
}
