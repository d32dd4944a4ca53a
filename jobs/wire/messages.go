package wire

import (
	"fmt"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
)

// Report is sent by a worker to its leader, at an interval and when something is urgent.
// One report is in flight at a time. The worker resends the report unchanged until its
// receipt arrives. The first report to a leader has Sequence 1 and lists all spans and
// items that the worker holds.
type Report struct {
	Epoch    uint64      `cbor:"1,keyasint"` // epoch of the leader that receives the report
	Worker   string      `cbor:"2,keyasint"`
	Sequence uint64      `cbor:"3,keyasint"`           // number of the report, from 1 in each conversation
	Hello    *Hello      `cbor:"4,keyasint,omitempty"` // in the first report only
	Draining bool        `cbor:"5,keyasint,omitempty"` // the worker wants no more work and leaves when it holds none
	Spans    []HeldSpan  `cbor:"6,keyasint,omitempty"` // all spans that the worker holds, in the order in which it will run them
	Jobs     []JobReport `cbor:"7,keyasint,omitempty"`
	More     bool        `cbor:"8,keyasint,omitempty"` // the next report has more items; this one has no Spans

	// Conversation identifies the conversation that began with the worker's last Hello. Each
	// process uses a different value, and a process that starts over uses a new value.
	Conversation uint64 `cbor:"9,keyasint,omitempty"`

	// LostSlots and LostCalls are the numbers of slots and calls that are occupied by code
	// without a span or call in the report, because the job has ended or the code did not
	// return within its limit.
	LostSlots int `cbor:"10,keyasint,omitempty"`
	LostCalls int `cbor:"11,keyasint,omitempty"`

	Nodes  []HeldNode `cbor:"12,keyasint,omitempty"` // all large partials that the worker holds, together with Spans
	LostAt []int      `cbor:"13,keyasint,omitempty"` // numbers of the lost slots, from 0, for display

	Usage Usage `cbor:"20,keyasint,omitzero"`
}

// Hello introduces a worker to a leader.
type Hello struct {
	Host  string    `cbor:"1,keyasint"`
	PID   int       `cbor:"2,keyasint"`
	Slots int       `cbor:"3,keyasint"`
	Since time.Time `cbor:"4,keyasint"` // when the process started
	Knows []JobKind `cbor:"5,keyasint"` // the definitions that the worker has

	Storage string `cbor:"6,keyasint,omitempty"` // identity of the worker's storage
	Build   string `cbor:"7,keyasint,omitempty"` // how the worker's definitions were compiled: see [ThisBuild]; empty in older programs
	Holds   bool   `cbor:"8,keyasint,omitempty"` // the worker holds large partials, and fetches operands from their holders

	Version string `cbor:"9,keyasint,omitempty"` // version of the worker's program, for display
}

// JobKind is a definition's name and version.
type JobKind struct {
	Name    string `cbor:"1,keyasint"`
	Version string `cbor:"2,keyasint"`
}

// SpanID names one assignment of a span. Each leader numbers its assignments from 1.
type SpanID struct {
	Epoch  uint64 `cbor:"1,keyasint"`
	Number uint64 `cbor:"2,keyasint"`
}

// HeldSpan is the part of an assigned span that the worker has not reported, or a call
// that the worker has not reported.
type HeldSpan struct {
	ID       SpanID    `cbor:"1,keyasint"`
	Job      string    `cbor:"2,keyasint"`
	Span     jobs.Span `cbor:"3,keyasint"`           // Lo is the next partition to report; empty for a call
	Running  bool      `cbor:"4,keyasint,omitempty"` // a slot has begun the span, or the call has begun
	Function Function  `cbor:"5,keyasint,omitempty"` // of a call
	Node     jobs.Node `cbor:"6,keyasint,omitzero"`  // of a merge

	// Step is the function of the job's definition that the worker calls next, if the span's
	// assignment says Alone and the worker has begun it. The worker calls the function once it
	// has the receipt.
	Step string `cbor:"7,keyasint,omitempty"`

	Done uint64 `cbor:"8,keyasint,omitempty"` // partitions from Span.Lo on that were run and are not reported yet

	Slot int `cbor:"9,keyasint,omitempty"` // 1 + number of the slot that runs the span, for display
}

