package wire

import (
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
)

// Report is sent by a worker to its leader, at an interval and when something is urgent.
// One report is in flight at a time; it is resent unchanged until its receipt arrives.
// The first report to a leader has Sequence 1 and lists all that the worker holds.
type Report struct {
	Epoch    uint64      `cbor:"1,keyasint"` // of the leader that the report is for
	Worker   string      `cbor:"2,keyasint"`
	Sequence uint64      `cbor:"3,keyasint"`           // from 1, per conversation
	Hello    *Hello      `cbor:"4,keyasint,omitempty"` // in the first report only
	Draining bool        `cbor:"5,keyasint,omitempty"` // the worker wants no more work and leaves when it holds none
	Spans    []HeldSpan  `cbor:"6,keyasint,omitempty"` // all spans that the worker holds, in the order in which it will run them
	Jobs     []JobReport `cbor:"7,keyasint,omitempty"`
	More     bool        `cbor:"8,keyasint,omitempty"` // the next report has more items; this one has no Spans

	// Conversation identifies the conversation that began with the last hello. Each process
	// uses a different value, and a process that starts over uses a new value.
	Conversation uint64 `cbor:"9,keyasint,omitempty"`
}

// Hello introduces a worker to a leader.
type Hello struct {
	Host  string    `cbor:"1,keyasint"`
	PID   int       `cbor:"2,keyasint"`
	Slots int       `cbor:"3,keyasint"`
	Since time.Time `cbor:"4,keyasint"` // when the process started
	Knows []JobKind `cbor:"5,keyasint"` // the definitions it has
}

// JobKind is a definition's name and version.
type JobKind struct {
	Name    string `cbor:"1,keyasint"`
	Version string `cbor:"2,keyasint"`
}

// SpanID names one assignment of a span. The leader that made it counts from 1.
type SpanID struct {
	Epoch  uint64 `cbor:"1,keyasint"`
	Number uint64 `cbor:"2,keyasint"`
}

// HeldSpan is the part of an assigned span that the worker has not reported.
type HeldSpan struct {
	ID      SpanID    `cbor:"1,keyasint"`
	Job     string    `cbor:"2,keyasint"`
	Span    jobs.Span `cbor:"3,keyasint"`           // Lo is the next partition to report
	Running bool      `cbor:"4,keyasint,omitempty"` // a slot has begun it
}

// JobReport has items First, First+1, … of one job. A worker numbers all items that it
// ever reports of a job, across leaders.
type JobReport struct {
	Job   string `cbor:"1,keyasint"`
	First uint64 `cbor:"2,keyasint"` // from 1
	Items []Item `cbor:"3,keyasint,omitempty"`
}

// Item is either a finished node or a failure. The worker keeps it until it is durable.
type Item struct {
	Partial *Partial `cbor:"1,keyasint,omitempty"`
	Failure *Failure `cbor:"2,keyasint,omitempty"`
}

// Partial is a finished node with its encoded value. If the value is too large for a
// message, Blob is the name of the blob that contains the value.
type Partial struct {
	Node jobs.Node `cbor:"1,keyasint"`
	Data []byte    `cbor:"2,keyasint,omitempty"`
	Sum  uint32    `cbor:"3,keyasint"`           // CRC-32C of Data
	Blob string    `cbor:"4,keyasint,omitempty"` // SHA-256 in hexadecimal
}

// Failure is one failed attempt at a partition, or at opening the job.
type Failure struct {
	Partition uint64 `cbor:"1,keyasint"`
	Error     string `cbor:"2,keyasint"`
	Permanent bool   `cbor:"3,keyasint,omitempty"` // no attempt can succeed
	Open      bool   `cbor:"4,keyasint,omitempty"` // the job could not be opened: no partition was tried
}

