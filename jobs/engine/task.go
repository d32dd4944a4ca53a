package engine

import (
	"context"
	"fmt"
	"sync/atomic"
)

// Task is a job that is open in this process. All stacks of a task share one mapper.
type Task interface {
	// PartialBytes returns the size in bytes that the mapper's Sizer gives, or 0.
	PartialBytes() int64

	// Spares lets a Filler reuse memory that the caller no longer needs. The function get returns the
	// memory of an encoded partial of the job, or nil if the caller has no spare memory. If size is
	// not 0, the next partition probably needs size bytes, and get may also return new memory. The
	// function put takes memory that the job's stacks no longer need: a stack keeps one spare value at
	// most, and none while it is empty.
	//
	// Several goroutines may call get and put at the same time. Spares must be called before a stack
	// runs. Spares returns false, and neither function is ever called, unless the mapper is a Filler
	// and the codec decodes partials without copying them. Only if Spares returns true may the caller
	// reuse the memory of a partial after a call of Merge.
	Spares(get func(size int) []byte, put func([]byte)) bool

	// Audit makes the stacks that NewStack creates from now on record the SHA-256 of the values of some
	// partitions. The share of these partitions is in millionths, and the seed is the seed of their
	// random choice. The caller takes the records with the stack's Audited, and compares them with the
	// result of Recompute in this or another process.
	Audit(share uint32, seed string)

	// Find reads the kept partials of the job and merges them as far as possible. If ctx ends early, Find
	// returns what it has found so far. NewStack must not be called after Find.
	Find(ctx context.Context, r Reuse) (Found, error)

	// Keep makes the stacks that NewStack creates from now on keep partials in r.Kept.
	Keep(r Reuse)

	// NewStack returns an empty stack. Each slot needs a separate stack. A slot should keep its stack
	// for as long as the slot works on the job, because the stack holds the Map function that the
	// mapper's Fork returned for the slot.
	NewStack() Stack

	// Recompute computes partitions for an audit, and records in progress which of them it is
	// computing. An error or a panic is returned as a *PartitionError of package jobs.
	Recompute(ctx context.Context, partitions []uint64, progress *Progress) ([]SHA256, error)

	// Round returns the task that runs the partitions of a round with an encoded state. The caller must close it, and
	// begins one round at a time. Only the task of a job with rounds has rounds: any other task returns itself.
	Round(ctx context.Context, state []byte) (Task, error)

	// IsCloser reports whether the mapper implements io.Closer.
	IsCloser() bool

	// Close closes the mapper if it implements io.Closer. No stack of the task may be running.
	Close() error

	// CleanUp calls the mapper's CleanUp if the mapper is a Cleaner. The job must have ended, and the
	// task must be closed.
	CleanUp(ctx context.Context) error
}

// Stack runs partitions in order and keeps the finished nodes. Stack merges two siblings as soon as
// both are on the stack. For each contiguous span the stack therefore holds at most two nodes per
// level of the tree. A stack must be used from one goroutine at a time.
type Stack interface {
	// Run maps the partitions of span in order, until all are done, stop is set or a partition fails.
	// Run returns the first partition that is not done. Run checks stop between partitions. Run passes
	// ctx to Map but does not check whether ctx is done.
	//
	// An error or a panic is returned as a *PartitionError of package jobs. Partitions that were done
	// before the error stay on the stack, so the caller may continue with the failed partition or after
	// it. If a merge failed, the error is permanent and the stack is empty. If a function of the
	// definition's Merger failed, the partition has failed and the stack keeps the operands.
	Run(ctx context.Context, span Span, stop *atomic.Bool) (next uint64, err error)

	// Drain removes the nodes whose partitions are all below hi from the stack and returns their
	// encoded partials, in the order in which the nodes were added. An error is permanent.
	Drain(hi uint64) ([]Partial, error)

	// Audited removes and returns the records of audited partitions, in the order in which the
	// partitions ran.
	Audited() []Audited

	// Interrupted returns the error of the last Run if Run did not return because the job's code
	// called [runtime.Goexit], which ends the goroutine.
	Interrupted() error

	// Watch makes later calls of Run record in p what they are doing. A watched stack needs some
	// additional nanoseconds for each partition.
	Watch(p *Progress)
}

// Partial is the encoded result of one node. Data must not be changed.
type Partial struct {
	Node Node
	Data []byte
}

// Audited is an audited partition.
type Audited struct {
	Partition uint64
	Sum       SHA256 // SHA-256 of the partition's encoded value
}

// CauseMap names the possible causes of two different values of a partition.
const CauseMap = "Map depends on more than the partition, the parameters and the plan, such as the time, random numbers, the order of a map or the calls before it"

// Compare returns an error if a second computation of the partition gave another value. A retry cannot
// cure the error, so the caller marks it as permanent. The parameter by says who computed the two
// values, and may be empty.
func (a Audited) Compare(second SHA256, by string) error {
	if a.Sum == second {
		return nil
	}
	return fmt.Errorf("audit: the partition was computed twice%s, and the partials have the SHA-256 %x and %x: %s", by, a.Sum, second, CauseMap)
}

// Progress says which partition a [Stack] is running. Other goroutines may read it while the stack
// runs.
type Progress struct{ at atomic.Uint64 }

// Function is a function of a definition that a stack runs for a partition.
type Function uint64

// Values of [Function].
const (
	Map      Function = iota
	MapAgain          // the second computation of an audited partition
	Merge
)

var functions = [...]string{Map: "Map", MapAgain: MapForAudit, Merge: "Merge"}

// MapForAudit is the name of the function that runs for the second computation of an audited
// partition.
const MapForAudit = "Map for the audit"

// At returns the running partition, and the name of the function that runs for the partition.
func (p *Progress) At() (partition uint64, function string) {
	at := p.at.Load()
	return at >> 2, functions[at&3]
}

// Set records that a function runs for a partition. A nil Progress records nothing.
func (p *Progress) Set(partition uint64, function Function) {
	if p == nil {
		return
	}
	p.at.Store(partition<<2 | uint64(function)) // the shift loses no bit, because MaxPartitions is 2^62
}