// HeldNode is a large partial that a worker holds: it is finished, and it is lost if the
// worker dies, unless it is durable.
type HeldNode struct {
	Job  string    `cbor:"1,keyasint"`
	Node jobs.Node `cbor:"2,keyasint"`
	Size uint64    `cbor:"3,keyasint"` // bytes
	Sum  uint32    `cbor:"4,keyasint"` // CRC-32C of the bytes

	// Lacking is 0 if the partial contains all partitions of the node. Otherwise it identifies
	// the skipped partitions that the partial lacks: see Call.Lacking.
	Lacking uint64 `cbor:"5,keyasint,omitempty"`
}

// JobReport has items First, First+1, … of one job. A worker numbers its items of a job
// from 1 and continues the numbers under the next leader.
type JobReport struct {
	Job   string `cbor:"1,keyasint"`
	First uint64 `cbor:"2,keyasint"` // number of the first item
	Items []Item `cbor:"3,keyasint,omitempty"`
}

// Item is a finished node, a failure, or the output of a call of Plan or Finish. The
// worker keeps each item until the item is durable.
//
// Held says that the worker has computed a node from its partitions, and that the node's
// partial is large. The item only counts the executions. Report.Nodes says what the worker
// holds: perhaps the node was merged since. The item is durable once the count is.
type Item struct {
	Partial *Partial   `cbor:"1,keyasint,omitempty"`
	Failure *Failure   `cbor:"2,keyasint,omitempty"`
	Output  *Output    `cbor:"3,keyasint,omitempty"`
	Held    *jobs.Node `cbor:"4,keyasint,omitempty"`
}

// Function names a function of a job's definition. Failures name any function; calls are
// assigned of Plan, Merge and Finish alone.
type Function uint8

// The functions of a definition. The zero Function is Map.
const (
	Map Function = iota
	Plan
	Merge
	Finish
	Open
)

// String returns the name of the function's field in [jobs.Definition].
func (f Function) String() string {
	if int(f) < len(functionNames) {
		return functionNames[f]
	}
	return fmt.Sprintf("function %d", uint8(f))
}

// operands returns how many operands a call of the function takes.
func (f Function) operands() int {
	switch f {
	case Merge:
		return 2
	case Finish:
		return 1
	}
	return 0
}

var functionNames = [...]string{"Map", "Plan", "Merge", "Finish", "Open"}

// Output is the output of a call of Plan or Finish: the plan, or the result. If the data is
// too large for a message, Blob is the name of the blob that contains the data. Epoch is
// that of the leader that chose the operands.
type Output struct {
	Function   Function `cbor:"1,keyasint"`
	Partitions uint64   `cbor:"2,keyasint,omitempty"` // of the plan
	Data       []byte   `cbor:"3,keyasint,omitempty"` // the plan's data, or the result
	Sum        uint32   `cbor:"4,keyasint"`           // CRC-32C of Data
	Blob       string   `cbor:"5,keyasint,omitempty"` // SHA-256 in hexadecimal
	Epoch      uint64   `cbor:"6,keyasint"`
}

// Partial is a finished node with its encoded value. If the value is too large for a
// message, Blob is the name of the blob that contains the value. MergedFor is 0 if the
// worker computed the node from its partitions. Otherwise a call of Merge returned the
// value, and MergedFor is the epoch of the leader that chose the operands.
type Partial struct {
	Node jobs.Node `cbor:"1,keyasint"`
	Data []byte    `cbor:"2,keyasint,omitempty"`
	Sum  uint32    `cbor:"3,keyasint"`           // CRC-32C of Data
	Blob string    `cbor:"4,keyasint,omitempty"` // SHA-256 in hexadecimal

	MergedFor uint64 `cbor:"5,keyasint,omitempty"`

	// Size is the size of the value in bytes if it is in a blob, or held by the worker Holder.
	// Only operands have a Holder. Sum is the value's checksum then, and Node is the name
	// under which the holder has it.
	Size   uint64 `cbor:"6,keyasint,omitempty"`
	Holder string `cbor:"7,keyasint,omitempty"`

	// Stored says that the worker holds the node and has written it to storage: the node was
	// reported before. Lacking is that of the [HeldNode].
	Stored  bool   `cbor:"8,keyasint,omitempty"`
	Lacking uint64 `cbor:"9,keyasint,omitempty"`
}