// Receipt is the answer to a report. A repeated report gets the same receipt, so that
// its orders are carried out once.
type Receipt struct {
	Epoch    uint64        `cbor:"1,keyasint"`
	Sequence uint64        `cbor:"2,keyasint"`           // of the report
	Refused  string        `cbor:"3,keyasint,omitempty"` // why the report was refused as a whole; empty if it was not
	Opens    []Opening     `cbor:"4,keyasint,omitempty"` // jobs of the assignments that the worker has not opened
	Assigned []Assignment  `cbor:"5,keyasint,omitempty"`
	Cuts     []Cut         `cbor:"6,keyasint,omitempty"`
	Jobs     []JobReceipt  `cbor:"7,keyasint,omitempty"`
	Every    time.Duration `cbor:"8,keyasint"` // until the next report, unless something is urgent
}

// Opening has what a worker needs to open a job.
type Opening struct {
	Job        string      `cbor:"1,keyasint"` // its ID
	Kind       JobKind     `cbor:"2,keyasint"`
	Params     jobs.Params `cbor:"3,keyasint"`
	Priority   int         `cbor:"4,keyasint"`
	Partitions uint64      `cbor:"5,keyasint"`
	Data       []byte      `cbor:"6,keyasint,omitempty"` // of the plan
	InStore    bool        `cbor:"7,keyasint,omitempty"` // the plan's data is too large for a message: read it from the store
}

// Assignment gives a worker a span to run.
type Assignment struct {
	ID   SpanID    `cbor:"1,keyasint"`
	Job  string    `cbor:"2,keyasint"`
	Span jobs.Span `cbor:"3,keyasint"`
}

// Cut shortens a span that the worker holds: the span then ends at Hi, or at the first
// partition that has not begun if that is later. The worker's next report says where the
// span ended. A Hi of 0 removes all partitions that have not begun.
type Cut struct {
	ID SpanID `cbor:"1,keyasint"`
	Hi uint64 `cbor:"2,keyasint"`
}

// JobReceipt acknowledges a worker's items of a job.
type JobReceipt struct {
	Job      string `cbor:"1,keyasint"`
	Received uint64 `cbor:"2,keyasint"`           // this leader has the items up to this number
	Durable  uint64 `cbor:"3,keyasint"`           // the items up to this number are durable, and the worker may drop them
	Ended    bool   `cbor:"4,keyasint,omitempty"` // the job has ended: drop its items and stop its partitions
}

// Beacon announces the leader, when it begins to lead and then at an interval. Workers
// follow the highest epoch that they have seen.
type Beacon struct {
	Epoch   uint64        `cbor:"1,keyasint"`
	Worker  string        `cbor:"2,keyasint"`
	LeaseID string        `cbor:"3,keyasint"`
	Workers int           `cbor:"4,keyasint"` // number of workers in the cluster, among which pings are spread
	Next    time.Duration `cbor:"5,keyasint"` // when the next beacon is due
}

// Suspicion says that the leader of an epoch seems dead. A follower that receives it
// checks for itself.
type Suspicion struct {
	Epoch  uint64 `cbor:"1,keyasint"`
	Worker string `cbor:"2,keyasint"` // the follower that suspects the leader
}

// Ping asks the leader of an epoch for a sign of life; the answer is a Pong.
type Ping struct {
	Epoch uint64 `cbor:"1,keyasint"`
}

// Pong answers a Ping or an Offer.
type Pong struct {
	Epoch  uint64 `cbor:"1,keyasint"`
	Worker string `cbor:"2,keyasint"`
}

// Nudge asks a worker to report now. It has no answer.
type Nudge struct {
	Epoch uint64 `cbor:"1,keyasint"`
}

// Probe asks a worker for a sign of life, and to report now. The answer is a
// ProbeAnswer.
type Probe struct {
	Epoch uint64 `cbor:"1,keyasint"`
}

// ProbeAnswer answers a Probe.
type ProbeAnswer struct {
	Epoch  uint64 `cbor:"1,keyasint"` // epoch that the worker follows
	Worker string `cbor:"2,keyasint"`
}

// Offer hands the lease to a worker. The ID of the lease has been changed to LeaseID,
// with which the worker claims the lease.
type Offer struct {
	Epoch   uint64 `cbor:"1,keyasint"` // of the leader that stops
	LeaseID string `cbor:"2,keyasint"`
}
