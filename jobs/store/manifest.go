package store

import (
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
)

// State is where a job stands.
type State string

// The states of a job. The last three are final.
const (
	Queued    State = "queued"  // submitted, no leader has planned it
	Running   State = "running" // planned
	Completed State = "completed"
	Failed    State = "failed"
	Cancelled State = "cancelled"
)

// Final reports whether a job in this state changes no more.
func (s State) Final() bool { return s == Completed || s == Failed || s == Cancelled }

func (s State) valid() bool { return s == Queued || s == Running || s.Final() }

// Spec is what was submitted. It never changes.
type Spec struct {
	ID          string      `cbor:"1,keyasint"`
	Job         string      `cbor:"2,keyasint"` // the definition's name
	Version     string      `cbor:"3,keyasint"` // the definition's version
	Params      jobs.Params `cbor:"4,keyasint"`
	Priority    int         `cbor:"5,keyasint"` // higher goes first
	MaxAttempts int         `cbor:"6,keyasint"` // per partition, at least 1
	MaxSkipped  uint64      `cbor:"7,keyasint"` // partitions that may be left out of the result, at most MaxSkipped
	Submitted   time.Time   `cbor:"8,keyasint"`
}

// MaxSkipped bounds how many partitions of a job may be left out: its checkpoints
// list them.
const MaxSkipped = 1_000_000

// Manifest is a job's checkpoint: everything a new leader needs besides the spec
// and the plan. It is replaced by compare-and-swap alone, so that each leader's
// writes follow one another and an old leader's fail.
type Manifest struct {
	Epoch         uint64         `cbor:"1,keyasint"` // of the leader that wrote it
	Sequence      uint64         `cbor:"2,keyasint"` // grows by one with each write
	State         State          `cbor:"3,keyasint"`
	Error         string         `cbor:"4,keyasint,omitempty"`  // why the job failed
	Partitions    uint64         `cbor:"5,keyasint,omitempty"`  // 0 until planned
	Nodes         []StoredNode   `cbor:"6,keyasint,omitempty"`  // finished and maximal, in order of their partitions
	Workers       []Contributor  `cbor:"7,keyasint,omitempty"`  // sorted by worker
	Executed      uint64         `cbor:"8,keyasint,omitempty"`  // partition executions reported, duplicates included
	Skipped       []uint64       `cbor:"9,keyasint,omitempty"`  // partitions given up, sorted
	Attempts      []Attempt      `cbor:"10,keyasint,omitempty"` // partitions that failed and are not done, sorted
	CrashSuspects []CrashSuspect `cbor:"11,keyasint,omitempty"` // spans that workers died on, sorted
	Epochs        []uint64       `cbor:"12,keyasint,omitempty"` // that led the job, ascending
	Started       time.Time      `cbor:"13,keyasint"`
	Finished      time.Time      `cbor:"14,keyasint"`
	SHA256        string         `cbor:"15,keyasint,omitempty"` // of the result, in hexadecimal
}

// StoredNode is a finished node and its partial: the bytes, where they are
// small, or else the name of the blob that has them. A node all of whose
// partitions were skipped is empty; merging it with another gives the other.
type StoredNode struct {
	Node  jobs.Node `cbor:"1,keyasint"`
	Data  []byte    `cbor:"2,keyasint,omitempty"`
	Blob  string    `cbor:"3,keyasint,omitempty"` // its name: see [Store.PutPartial]
	Empty bool      `cbor:"4,keyasint,omitempty"`
}

// Contributor is a worker that had part in the job. A worker numbers what it
// reports of a job from 1; what is up to Through is in the manifest.
type Contributor struct {
	Worker  string `cbor:"1,keyasint"`
	Through uint64 `cbor:"2,keyasint"`
}

// Attempt counts the failures of a partition that is not done.
type Attempt struct {
	Partition uint64 `cbor:"1,keyasint"`
	Failed    int    `cbor:"2,keyasint"`
	Error     string `cbor:"3,keyasint"` // the last one
}

// CrashSuspect is a span whose workers died while they ran it, or one that the
// leader's own process ran when it wrote the manifest: only the next leader can
// know whether it died of that.
type CrashSuspect struct {
	Span   jobs.Span `cbor:"1,keyasint"`
	Deaths int       `cbor:"2,keyasint"`
	Led    int       `cbor:"3,keyasint,omitempty"` // the deaths in place of Deaths, if that leader died
}