// Failure is one failed attempt to run a partition, to open the job or to make a call.
type Failure struct {
	Partition uint64    `cbor:"1,keyasint"` // of Map
	Error     string    `cbor:"2,keyasint"`
	Permanent bool      `cbor:"3,keyasint,omitempty"` // a retry cannot succeed
	Function  Function  `cbor:"5,keyasint,omitempty"` // the function that failed; Map includes merges within a span
	Node      jobs.Node `cbor:"6,keyasint,omitzero"`  // of Merge

	// Holder is the worker from which an operand of a call could not be fetched. The call has
	// not begun then.
	Holder string `cbor:"7,keyasint,omitempty"`
}

// Receipt is the answer to a report. A repeated report gets the same receipt, so that
// the orders in the receipt are carried out once.
type Receipt struct {
	Epoch    uint64        `cbor:"1,keyasint"`
	Sequence uint64        `cbor:"2,keyasint"`           // Sequence of the report
	Refused  string        `cbor:"3,keyasint,omitempty"` // why the whole report was refused; empty if the report was accepted
	Opens    []Opening     `cbor:"4,keyasint,omitempty"` // jobs of the assignments that the worker has not opened
	Assigned []Assignment  `cbor:"5,keyasint,omitempty"`
	Cuts     []Cut         `cbor:"6,keyasint,omitempty"`
	Jobs     []JobReceipt  `cbor:"7,keyasint,omitempty"`
	Every    time.Duration `cbor:"8,keyasint"`            // time until the next report, unless something is urgent
	Storage  string        `cbor:"9,keyasint,omitempty"`  // identity of the leader's storage
	Holds    bool          `cbor:"10,keyasint,omitempty"` // the leader knows of held nodes; an earlier program does not
}

// ParamsInStore stands for parameters that are in storage. It is not a JSON object, so a
// worker of an earlier version does not open the job.
var ParamsInStore = jobs.Params("null")

// Opening has what a worker needs to open a job.
type Opening struct {
	Job        string      `cbor:"1,keyasint"` // the job's ID
	Kind       JobKind     `cbor:"2,keyasint"`
	Params     jobs.Params `cbor:"3,keyasint"`
	Priority   int         `cbor:"4,keyasint"`
	Partitions uint64      `cbor:"5,keyasint"`           // 0 while the job is not planned
	Data       []byte      `cbor:"6,keyasint,omitempty"` // data of the job's plan
	InStore    bool        `cbor:"7,keyasint,omitempty"` // the plan's data is too large for a message, so the worker reads it from storage

	// ParamsSHA256 is set if the parameters are too large for a message. Params is then
	// [ParamsInStore], and the worker reads the parameters from storage.
	ParamsSHA256 []byte `cbor:"8,keyasint,omitempty"`

	PartitionTimeout time.Duration `cbor:"9,keyasint,omitempty"` // how long a partition may take; 0: the definition's limit
}

// Assignment gives a worker a span to run, or a call to make.
type Assignment struct {
	ID   SpanID    `cbor:"1,keyasint"`
	Job  string    `cbor:"2,keyasint"`
	Span jobs.Span `cbor:"3,keyasint"` // empty for a call
	Call *Call     `cbor:"4,keyasint,omitempty"`

	// Alone says that workers that ran the span died. The span is one partition, nothing else
	// is assigned to the worker, and the worker reports each step.
	Alone bool `cbor:"5,keyasint,omitempty"`
}

