// Package jobs is the SDK for writing jobs. A [Definition] describes how a computation is cut into
// partitions, what each partition computes, and how the results of two neighbouring partitions are
// merged. [New] turns a definition into a [Job], which a cluster or [Local] runs:
//
//	var definition = jobs.Definition[params, float64, float64]{
//		Name: "pi", Version: "1", Summary: "pi, by Leibniz' series",
//		Defaults: params{Terms: 1e9},
//		Plan: func(_ context.Context, p params) (jobs.Plan, error) {
//			return jobs.Plan{Partitions: (p.Terms + width - 1) / width}, nil
//		},
//		Open:   func(_ context.Context, p params, _ jobs.Plan) (jobs.Mapper[float64], error) { return p, nil },
//		Merge:  func(left, right float64) (float64, error) { return left + right, nil },
//		Finish: func(_ context.Context, _ params, root float64) (float64, error) { return 4 * root, nil },
//	}
//
//	func main() { cli.Main(jobs.MustNew(definition)) }
//
// The package's example is a complete job. Package jobs/engine contains what workers and leaders need
// to run a job.
//
// # The aggregation tree
//
// Partitions are the leaves of a binary tree whose shape depends only on their number. Merge merges
// two neighbouring nodes of the tree, and the root is the operand of Finish:
//
//	              root
//	            /      \
//	       0-3          \
//	     /     \         \
//	  0-1       2-3       \
//	 /   \     /   \       \
//	0     1   2     3       4        partitions
//
// Every run performs the same merges on the same operands, no matter which worker runs which
// partition. Floating-point sums are therefore identical bit for bit.
//
// # Bit identity
//
// The bytes of a job's result are the same in every run, for any number of workers and
// despite crashes, under these conditions:
//
//   - The result of Map depends only on the partition, the parameters and the plan. Map reads no
//     clock, does not depend on the order of calls, and uses only random numbers that are derived
//     from these inputs.
//   - Merge and Finish depend on their operands alone, and not on the iteration order
//     of a map.
//   - Merge is associative apart from rounding errors, because all runs use the same tree. Merge
//     need not be commutative.
//   - If the definition has Shards, Merge merges each shard of a partial as it merges the partial ([Sharder]), because
//     runs differ in which partials are merged in shards.
//   - Encoding and decoding a partial loses nothing. [New] refuses types whose values the default
//     codec would change, for example by a tag json:"-", a field that is not exported, two fields
//     of one name, or omitempty on a float, which turns -0 into 0. The author must ensure that a
//     codec set in the definition loses nothing and that times are UTC. No two pointers in a
//     partial may lead to the same value, because decoding makes two values of that value.
//   - The programs of the workers may be compiled for different architectures, for different levels
//     of one architecture, such as GOAMD64=v1 and v3, or by different versions of Go. For mixed
//     architectures, levels or versions, Map, Merge and Finish must round each product before it is
//     added, as in float64(x*y) + z, because Go's compiler fuses multiplication and addition on
//     some architectures. Map, Merge and Finish must also avoid functions of package math that are
//     written in assembly for some architectures, such as math.Exp and math.Log. math.Sqrt is exact
//     everywhere. A job's status and outcome name the builds that computed it.
//
// An [Audit], or the flag --audit of the commands run and submit, computes a share of the partitions
// twice, in a cluster on two workers. [Check], or the command "bellwether run --check", tests a job for those conditions that can be
// tested within one process.
//
// A partition may run more than once, for example after a crash or because its worker was slow. The
// result counts each partition once. Side effects of Map must be idempotent.
//
// # Units and limits
//
// A job has 1 to [MaxPartitions] partitions. A partition should take between about 10 ms and a few
// seconds, because a worker can be interrupted only between two partitions, and a crash loses the
// partitions that were running. A partition that takes longer than 24 h has failed, unless the
// definition's [Limits] or the submitter (--partition-timeout) set another limit.
//
// # Estimates and stops
//
// A definition with Estimate or Stop looks at prefixes of a running job: the first n partitions, for the rungs
// n = 1 to 8, 10, 12, 14, 16, 20, 24, 28, 32, 40 and so on, which are the numbers with at most three significant
// bits. The partial of a prefix is merged from fixed nodes in a fixed order. It is the root of a job that has n
// partitions, so it has the same bytes in every run. Rungs are judged one after the other, and never on what happens
// to be finished. The job ends with the first rung for which Stop is true, and its result is that of n partitions.
// All others are dropped, however many of them were finished before. The rung at which a job stops therefore depends
// on the job alone, and has at most a quarter more partitions than are necessary.
//
// A search stops at its first hit. Its partial is the lowest hit, Merge keeps the left one, and Stop is true if
// there is a hit. A prefix with a hit contains the lowest hit of the job, whichever worker was lucky first. The
// package's example of Stop is such a job.
//
// A partition that fails for good above a rung that suffices does not fail the job. The last rung is below the
// number of partitions, so a job without a stop has its usual result. If partitions were skipped, they are missing
// in prefixes too. Package jobs/estimate has confidence intervals for repeated looks.
//
// # Rounds
//
// A job with rounds passes over its partitions several times, for example to train a model or to solve equations.
// Its definition is a [Rounds], and [NewRounds] turns it into a [Job]:
//
//	Plan ─▶ Start ─▶ state 1 ─▶ Map, Merge ─▶ Next ─▶ state 2 ─▶ Map, Merge ─▶ Next ─▶ … ─▶ Finish
//
// Each round computes all partitions with one state. Next computes the state of the next round from the state and
// the merged partial of its round. The job ends when Next says that it is done, and at the latest after MaxRounds
// rounds. The last state is the operand of Finish. The plan and the tree are the same in all rounds, so the states
// and the result have the same bytes in every run. Next may also return a number for people, such as a loss, which
// status shows round by round. [Check] compares the states and the nodes of each round, and finds code of a round
// that changes the state. The package's examples of Rounds are such jobs.
//
// Open returns a [Rounder], whose Round returns the mapper of a round. What Open returns lives as long as the job on
// that worker. A [Cache], which Open makes with [NewCache], keeps what a partition has read for the next rounds:
//
//	Open:  func(ctx context.Context, p params, _ jobs.Plan) (jobs.Rounder[state, sums], error) {
//		return rounder{rows: jobs.NewCache(ctx, func(rows []float64) int64 { return 8 * int64(len(rows)) })}, nil
//	}
//	…
//	rows, err := r.rows.Get(ctx, partition, r.load) // in Map
//
// The cache only saves time, under these conditions:
//
//   - A value of Map depends on its partition and the state of its round alone. A partition may run on another
//     worker in the next round, and a worker that joins late has an empty cache.
//   - The caches of all jobs of a worker use at most three quarters of its memory (--memory), and less if large partials
//     need it. A cache keeps what it has, and does not replace it by values that do not fit. These are loaded again in
//     each round. The job's log says so once per worker, with the memory that would be needed.
//   - Partitions that run at the same time share a value, so they must not change it. Partitions of an earlier round may
//     still run when the next round begins. A [Check] finds a job that uses values of other partitions.
//   - A worker closes the Rounder when the job ends. A worker that is never told of the end, for example
//     because the leader has died, closes it after 10 minutes without a round. The same happens to a worker that
//     gets no partitions of the job for so long. If it gets some later, it calls Open again.
//
// A round begins when its state is durable. A crash loses partitions of the current round at most. A
// state of up to 4 KiB is part of the job's checkpoint. A larger state is written to storage once per round. Workers get
// a state of up to 64 KiB from the leader, and a larger one from other workers, or from storage if these are gone.
//
// With --stop-after, the job ends with the result of its finished rounds when the time is up, which is not the same in every
// run. The last state is kept with the job until the job is removed. A job whose definition has Continue may begin there, with other
// parameters such as more rounds, or with another plan. The earlier job may have failed or been cancelled: its last state is then that
// of the round in which it ended.
//
// A job with rounds has no estimates, and can neither skip partitions nor reuse partials.
//
// # Large partials
//
// A partial whose encoding is larger than 256 KiB is large, and in a cluster with more than 256 slots a smaller one. A large partial stays in the memory of the
// worker that computed it, and the leader receives only its node, size and checksum. A merge of large
// partials is assigned to a worker that holds an operand, and this worker fetches the other operand
// from its holder. If memory is short, a worker moves large partials to files. A worker writes a large
// partial to storage if the lost work would be worth more than the write, if another worker cannot
// fetch the partial, before the worker stops, and if the partial fits neither in memory nor in a file.
// If a worker dies, the partitions whose results only this worker held, and that are not in storage,
// run again.
//
// For large partials, such as vectors of numbers, use the codec [Vector] or [Raw], a Merge that changes
// its left operand and returns it, and a mapper that is a [Filler]. The package's example of Filler is
// such a job. If the mapper is also a [Sizer], a worker knows the size of the partials before it has
// computed one. If Merge works element by element, the definition has Shards. If the result is large too, Finish returns an [Attachment].
//
// # Shards
//
// Few merges are left at the top of the tree, and one merge is made by one worker. If the definition has Shards, a merge
// of partials of at least 512 KiB is also made by the slots of its process that have no partition to run. Each merges one
// shard, a part of the partial, of at least 256 KiB. For vectors that Merge adds element by element, a shard is a range
// of the vector, and [Vector] cuts it out without a copy:
//
//	Codec: jobs.Vector[float64]{}, Shards: jobs.Vector[float64]{},
//
// If two partials together exceed the memory of a worker, and Shards and Codec are such a Vector, the worker merges
// them shard by shard: one partial stays in memory, and the shards of the other one are read from a file. A worker
// therefore needs memory for one partial, not for two.
//
// The number of shards differs from run to run, and the bytes do not, on the condition that [Sharder] states. [Check]
// merges each node of the tree in 2 to 8 shards too, and finds a Merge that does not satisfy the condition.
//
// # Results larger than a worker
//
// The root of the tree must fit into the memory of a worker, unless the job has functions on streams, is computed in shards,
// or has a second pass.
//
// A [Large] has functions that read encoded partials as streams, and write one. They fit a Merge that reads its operands from
// the beginning to the end, such as one that appends texts or merges sorted lines. A worker calls them only for partials that
// exceed its memory. Each partial is still merged by one worker, and the last merge reads and writes the whole result.
//
// A [Sharded] is the definition of a job that computes its partials shard by shard, for example ranges of vectors. Map gets
// the numbers of a shard and of a partition. Each shard is merged on its own, and FinishShard takes it as soon as it is merged:
// it computes what the result needs of the shard, or moves the shard to storage with [PutSpill]. [AttachSpills] makes the attachment of the
// result of these. All workers map, merge and finish shards at the same time, and a worker needs memory for a few
// shards. This is also the fastest way to add up large vectors, if a range can be computed without the rest of its vector:
// shards of some 256 KiB are merged in the caches of the processor. The shards of a job have the bytes that they have in
// the job that is not sharded.
//
// A [SecondPass] is for partials that grow while they are merged, such as groups by a key. Spill, which is called
// after each merge, moves what is large to storage with [PutSpill], for example groups that are sorted by their keys, in pieces of
// about a megabyte. The partial contains the names of the pieces, so the partial of the root is a list. The second pass cuts the
// result into shards, such as ranges of keys, and each of its partitions computes one from the pieces that it reads with [GetSpill].
// All workers therefore compute the end of the job together, and none needs more memory than for a part of it.
//
// The bytes are those of every run, if what Spill moves depends on the partial alone, and the shards on the list alone. The
// name of a piece is the SHA-256 of its bytes, so two attempts of a merge give the same partial. The two passes are rounds: if
// a leader dies, the next one goes on in the pass that the manifest names. The job scan computes the groups of its parameter output
// in this way.
//
// # Reuse
//
// A partial depends on the definition, the parameters, the build and the input of its partitions. The hash
// of these is its key, and the key of a node is the hash of its children's keys. A job with a [Reuse] takes
// each node whose key is kept in place of computing it, and keeps new nodes that are worth their bytes: at
// most 4 MB for each second of Map. The result has the same bytes, because the tree has the same operands.
//
// A mapper that is a [Keyer] names the input of a partition. After an object was added to the input, changed
// or removed, only its own partitions are computed, if the others have the same ranges as before. Small
// objects share partitions, so for an input that changes choose a size of partitions that is not above the size of
// an object. Without a Keyer, only a job with the same parameters and plan reuses anything. If the mapper also names its
// [Inputs], a dry run says why partitions are computed.
//
// In a cluster, a job is submitted with the option Keep of package jobs/client. It cannot have estimates or audits.
//
// # Logs
//
// The functions of a definition log through [Logger], which belongs to their context. The command logs shows the
// lines with worker, partition and attempt. Their amount is bounded, and they have no effect on the job.
//
// # Errors
//
//   - Parameters: the error names the parameter, its value and the allowed values.
//   - Map: a [*PartitionError]. The partition is retried, up to the job's limit of
//     attempts, unless the error is marked by [Permanent].
//   - Merge: a permanent error, because a retry merges the same operands. If a function of the
//     definition's Merger fails, the partition or the merge is retried.
//   - Encoding a partial: a permanent error when the partial is first reported. The default codec
//     refuses strings that are not UTF-8, values that are cyclic or nested deeper than 32 levels,
//     and maps in which two keys have the same encoding, such as two NaNs.
//   - Start and Next: a permanent error for a state that contains NaN, because all further rounds would contain
//     it too, and for a number for people that is not finite. The error names the field and the round. Other
//     errors of Start and Next are retried like those of Finish.
//   - Round: an error like one of Open.
//   - Finish: an error if the result cannot be expressed in JSON, such as NaN.
//   - Kept partials that are missing or damaged: their partitions are computed again.
//   - Panics in functions of the definition are errors with a stack: a [*PanicError].
package jobs
