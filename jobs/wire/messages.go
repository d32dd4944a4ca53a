package wire

import (
	"cmp"
	"fmt"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// Report is sent by a worker to its leader, at an interval, and immediately if the report is
// urgent. One report is in flight at a time. The worker resends the report unchanged until its
// receipt arrives. The first report to a leader has Sequence 1 and lists all spans and items that
// the worker holds.
type Report struct {
	Epoch    uint64      `cbor:"1,keyasint"` // epoch of the leader that receives the report
	Worker   string      `cbor:"2,keyasint"`
	Sequence uint64      `cbor:"3,keyasint"`           // number of the report; the first report to a leader has number 1
	Hello    *Hello      `cbor:"4,keyasint,omitempty"` // description of the worker; only in the first report to a leader
	Draining bool        `cbor:"5,keyasint,omitempty"` // true if the worker accepts no more work, and leaves as soon as it holds no work
	Spans    []HeldSpan  `cbor:"6,keyasint,omitempty"` // all spans and calls that the worker holds, in the order of execution
	Jobs     []JobReport `cbor:"7,keyasint,omitempty"`
	More     bool        `cbor:"8,keyasint,omitempty"` // true if further items follow in the next report, so that this report has no Spans

	// Conversation identifies the conversation that began with the worker's last Hello. Each
	// process uses a different value, and a process that starts over uses a new value.
	Conversation uint64 `cbor:"9,keyasint,omitempty"`

	// LostSlots and LostCalls are the numbers of slots and calls that are blocked by code that does
	// not return. The job of a lost slot or call has ended, or its time limit has passed, so the
	// report lists no span or call for it.
	LostSlots int `cbor:"10,keyasint,omitempty"`
	LostCalls int `cbor:"11,keyasint,omitempty"`

	Nodes  []HeldNode `cbor:"12,keyasint,omitempty"` // all large partials that the worker holds; set only if the report has Spans
	LostAt []int      `cbor:"13,keyasint,omitempty"` // numbers of the lost slots, from 0, for display
	Server string     `cbor:"14,keyasint,omitempty"` // ID of the NATS server to which the worker is connected

	Usage Usage `cbor:"20,keyasint,omitzero"`
}

// Hello introduces a worker to a leader.
type Hello struct {
	Host  string    `cbor:"1,keyasint"`
	PID   int       `cbor:"2,keyasint"`
	Slots int       `cbor:"3,keyasint"`
	Since time.Time `cbor:"4,keyasint"` // time at which the worker's process started
	Knows []JobKind `cbor:"5,keyasint"` // names and versions of the worker's definitions

	Storage string `cbor:"6,keyasint,omitempty"` // identity of the worker's storage
	Build   string `cbor:"7,keyasint,omitempty"` // build of the worker's program, as ThisBuild returns it; empty for earlier versions
	Holds   bool   `cbor:"8,keyasint,omitempty"` // true if the worker can hold large partials, and can fetch operands from their holders

	Version string `cbor:"9,keyasint,omitempty"` // version of the worker's program, for display
}

// FirstConversation returns the number of the first conversation of a process that has started at a given time. A worker
// in its first conversation has had no other leader, so it holds nothing. The start time is rounded as in messages, so that worker
// and leader compute the same number.
func FirstConversation(since time.Time) uint64 {
	return uint64(since.Round(time.Microsecond).UnixMicro())*1000 + 1
}

// JobKind is a definition's name and version.
type JobKind struct {
	Name    string `cbor:"1,keyasint"`
	Version string `cbor:"2,keyasint"`
}

// SpanID identifies one assignment. Each leader numbers its assignments from 1.
type SpanID struct {
	Epoch  uint64 `cbor:"1,keyasint"`
	Number uint64 `cbor:"2,keyasint"`
}

// HeldSpan is the unreported part of an assigned span, or an assigned call whose outcome the worker has not
// reported.
type HeldSpan struct {
	ID       SpanID      `cbor:"1,keyasint"`
	Job      string      `cbor:"2,keyasint"`
	Span     engine.Span `cbor:"3,keyasint"`           // unreported part of the span; empty for a call
	Running  bool        `cbor:"4,keyasint,omitempty"` // true if a slot has begun the span, or if the call has begun
	Function Function    `cbor:"5,keyasint,omitempty"` // function to call; only for a call
	Node     engine.Node `cbor:"6,keyasint,omitzero"`  // node to compute; only for a merge

	// Step is set if the assignment has the flag Alone and the worker has begun the assignment. It
	// is the function of the job's definition that the worker will call next. The worker waits for
	// the receipt before it calls the function.
	Step string `cbor:"7,keyasint,omitempty"`

	Done uint64 `cbor:"8,keyasint,omitempty"` // number of partitions from Span.Lo on that have run but are not reported

	Slot int `cbor:"9,keyasint,omitempty"` // number of the slot that runs the span, plus 1, for display
}

// HeldNode is a finished node whose large partial a worker holds. If the worker dies, the partial
// is lost, unless it is durable.
type HeldNode struct {
	Job  string      `cbor:"1,keyasint"`
	Node engine.Node `cbor:"2,keyasint"`
	Size uint64      `cbor:"3,keyasint"` // size of the partial in bytes
	Sum  uint32      `cbor:"4,keyasint"` // CRC-32C of the partial's bytes

	// Lacking is 0 if the partial contains all partitions of the node. Otherwise Lacking identifies
	// the skipped partitions that are missing from the partial, with the same hash as Call.Lacking.
	Lacking uint64 `cbor:"5,keyasint,omitempty"`
}

// JobReport has items First, First+1, … of one job. A worker numbers its items of a job
// from 1 and continues the numbers under the next leader. A JobReport without items means that the
// worker has the job and must be told when it ends.
type JobReport struct {
	Job   string `cbor:"1,keyasint"`
	First uint64 `cbor:"2,keyasint"` // number of the first item
	Items []Item `cbor:"3,keyasint,omitempty"`
}

// Item is a finished node, a failure, or the output of a call of Plan, Finish or Estimate. The
// worker keeps each item until the item is durable.
//
// If Held is set, the worker has computed a node from its partitions, and the node's partial is
// large. An item with Held only counts executions of partitions, and it is durable when the count
// is durable. The worker may have merged the node since it made the item. Report.Nodes lists the
// nodes that the worker still holds.
type Item struct {
	Partial *Partial     `cbor:"1,keyasint,omitempty"`
	Failure *Failure     `cbor:"2,keyasint,omitempty"`
	Output  *Output      `cbor:"3,keyasint,omitempty"`
	Held    *engine.Node `cbor:"4,keyasint,omitempty"`

	// Took is the time for which a slot was occupied since it delivered the items before this one. It is 0 if a Failure
	// has the time, and for the results of calls, which need no slot.
	Took time.Duration `cbor:"20,keyasint,omitempty"`
}

// NeedsPlan reports whether an item can only come from a worker that has the plan of the item's job.
func (i Item) NeedsPlan() bool {
	return (i.Output == nil || i.Output.Function != Plan) && (i.Failure == nil || i.Failure.Function != Plan)
}

// Function is a function of a job's definition. A Failure may contain any function. A Call contains
// only Plan, Merge, Finish or Estimate.
type Function uint8

const (
	Map Function = iota
	Plan
	Merge
	Finish
	Open
	Estimate // the definition's Estimate and Stop
)

// String returns the name of the function's field in [jobs.Definition].
func (f Function) String() string {
	if int(f) < len(functionNames) {
		return functionNames[f]
	}
	return fmt.Sprintf("function %d", uint8(f))
}

// operands returns the smallest and the largest number of operands of a call of the function. The operands of
// Finish and Estimate are the nodes of a prefix, or the root.
func (f Function) operands() (least, most int) {
	switch f {
	case Merge:
		return 2, 2
	case Finish: // in round 0 it has none
		return 0, engine.MaxPrefixNodes
	case Estimate:
		return 1, engine.MaxPrefixNodes
	}
	return 0, 0
}

// calls reports whether the function can be called by an assignment.
func (f Function) calls() bool { return f == Plan || f == Merge || f == Finish || f == Estimate }

var functionNames = [...]string{"Map", "Plan", "Merge", "Finish", "Open", "Estimate"}

// Output is what a call of Plan, Finish or Estimate returned: a plan, a result or an estimate. If
// the data is too large for a message, Blob is the name of the blob that contains the data. Epoch
// is the epoch of the leader that chose the operands of the call.
type Output struct {
	Function   Function `cbor:"1,keyasint"`
	Partitions uint64   `cbor:"2,keyasint,omitempty"` // number of partitions in the plan, or of the judged prefix; 0 for Finish
	Data       []byte   `cbor:"3,keyasint,omitempty"` // data of the plan, the result, or the JSON of the estimate
	Sum        uint32   `cbor:"4,keyasint"`           // CRC-32C of Data
	Blob       string   `cbor:"5,keyasint,omitempty"` // name of the blob, which is its SHA-256 in hexadecimal
	Epoch      uint64   `cbor:"6,keyasint"`

	// Lacking has the same meaning as in [Call], for the result of Finish or Estimate.
	Lacking uint64 `cbor:"7,keyasint,omitempty"`

	Stop bool `cbor:"8,keyasint,omitempty"` // true if the judged prefix suffices

	Found string `cbor:"20,keyasint,omitempty"` // name of the blob with what the planned job reuses: see store.Found; empty if it reuses nothing

	// Continues is true if Finish has returned the state of the next round in Data, or in Blob, which is then a blob of that
	// round. Value is the number for people that the definition's Next returned for the round. Last is true if the state is the
	// last one.
	Continues bool    `cbor:"30,keyasint,omitempty"`
	Value     float64 `cbor:"31,keyasint,omitempty"`
	Last      bool    `cbor:"32,keyasint,omitempty"`

	// StateSize and StateSum are the number of bytes and the CRC-32C of the state of the next round, if other workers can
	// fetch it from this one. Otherwise they are 0.
	StateSize uint64 `cbor:"33,keyasint,omitempty"`
	StateSum  uint32 `cbor:"34,keyasint,omitempty"`
}

// OutputNode returns the node under which the output of a function is stored if it is too large for a message. The node
// of an output is outside every tree.
func OutputNode(function Function) engine.Node {
	return engine.Node{Level: 255, Index: uint64(function)}
}

// Partial is a finished node with its encoded value. If the value is too large for a message, Blob is the name
// of the blob that contains the value, or Holder is the worker that holds it. MergedFor is 0 if the worker
// computed the node from its partitions. If a call of Merge returned the value, MergedFor is the epoch of the
// leader that chose the operands.
type Partial struct {
	Node engine.Node `cbor:"1,keyasint"`
	Data []byte      `cbor:"2,keyasint,omitempty"`
	Sum  uint32      `cbor:"3,keyasint"`           // CRC-32C of Data
	Blob string      `cbor:"4,keyasint,omitempty"` // name of the blob, which is its SHA-256 in hexadecimal

	MergedFor uint64 `cbor:"5,keyasint,omitempty"`

	// Size is the size of the value in bytes, if the value is in a blob or is held by the worker Holder. A
	// leader that does not know the size of an operand in a blob sets Size to an estimate, or to 0.
	//
	// Only operands have a Holder. For an operand with a Holder, Sum is the value's checksum, and Node is the
	// node that the holder has reported.
	Size   uint64 `cbor:"6,keyasint,omitempty"`
	Holder string `cbor:"7,keyasint,omitempty"`

	// Stored is true if the worker has written a node to storage that it holds and has reported
	// before. Lacking has the same meaning as in [HeldNode], also for the result of a merge.
	Stored  bool   `cbor:"8,keyasint,omitempty"`
	Lacking uint64 `cbor:"9,keyasint,omitempty"`
}

// Failure is one failed attempt to run a partition, to open the job or to make a call.
type Failure struct {
	Partition uint64      `cbor:"1,keyasint"` // partition that failed; only for Map
	Error     string      `cbor:"2,keyasint"`
	Permanent bool        `cbor:"3,keyasint,omitempty"` // true if a retry cannot succeed
	Function  Function    `cbor:"5,keyasint,omitempty"` // the function that failed; Map if a merge within a span failed
	Node      engine.Node `cbor:"6,keyasint,omitzero"`  // node for which Merge failed

	// If an operand of a call could not be fetched, Holder is the worker that holds the operand.
	// The call has not begun if Holder is set.
	Holder string `cbor:"7,keyasint,omitempty"`

	// Slow is true if a call did not return within the time [Call.Within].
	Slow bool `cbor:"8,keyasint,omitempty"`

	Took time.Duration `cbor:"20,keyasint,omitempty"` // time for which the attempt occupied a slot
}

// Receipt is the answer to a report. A repeated report gets the same receipt, so that
// the orders in the receipt are carried out once.
type Receipt struct {
	Epoch    uint64        `cbor:"1,keyasint"`
	Sequence uint64        `cbor:"2,keyasint"`           // sequence number of the report that the receipt answers
	Refused  string        `cbor:"3,keyasint,omitempty"` // reason why the report was refused; empty if it was accepted
	Opens    []Opening     `cbor:"4,keyasint,omitempty"` // data for opening the jobs of the assignments, if the worker has not opened them
	Assigned []Assignment  `cbor:"5,keyasint,omitempty"`
	Cuts     []Cut         `cbor:"6,keyasint,omitempty"`
	Jobs     []JobReceipt  `cbor:"7,keyasint,omitempty"`
	Every    time.Duration `cbor:"8,keyasint"`            // time until the next report, unless the worker has an urgent report
	Storage  string        `cbor:"9,keyasint,omitempty"`  // identity of the storage that the leader uses
	Holds    bool          `cbor:"10,keyasint,omitempty"` // true if the leader supports held nodes; false for a leader of an earlier version
	Benched  string        `cbor:"11,keyasint,omitempty"` // reason why the worker gets no partitions for some time; empty if it may get some
}

// ParamsInStore replaces parameters that are too large for a message. The worker then reads the
// parameters from storage. ParamsInStore is not a JSON object, so a worker of an earlier version
// does not open the job.
var ParamsInStore = jobs.Params("null")

// Opening contains the data that a worker needs to open a job.
type Opening struct {
	Job        string      `cbor:"1,keyasint"` // ID of the job
	Kind       JobKind     `cbor:"2,keyasint"`
	Params     jobs.Params `cbor:"3,keyasint"`
	Priority   int         `cbor:"4,keyasint"`
	Partitions uint64      `cbor:"5,keyasint"`           // number of partitions; 0 while the job is not planned
	Data       []byte      `cbor:"6,keyasint,omitempty"` // data of the job's plan
	InStore    bool        `cbor:"7,keyasint,omitempty"` // true if the plan's data is too large for a message, so that the worker reads it from storage

	// ParamsSHA256 is set if the parameters are too large for a message. Params is then
	// [ParamsInStore], and the worker reads the parameters from storage.
	ParamsSHA256 []byte `cbor:"8,keyasint,omitempty"`

	PartitionTimeout time.Duration `cbor:"9,keyasint,omitempty"`  // time limit of a partition; 0 means the definition's limit
	Audit            uint32        `cbor:"10,keyasint,omitempty"` // share of the partitions that are computed twice, in millionths

	Keep int64 `cbor:"20,keyasint,omitempty"` // number of bytes that kept partials may take; 0 if the job reuses and keeps none

	// State is the encoded state of a round. If it is too large for a message, the worker reads it from the blob StateBlob
	// of the round. A job without rounds has no state.
	//
	// Round 0 has no partitions. Its call of Finish computes the state of round 1. Its state, if it has one, is the last
	// one of the job from which the job continues. The round with Last has no partitions either. Its state is the last one,
	// from which its call of Finish computes the result.
	State     []byte `cbor:"30,keyasint,omitempty"`
	StateBlob string `cbor:"31,keyasint,omitempty"`
	Rounds    bool   `cbor:"32,keyasint,omitempty"` // true if Job is the ID of a round: see [engine.RoundID]
	Last      bool   `cbor:"33,keyasint,omitempty"`

	// StateHolder is another worker that has the state in StateBlob, or will soon have it. It is empty if none is known.
	// StateSize and StateSum are the number of bytes and the CRC-32C of the state, or 0 if they are unknown.
	StateHolder string `cbor:"34,keyasint,omitempty"`
	StateSize   uint64 `cbor:"35,keyasint,omitempty"`
	StateSum    uint32 `cbor:"36,keyasint,omitempty"`

	// Inline is the size in bytes of the largest partial that a worker puts into a report; it holds larger ones. With many
	// slots Inline is small, so that their partials do not pile up in the leader. 0 means [MaxInline].
	Inline uint32 `cbor:"40,keyasint,omitempty"`
}

// MayReport reports whether a partial of the job is small enough for a report.
func (o *Opening) MayReport(bytes int) bool {
	return bytes <= int(min(cmp.Or(o.Inline, MaxInline), MaxInline))
}

// MaxState is the maximum size in bytes of the state of a round in an [Opening]. Larger states are in StateBlob.
const MaxState = 64 << 10

// Assignment is an order to a worker to run a span or to make a call.
type Assignment struct {
	ID   SpanID      `cbor:"1,keyasint"`
	Job  string      `cbor:"2,keyasint"`
	Span engine.Span `cbor:"3,keyasint"` // the assigned span; empty for a call
	Call *Call       `cbor:"4,keyasint,omitempty"`

	// Alone is true if workers have died while they ran the span. An assignment with Alone has a
	// span of one partition and is the worker's only assignment. The worker reports each step of
	// the assignment.
	Alone bool `cbor:"5,keyasint,omitempty"`

	// Attempt is the number of the attempt at the partitions of the span, for logs. It is 0 for the first
	// attempt, and if it is unknown.
	Attempt int `cbor:"6,keyasint,omitempty"`
}

// Call is one call of a job's Plan, Merge, Finish or Estimate.
type Call struct {
	Function Function    `cbor:"1,keyasint"`
	Node     engine.Node `cbor:"2,keyasint,omitzero"`  // node whose partial is to be computed; only for Merge
	Operands []Partial   `cbor:"3,keyasint,omitempty"` // operands of the call: the node's children for Merge, the root or the nodes of a prefix for Finish, the nodes of a prefix for Estimate

	// Lacking is a hash of the skipped partitions that are missing from the operands of Merge, Finish or
	// Estimate, or 0 if no partition is missing. A leader accepts the result only if it has skipped
	// the same partitions.
	Lacking uint64 `cbor:"4,keyasint,omitempty"`

	// Failed is the number of earlier attempts at the call that returned an error. If Failed is not
	// 0, the worker merges copies of the partials that it holds, so that the partials are not lost
	// if Merge fails again.
	Failed int `cbor:"5,keyasint,omitempty"`

	// If Within is not 0, the worker makes the call beside its slots for calls, because calls that
	// take long occupy all of them. A call that does not return within this time is cancelled, and
	// does not count as failed. A merge works on copies, as if Failed were not 0.
	Within time.Duration `cbor:"6,keyasint,omitempty"`

	// Prefix is the number of partitions of the prefix that Estimate judges, or whose result Finish computes. It
	// is 0 if Finish gets the root.
	Prefix uint64 `cbor:"10,keyasint,omitempty"`

	// Key is the key under which the worker keeps the root for later jobs after Finish, and Work is the time for which
	// Map has run for the root. If Key is empty, the worker does not keep the root.
	Key  []byte        `cbor:"20,keyasint,omitempty"`
	Work time.Duration `cbor:"21,keyasint,omitempty"`
}

// Cut shortens a span that the worker holds. The new end of the span is Hi, or the first partition
// that has not begun if this partition is above Hi. The worker's next report contains the new end.
// If Hi is 0, all partitions that have not begun are removed. A cut of a call removes the call if
// it has not begun.
type Cut struct {
	ID SpanID `cbor:"1,keyasint"`
	Hi uint64 `cbor:"2,keyasint"`
}

// JobReceipt acknowledges a worker's items of a job.
type JobReceipt struct {
	Job      string `cbor:"1,keyasint"`
	Received uint64 `cbor:"2,keyasint"`           // number of the last item that the leader has received
	Durable  uint64 `cbor:"3,keyasint"`           // number of the last durable item; the worker may drop the items up to this number
	Ended    bool   `cbor:"4,keyasint,omitempty"` // true if the job has ended, so that the worker drops its items and stops its partitions

	// Release and Store are orders concerning nodes in Report.Nodes: the worker must drop the nodes in Release,
	// and write the nodes in Store to storage. The worker ignores a repeated order.
	Release []engine.Node `cbor:"5,keyasint,omitempty"`
	Store   []engine.Node `cbor:"6,keyasint,omitempty"`

	// Auditors are the IDs of other workers that can run the job now, at most MaxAuditors. They are
	// set only for a job that is audited. Each receipt that concerns such a job has the whole list.
	Auditors []string `cbor:"7,keyasint,omitempty"`

	// Continues is true if a round has ended, and the job has a further round or is about to end. The worker then keeps
	// what the job has loaded.
	Continues bool `cbor:"30,keyasint,omitempty"`
}

// AuditRequest asks a worker to compute partitions a second time. The worker answers with several
// messages: at once, and then every second, with an AuditAnswer that is Working, and at the end with
// another one.
type AuditRequest struct {
	Opening    Opening  `cbor:"1,keyasint"`
	Partitions []uint64 `cbor:"2,keyasint"` // at most MaxAudited
}

// AuditAnswer answers an AuditRequest. If none of its fields is set, the worker has computed nothing,
// because it is stopping, has no capacity or cannot read the request.
type AuditAnswer struct {
	Working bool     `cbor:"1,keyasint,omitempty"` // the answer follows
	Sums    [][]byte `cbor:"2,keyasint,omitempty"` // SHA-256 of each partition's encoded value
	Failure *Failure `cbor:"3,keyasint,omitempty"` // failure of a partition, or of Open
}

// Beacon announces the leader. A leader sends a beacon when it begins to lead and then at
// an interval. Workers follow the highest epoch that they have seen.
type Beacon struct {
	Epoch   uint64        `cbor:"1,keyasint"`
	Worker  string        `cbor:"2,keyasint"`
	LeaseID string        `cbor:"3,keyasint"`
	Workers int           `cbor:"4,keyasint"`           // number of workers in the cluster, or 0 if unknown: each worker computes the interval of its pings from it, and the next leader waits for as many reports
	Next    time.Duration `cbor:"5,keyasint"`           // time until the next beacon is due
	Storage string        `cbor:"6,keyasint,omitempty"` // identity of the storage that the leader uses
	Leaving bool          `cbor:"7,keyasint,omitempty"` // true in the leader's last beacon: the leader stops answering pings, and hands over or releases the lease
	Failed  bool          `cbor:"8,keyasint,omitempty"` // true in the last beacon of a leader that could not lead: processes wait longer before they claim the lease if terms fail in a row
}

// Suspicion tells followers that the leader of an epoch seems dead. Each follower that receives a
// suspicion checks the leader itself.
type Suspicion struct {
	Epoch  uint64 `cbor:"1,keyasint"`
	Worker string `cbor:"2,keyasint"` // ID of the follower that suspects the leader
}

// Ping asks the leader of an epoch whether it is alive. The answer is a Pong. A leader on
// another storage does not answer.
type Ping struct {
	Epoch   uint64 `cbor:"1,keyasint"`
	Storage string `cbor:"2,keyasint,omitempty"` // identity of the storage of the follower that sent the ping
}

// Pong answers a Ping or an Offer.
type Pong struct {
	Epoch  uint64 `cbor:"1,keyasint"`
	Worker string `cbor:"2,keyasint"`
}

// Nudge asks a worker to report now. A nudge has no answer.
type Nudge struct {
	Epoch   uint64 `cbor:"1,keyasint"`
	Storage string `cbor:"2,keyasint,omitempty"` // identity of the storage that the leader uses
}

// Probe asks a worker whether it is alive, and also asks the worker to report now. The answer is a
// ProbeAnswer.
type Probe struct {
	Epoch   uint64 `cbor:"1,keyasint"`
	Storage string `cbor:"2,keyasint,omitempty"` // identity of the storage that the leader uses
}

// ProbeAnswer answers a Probe.
type ProbeAnswer struct {
	Epoch  uint64 `cbor:"1,keyasint"` // epoch that the worker follows
	Worker string `cbor:"2,keyasint"`
}

// Offer hands the lease to a worker. The leader has changed the ID of the lease to
// LeaseID. The worker claims the lease with this ID.
type Offer struct {
	Epoch   uint64 `cbor:"1,keyasint"` // epoch of the leader that is stopping
	LeaseID string `cbor:"2,keyasint"`
}