// Call is one call of a job's Plan, Merge or Finish.
type Call struct {
	Function Function  `cbor:"1,keyasint"`
	Node     jobs.Node `cbor:"2,keyasint,omitzero"`  // of Merge: the node whose partial is wanted
	Operands []Partial `cbor:"3,keyasint,omitempty"` // of Merge: the node's children; of Finish: the root

	// Lacking is a hash of the partitions of the node that were skipped and that the operands of
	// Merge lack, or 0 if they lack none. A later leader takes the result if it has skipped the
	// same partitions.
	Lacking uint64 `cbor:"4,keyasint,omitempty"`
}

// Cut shortens a span that the worker holds. The span then ends at Hi, or at the first
// partition that has not begun, whichever is later. The worker's next report says where
// the span ends. A Hi of 0 removes all partitions that have not begun. A cut of a call
// takes the call back if the call has not begun.
type Cut struct {
	ID SpanID `cbor:"1,keyasint"`
	Hi uint64 `cbor:"2,keyasint"`
}

// JobReceipt acknowledges a worker's items of a job.
type JobReceipt struct {
	Job      string `cbor:"1,keyasint"`
	Received uint64 `cbor:"2,keyasint"`           // the leader has the items up to this number
	Durable  uint64 `cbor:"3,keyasint"`           // the items up to this number are durable, and the worker may drop them
	Ended    bool   `cbor:"4,keyasint,omitempty"` // the job has ended, so the worker drops its items and stops its partitions

	// Of the nodes in Report.Nodes, Release lists those that the worker drops, and Store those
	// that it writes to storage. A node that is listed again is ignored.
	Release []jobs.Node `cbor:"5,keyasint,omitempty"`
	Store   []jobs.Node `cbor:"6,keyasint,omitempty"`
}

// Beacon announces the leader. A leader sends a beacon when it begins to lead and then at
// an interval. Workers follow the highest epoch that they have seen.
type Beacon struct {
	Epoch   uint64        `cbor:"1,keyasint"`
	Worker  string        `cbor:"2,keyasint"`
	LeaseID string        `cbor:"3,keyasint"`
	Workers int           `cbor:"4,keyasint"`           // number of workers in the cluster, which share the pings among them
	Next    time.Duration `cbor:"5,keyasint"`           // time until the next beacon is due
	Storage string        `cbor:"6,keyasint,omitempty"` // identity of the leader's storage
}

// Suspicion says that the leader of an epoch seems dead. A follower that receives a
// suspicion checks the leader itself.
type Suspicion struct {
	Epoch  uint64 `cbor:"1,keyasint"`
	Worker string `cbor:"2,keyasint"` // the follower that suspects the leader
}

// Ping asks the leader of an epoch whether it is alive. The answer is a Pong. A leader on
// another storage does not answer.
type Ping struct {
	Epoch   uint64 `cbor:"1,keyasint"`
	Storage string `cbor:"2,keyasint,omitempty"` // identity of the follower's storage
}

// Pong answers a Ping or an Offer.
type Pong struct {
	Epoch  uint64 `cbor:"1,keyasint"`
	Worker string `cbor:"2,keyasint"`
}

// Nudge asks a worker to report now. The worker sends no answer to a nudge.
type Nudge struct {
	Epoch   uint64 `cbor:"1,keyasint"`
	Storage string `cbor:"2,keyasint,omitempty"` // identity of the leader's storage
}

// Probe asks a worker whether it is alive, and asks it to report now. The answer is a
// ProbeAnswer.
type Probe struct {
	Epoch   uint64 `cbor:"1,keyasint"`
	Storage string `cbor:"2,keyasint,omitempty"` // identity of the leader's storage
}

// ProbeAnswer answers a Probe.
type ProbeAnswer struct {
	Epoch  uint64 `cbor:"1,keyasint"` // epoch that the worker follows
	Worker string `cbor:"2,keyasint"`
}

// Offer hands the lease to a worker. The leader has changed the ID of the lease to
// LeaseID. The worker claims the lease with this ID.
type Offer struct {
	Epoch   uint64 `cbor:"1,keyasint"` // epoch of the leader that stops
	LeaseID string `cbor:"2,keyasint"`
}
