package store

import (
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// State is the state of a job.
type State string

// The states Completed, Failed and Cancelled are final.
const (
	Queued    State = "queued"  // the job was submitted, but no leader has planned it
	Running   State = "running" // the job was planned by a leader
	Completed State = "completed"
	Failed    State = "failed"
	Cancelled State = "cancelled"
)

// Final reports whether a job in this state has ended.
func (s State) Final() bool { return s == Completed || s == Failed || s == Cancelled }

func (s State) valid() bool { return s == Queued || s == Running || s.Final() }

// Spec describes a submitted job. A spec never changes.
type Spec struct {
	ID          string      `cbor:"1,keyasint" json:"id"`
	Job         string      `cbor:"2,keyasint" json:"job"`     // name of the job's definition
	Version     string      `cbor:"3,keyasint" json:"version"` // version of the job's definition
	Params      jobs.Params `cbor:"4,keyasint" json:"params"`
	Priority    int         `cbor:"5,keyasint" json:"priority"`     // jobs with a higher priority run first
	MaxAttempts int         `cbor:"6,keyasint" json:"max_attempts"` // maximum number of attempts per partition, at least 1
	MaxSkipped  uint64      `cbor:"7,keyasint" json:"max_skipped"`  // number of partitions that may be missing from the result, at most MaxSkipped
	Submitted   time.Time   `cbor:"8,keyasint" json:"submitted"`

	// StrictBuilds restricts the job to workers of one build, which Manifest.Builds contains.
	StrictBuilds     bool          `cbor:"9,keyasint,omitempty" json:"strict_builds"`
	Timeout          time.Duration `cbor:"10,keyasint,omitempty" json:"-"` // maximum time that leaders work on the job: see Manifest.TimeSpent; 0 means no limit
	PartitionTimeout time.Duration `cbor:"11,keyasint,omitempty" json:"-"` // maximum duration of a partition; 0 means the definition's limit
	Audit            uint32        `cbor:"12,keyasint,omitempty" json:"-"` // share of the partitions that are computed twice, in millionths

	After []string `cbor:"30,keyasint,omitempty" json:"after,omitempty"` // jobs that must have completed before this job begins; at most MaxAfter

	// Retries is a job of the same kind that failed, was cancelled, or has completed with skipped partitions. The nodes of its
	// final manifest are the first ones of this job.
	Retries string `cbor:"31,keyasint,omitempty" json:"retries,omitempty"`

	Name   string            `cbor:"32,keyasint,omitempty" json:"name,omitempty"`   // name for people; several jobs may have the same
	Labels map[string]string `cbor:"33,keyasint,omitempty" json:"labels,omitempty"` // for people, to select jobs

	// Keep is the number of bytes that the kept partials of the cluster may take when the job keeps its own. If Keep
	// is 0, the job neither reuses nor keeps partials.
	Keep int64 `cbor:"40,keyasint,omitempty" json:"keep,omitempty"`

	// From is a job of the same kind. When it has ended, this job continues from its last state.
	From string `cbor:"52,keyasint,omitempty" json:"from,omitempty"`

	Rounds  uint64 `cbor:"50,keyasint,omitempty" json:"max_rounds,omitempty"` // largest number of rounds; 0 for a job without rounds
	Measure string `cbor:"51,keyasint,omitempty" json:"measure,omitempty"`    // name of the number that each round has for people, or empty

	Estimates bool          `cbor:"20,keyasint,omitempty" json:"-"` // true if the job's prefixes are judged: see [jobs.Definition]
	StopAfter time.Duration `cbor:"21,keyasint,omitempty" json:"-"` // time after which the job ends with its largest finished prefix; 0 means never
}

// StoredSpec is a spec that was read from storage.
type StoredSpec struct {
	Spec
	Written Version // version of the spec's write
	SHA256  string  // SHA-256 of the stored spec, in hexadecimal
}

// MaxLabels is the largest number of labels of a job.
const MaxLabels = 20

// MaxAfter is the largest number of jobs after which a job runs.
const MaxAfter = 100

// MaxPriority is the highest priority of a job, and -MaxPriority the lowest.
const MaxPriority = 1000

// MaxParams is the largest size in bytes of a job's parameters in the stored form. The limit has
// two reasons: a spec must fit into one JetStream message, and a leader keeps the parameters of all
// active jobs in memory.
const MaxParams = 384 << 10

// MaxSkipped is the largest number of skipped partitions of a job. MaxSkipped bounds the size of
// the manifest, which lists each skipped partition.
const MaxSkipped = 1_000_000

// Manifest is a job's checkpoint. The spec, the plan and the manifest are all that a new leader
// needs to continue the job. A manifest is replaced only by compare-and-swap, so that the writes of
// an old leader fail.
type Manifest struct {
	Epoch      uint64       `cbor:"1,keyasint"` // epoch of the leader that wrote the manifest
	Sequence   uint64       `cbor:"2,keyasint"` // number of the write; each write of the manifest increases it by one
	State      State        `cbor:"3,keyasint"`
	Error      string       `cbor:"4,keyasint,omitempty"` // reason why the job failed
	Partitions uint64       `cbor:"5,keyasint,omitempty"` // number of partitions; 0 until the job is planned
	Nodes      []StoredNode `cbor:"6,keyasint,omitempty"` // finished nodes, merged as far as possible, in the order of their partitions
	Work
	Epochs      []uint64  `cbor:"12,keyasint,omitempty"` // epochs of the job's leaders, ascending
	Started     time.Time `cbor:"13,keyasint"`           // by the clock of the job's first leader, for display
	Finished    time.Time `cbor:"14,keyasint"`           // by the clock of the job's last leader, for display
	SHA256      string    `cbor:"15,keyasint,omitempty"` // SHA-256 of the result, in hexadecimal
	SpecSHA256  string    `cbor:"18,keyasint,omitempty"` // SHA-256 of the spec when the job began, in hexadecimal; empty in manifests of earlier versions
	SpecVersion Version   `cbor:"22,keyasint,omitempty"` // version of the spec when the first manifest was written; used only while Sequence is 1
	Samples     []Sample  `cbor:"30,keyasint,omitempty"` // progress of the job over time, for display

	// Inherited is the number of partitions that were done when the job began, by the job that it retries. They count
	// as executed.
	Inherited uint64 `cbor:"40,keyasint,omitempty"`

	// Whole contains the largest finished nodes without skipped partitions, in the order of their partitions. If partitions
	// were skipped, Whole is written before partials are merged with skipped partitions. When the job has completed, Nodes
	// contains these nodes, for a job that retries the skipped partitions, and Whole is empty.
	Whole []StoredNode `cbor:"61,keyasint,omitempty"`

	Rounds *Rounds `cbor:"60,keyasint,omitempty"` // nil for a job without rounds

	newer *newerFields // fields of a later version that this version does not know; nil if the manifest has no such fields
}

// TimeSpent returns the time for which leaders have worked on the job. Each leader adds the time of
// its own term, so that the sum does not depend on how the clocks of different machines agree. The
// time between a leader's last checkpoint and the next leader's first one is missing. Leaders of
// earlier versions record the time only in the samples.
func (m Manifest) TimeSpent() time.Duration {
	if len(m.Samples) == 0 {
		return m.Elapsed
	}
	return max(m.Elapsed, m.Samples[len(m.Samples)-1].At)
}

// Blobs returns the names of the blobs that the manifest names.
func (m Manifest) Blobs() map[string]bool {
	names := map[string]bool{}
	for _, n := range slices.Concat(m.Nodes, m.Whole) {
		if n.Blob != "" {
			names[n.Blob] = true
		}
	}
	if r := m.Rounds; r != nil && r.Blob != "" {
		names[r.Blob] = true
	}
	return names
}

// Needed returns the number of partitions that the result contains or may lack: all of the job's partitions, or
// those of the prefix that suffices.
func (m Manifest) Needed() uint64 {
	if m.Stopped != nil {
		return m.Stopped.At
	}
	return m.Partitions
}

// Rounds is the state of a job with rounds. The nodes of the manifest and its Work, except what is measured or counted
// for people, belong to the current round.
//
// Two rounds have no partitions. Round 0 only computes the state of round 1. The round that is Last has the last state, and only
// computes the result.
type Rounds struct {
	Round    uint64         `cbor:"1,keyasint"`           // number of the current round, from 0
	State    []byte         `cbor:"2,keyasint,omitempty"` // encoded state of the round, unless it is in Blob
	Blob     string         `cbor:"3,keyasint,omitempty"` // name of the blob with the encoded state, which is a blob of the round
	Earlier  uint64         `cbor:"4,keyasint,omitempty"` // number of partitions that other rounds than the counted one have finished
	Finished []jobs.Rounded `cbor:"5,keyasint,omitempty"` // the last finished rounds, at most MaxRounded
	Last     bool           `cbor:"6,keyasint,omitempty"`
	TimeUp   bool           `cbor:"7,keyasint,omitempty"` // the state is the last one because Spec.StopAfter had passed
}

// MaxRounded is the largest number of finished rounds that a manifest lists.
const MaxRounded = 500

// Next returns what follows when a round of some partitions has ended with a state for the next one.
func (r *Rounds) Next(state []byte, blob string, finished jobs.Rounded, partitions uint64, last bool) *Rounds {
	next := Rounds{Round: r.Round + 1, State: state, Blob: blob, Last: last}
	if r.Round > 0 {
		next.Earlier = r.Earlier
		if !last {
			next.Earlier += partitions
		}
		next.Finished = append(slices.Clone(r.Finished[max(0, len(r.Finished)-MaxRounded+1):]), finished)
	}
	return &next
}

// Stop returns what follows when the time is up. The state is the one with which the current round was computed, under the
// name of a blob of the next round. The current round has finished done of its partitions.
func (r *Rounds) Stop(partitions, done uint64) *Rounds {
	next := *r
	next.Round++
	next.Last, next.TimeUp = true, true
	next.Earlier += done - min(next.Earlier, partitions) // the last finished round is the one that is counted now
	return &next
}

// Counted returns the number of the round for people: see [engine.CountedRound].
func (r *Rounds) Counted() uint64 { return engine.CountedRound(r.Round, r.Last, r.TimeUp) }

// Earlier returns the number of partitions that other rounds than the counted one have finished.
func (m Manifest) Earlier() uint64 {
	if m.Rounds == nil {
		return 0
	}
	return m.Rounds.Earlier
}

// Work describes the work on a job so far, except the finished nodes. The ledger of a new leader begins
// with the Work of the last manifest, and provides the Work of the next manifest.
type Work struct {
	Workers       []Contributor    `cbor:"7,keyasint,omitempty"`  // workers that ran partitions of the job, sorted by ID
	Executed      uint64           `cbor:"8,keyasint,omitempty"`  // number of reported executions of partitions, including repeated executions
	Skipped       []uint64         `cbor:"9,keyasint,omitempty"`  // partitions that were skipped because they failed too often, sorted
	SkipReasons   []ErrorText      `cbor:"45,keyasint,omitempty"` // reasons why partitions were skipped, sorted by partition; not of all partitions if the reasons are large
	Attempts      []Attempt        `cbor:"10,keyasint,omitempty"` // failures of partitions that are not done, sorted by partition
	CrashSuspects []CrashSuspect   `cbor:"11,keyasint,omitempty"` // spans whose workers died during their execution, sorted
	Errors        []ErrorText      `cbor:"16,keyasint,omitempty"` // the most frequent errors of failed attempts, the most frequent first
	OtherErrors   uint64           `cbor:"17,keyasint,omitempty"` // number of failed attempts with errors that are not in Errors
	Calls         []CallRecord     `cbor:"20,keyasint,omitempty"` // failures of unfinished calls of Plan, Merge, Finish and Estimate, and deaths of their workers
	Builds        []string         `cbor:"21,keyasint,omitempty"` // builds of the workers that computed partials, sorted; with Spec.StrictBuilds, the only build that may compute partials
	Uncounted     bool             `cbor:"23,keyasint,omitempty"` // true if executions of partitions in Nodes may be missing from Executed
	PartitionTime time.Duration    `cbor:"24,keyasint,omitempty"` // mean time for which a partition occupies a slot; 0 until it is measured, and in manifests of earlier versions
	Elapsed       time.Duration    `cbor:"32,keyasint,omitempty"` // time for which leaders have worked on the job, each measured by its leader: see [Manifest.TimeSpent]
	Durations     engine.Durations `cbor:"46,keyasint,omitzero"`  // of the partitions of all rounds, for display
	Deaths        int              `cbor:"33,keyasint,omitempty"` // number of workers of the cluster that died from outside; 0 in manifests of earlier versions
	WorkerTime    time.Duration    `cbor:"34,keyasint,omitempty"` // sum of the times for which workers ran, to which Deaths belongs
	Cost
	Retried []engine.Span `cbor:"31,keyasint,omitempty"` // partitions that ran again after a failure or a worker's death, for display; may include neighbouring partitions

	// Judged contains the estimates of the judged rungs, in order and without gaps. Stopped is set if a prefix
	// suffices. The job then needs only the partitions of this prefix, and Nodes contains no others.
	Judged  []jobs.Estimated `cbor:"70,keyasint,omitempty"`
	Stopped *jobs.Stopped    `cbor:"71,keyasint,omitempty"`

	Reused *Reused `cbor:"80,keyasint,omitempty"` // nil unless the job looked for kept partials when it was planned
}

// Cost is the time for which partitions of a job have occupied slots. Calls of Plan, Merge and Finish need no slot, so
// they have no part in it.
type Cost struct {
	SlotSeconds float64 `cbor:"50,keyasint,omitempty" json:"slot_seconds"` // all time, also that of failed and repeated attempts, and of workers that died
	LostSeconds float64 `cbor:"51,keyasint,omitempty" json:"lost_seconds"` // part of SlotSeconds whose work was lost, repeated or in vain

	// LeaderSeconds is the part of the leader's own slots that no report contains. The next leader adds it to the time
	// that is lost if the leader died.
	LeaderSeconds float64 `cbor:"52,keyasint,omitempty" json:"-"`
}

// StoredNode is a finished node with its partial, in a manifest. A small partial is in Data, and a
// large partial is in the blob that Blob names. A node is empty if all of its partitions were
// skipped. Merging an empty node with another node yields the other node.
type StoredNode struct {
	Node  engine.Node `cbor:"1,keyasint"`
	Data  []byte      `cbor:"2,keyasint,omitempty"`
	Blob  string      `cbor:"3,keyasint,omitempty"` // name of the partial's blob, which PutPartial has returned
	Empty bool        `cbor:"4,keyasint,omitempty"`
	Large bool        `cbor:"5,keyasint,omitempty"` // true if the partial is too large for messages, so that workers merge it
	Size  uint64      `cbor:"6,keyasint,omitempty"` // size in bytes of the partial in Blob; 0 in manifests of earlier versions
}

// Contributor is a worker that ran partitions of the job. Each worker numbers the items that it
// reports for a job from 1. The manifest accounts for the worker's items up to number Through.
type Contributor struct {
	Worker  string `cbor:"1,keyasint"`
	Through uint64 `cbor:"2,keyasint"`
}

// Attempt counts the failures of a partition that is not done.
type Attempt struct {
	Partition uint64 `cbor:"1,keyasint"`
	Failed    int    `cbor:"2,keyasint"`
	Error     string `cbor:"3,keyasint,omitempty"` // text of the last attempt's error; written only by earlier versions
}

// ErrorText is an error of failed attempts to run partitions.
type ErrorText struct {
	Text      string `cbor:"1,keyasint" json:"error"`     // beginning of the error's text
	Count     uint64 `cbor:"2,keyasint" json:"count"`     // number of attempts that failed with the error
	Partition uint64 `cbor:"3,keyasint" json:"partition"` // one of the partitions that failed with the error
}

// CrashSuspect is a span that may crash its worker: either workers have died while they ran the
// span, or the leader's own process was running the span when it wrote the manifest. Only the next
// leader can know whether the leader's process died while it ran the span.
type CrashSuspect struct {
	Span   engine.Span `cbor:"1,keyasint"`
	Deaths int         `cbor:"2,keyasint"`
	Led    int         `cbor:"3,keyasint,omitempty"` // number of deaths that replaces Deaths if the leader that wrote the manifest died

	// Alone is the time for which a span of one partition has run alone on workers that died; 0 in
	// manifests of earlier versions.
	Alone time.Duration `cbor:"4,keyasint,omitempty"`
}

// CallRecord is the record of an unfinished call of Plan, Merge, Finish or Estimate. CallRecord counts the
// failed attempts, and the workers that died while the call was assigned to them.
type CallRecord struct {
	Function string      `cbor:"1,keyasint"`           // name of the function: Plan, Merge, Finish or Estimate
	Node     engine.Node `cbor:"2,keyasint,omitzero"`  // node of the call; only for Merge
	Failed   int         `cbor:"3,keyasint,omitempty"` // number of failed attempts
	Deaths   int         `cbor:"4,keyasint,omitempty"`
	Led      int         `cbor:"5,keyasint,omitempty"` // number of deaths that replaces Deaths if the leader that wrote the manifest died

	// Alone is the time for which the call has run alone on workers that died; 0 in manifests of earlier
	// versions.
	Alone time.Duration `cbor:"6,keyasint,omitempty"`
}
