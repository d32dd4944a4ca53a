package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

const (
	MaxJobID     = 80      // maximum number of bytes of a job's ID
	maxStep      = 16      // maximum number of bytes of the name of a function
	maxServer    = 100     // maximum number of bytes of the ID of a NATS server
	MaxErrorText = 4 << 10 // maximum number of bytes of Failure.Error
	MaxSlots     = 1000    // maximum number of slots of one worker
	MaxHost      = 255     // maximum number of bytes of a host name
	MaxKinds     = 256     // maximum number of definitions that a worker knows
	MaxName      = 40      // maximum number of bytes of a definition's name, and of its version
	MaxSpans     = 1 << 12 // maximum number of spans in a report, which is twice the number that a worker holds
	MaxJobs      = 1 << 13 // maximum number of jobs in a report, which is enough to fill a report without items
	MaxItems     = 1 << 14 // maximum number of items in a report, which is enough to fill a report with small items
	MaxNodes     = 1 << 11 // maximum number of large partials that a worker holds
	MaxEpoch     = 1 << 48 // highest epoch, far above the number of leaders in the life of a cluster
	MaxAuditors  = 3       // maximum number of auditors in a receipt for a job
	MaxAudited   = 1 << 12 // maximum number of partitions in an AuditRequest
	maxLevel     = 62      // highest level of a node, because engine.MaxPartitions is 2^62
)

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrMalformed, fmt.Errorf(format, args...))
}

// Validate checks the parts of a report that can be checked without knowledge of the jobs. It does
// not check whether nodes are in their job's tree or whether checksums match.
func (r Report) Validate() error {
	switch {
	case r.Epoch == 0:
		return malformed("report without an epoch")
	case !ValidWorker(r.Worker):
		return malformed("report of worker %.100q: want a valid worker ID", r.Worker)
	case r.Sequence == 0:
		return malformed("report without a sequence number")
	case (r.Sequence == 1) != (r.Hello != nil):
		return malformed("report %d: the first report alone has a hello", r.Sequence)
	case r.More && len(r.Spans) > 0:
		return malformed("report %d names spans before all items", r.Sequence)
	case r.LostSlots < 0 || r.LostSlots > MaxSlots || r.LostCalls < 0 || r.LostCalls > MaxSlots:
		return malformed("report of %d lost slots and %d lost calls, want 0 to %d", r.LostSlots, r.LostCalls, MaxSlots)
	case len(r.LostAt) > MaxSlots:
		return malformed("report of %d numbers of lost slots, want at most %d", len(r.LostAt), MaxSlots)
	case len(r.Spans) > MaxSpans:
		return malformed("report of %d spans, want at most %d", len(r.Spans), MaxSpans)
	case len(r.Server) > maxServer:
		return malformed("report with a server ID of %d bytes, want at most %d", len(r.Server), maxServer)
	case r.More && len(r.Nodes) > 0:
		return malformed("report %d names held nodes before all items", r.Sequence)
	case len(r.Nodes) > MaxNodes:
		return malformed("report of %d held nodes, want at most %d", len(r.Nodes), MaxNodes)
	case len(r.Jobs) > MaxJobs:
		return malformed("report of %d jobs, want at most %d", len(r.Jobs), MaxJobs)
	}
	if r.Hello != nil {
		if err := r.Hello.validate(); err != nil {
			return err
		}
	}
	if err := validateSpans(r.Spans); err != nil {
		return err
	}
	if err := validateNodes(r.Nodes); err != nil {
		return err
	}
	return validateJobs(r.Jobs)
}

func validateSpans(list []HeldSpan) error {
	held := make(map[SpanID]bool, len(list))
	for _, s := range list {
		if err := validateAssigned(s.ID, s.Job, s.Span, s.Function); err != nil {
			return err
		}
		if len(s.Step) > maxStep {
			return malformed("span %v has a step of %d bytes, want at most %d", s.ID, len(s.Step), maxStep)
		}
		if held[s.ID] {
			return malformed("span %v is held twice", s.ID)
		}
		held[s.ID] = true
	}
	return nil
}

func validateJobs(list []JobReport) error {
	reported := make(map[string]bool, len(list))
	items := 0
	for _, j := range list {
		if items += len(j.Items); items > MaxItems {
			return malformed("report of more than %d items", MaxItems)
		}
		if err := validateJobID(j.Job); err != nil {
			return err
		}
		if reported[j.Job] {
			return malformed("job %s is reported twice", j.Job)
		}
		reported[j.Job] = true
		if j.First == 0 || j.First+uint64(len(j.Items)) < j.First {
			return malformed("items of job %s begin at %d", j.Job, j.First)
		}
		for i, item := range j.Items {
			if err := item.validate(); err != nil {
				return fmt.Errorf("job %s, item %d: %w", j.Job, j.First+uint64(i), err)
			}
		}
	}
	return nil
}

func validateNodes(list []HeldNode) error {
	type place struct {
		job  string
		node engine.Node
	}
	listed := make(map[place]bool, len(list))
	for _, n := range list {
		if err := validateJobID(n.Job); err != nil {
			return err
		}
		if err := validateNode(n.Node); err != nil {
			return err
		}
		if at := (place{n.Job, n.Node}); listed[at] {
			return malformed("node %v of job %s is held twice", n.Node, n.Job)
		} else {
			listed[at] = true
		}
	}
	return nil
}

func validateNode(n engine.Node) error {
	if n.Level > maxLevel || n.Index > (engine.MaxPartitions-1)>>n.Level {
		return malformed("node %v is outside every tree", n)
	}
	return nil
}

func (h Hello) validate() error {
	switch {
	case h.Slots < 1 || h.Slots > MaxSlots:
		return malformed("hello of a worker with %d slots, want 1 to %d", h.Slots, MaxSlots)
	case len(h.Host) > MaxHost:
		return malformed("hello from a host whose name has %d bytes, want at most %d", len(h.Host), MaxHost)
	case len(h.Storage) > MaxName:
		return malformed("hello of a worker whose storage's identity has %d bytes, want at most %d", len(h.Storage), MaxName)
	case len(h.Build) > MaxBuild:
		return malformed("hello of a worker whose build has %d bytes, want at most %d", len(h.Build), MaxBuild)
	case len(h.Version) > MaxVersion:
		return malformed("hello of a worker whose version has %d bytes, want at most %d", len(h.Version), MaxVersion)
	case len(h.Knows) > MaxKinds:
		return malformed("hello of a worker that knows %d definitions, want at most %d", len(h.Knows), MaxKinds)
	}
	for _, k := range h.Knows {
		if len(k.Name) > MaxName || len(k.Version) > MaxName {
			return malformed("hello names definition %.100q version %.100q, want at most %d bytes", k.Name, k.Version, MaxName)
		}
	}
	return nil
}

// Validate checks the parts of a receipt that can be checked without knowledge of the worker.
func (r Receipt) Validate() error {
	switch {
	case r.Epoch == 0:
		return malformed("receipt without an epoch")
	case r.Sequence == 0:
		return malformed("receipt without a sequence number")
	case r.Every < 0:
		return malformed("receipt asks for reports every %v", r.Every)
	}
	for _, o := range r.Opens {
		if err := validateJobID(o.Job); err != nil {
			return err
		}
		if o.StateHolder != "" && !ValidWorker(o.StateHolder) {
			return malformed("job %s whose state worker %.100q has: want a valid worker ID", o.Job, o.StateHolder)
		}
		if o.Partitions == 0 {
			continue // the job is not planned yet
		}
		if _, err := engine.NewTree(o.Partitions); err != nil {
			return malformed("job %s: %w", o.Job, err)
		}
	}
	for _, a := range r.Assigned {
		if err := a.validate(); err != nil {
			return err
		}
	}
	for _, j := range r.Jobs {
		if err := validateJobID(j.Job); err != nil {
			return err
		}
		if len(j.Auditors) > MaxAuditors {
			return malformed("receipt of %d auditors for job %s, want at most %d", len(j.Auditors), j.Job, MaxAuditors)
		}
		for _, a := range j.Auditors {
			if !ValidWorker(a) {
				return malformed("auditor %.100q of job %s: want a valid worker ID", a, j.Job)
			}
		}
	}
	return nil
}

// Validate checks that a beacon belongs to a leader.
func (b Beacon) Validate() error {
	if b.Epoch == 0 {
		return malformed("beacon has no epoch")
	}
	return nil
}

// Validate checks the parts of a request that can be checked without knowledge of the job's kind.
func (r AuditRequest) Validate() error {
	if err := validateJobID(r.Opening.Job); err != nil {
		return err
	}
	if len(r.Partitions) == 0 || len(r.Partitions) > MaxAudited {
		return malformed("audit of %d partitions of job %s, want 1 to %d", len(r.Partitions), r.Opening.Job, MaxAudited)
	}
	for _, p := range r.Partitions {
		if p >= r.Opening.Partitions {
			return malformed("audit of partition %d of job %s, which has %d", p, r.Opening.Job, r.Opening.Partitions)
		}
	}
	return nil
}

// Validate checks the parts of an answer that can be checked without knowledge of the request.
func (a AuditAnswer) Validate() error {
	if a.Failure != nil {
		return a.Failure.validate()
	}
	for _, sum := range a.Sums {
		if len(sum) != sha256.Size {
			return malformed("audit answer with a sum of %d bytes, want %d", len(sum), sha256.Size)
		}
	}
	return nil
}

func (a Assignment) validate() error {
	if a.Call == nil {
		if a.Attempt < 0 {
			return malformed("span %v has the attempt %d", a.ID, a.Attempt)
		}
		return validateAssigned(a.ID, a.Job, a.Span, Map)
	}
	function, operands := a.Call.Function, a.Call.Operands
	if function == Map {
		return malformed("call %v of job %s: want a call of Plan, Merge, Finish or Estimate, got Map", a.ID, a.Job)
	}
	if least, most := function.operands(); len(operands) < least || len(operands) > most {
		return malformed("call %v of job %s has %d operands", a.ID, a.Job, len(operands))
	}
	if prefix := a.Call.Prefix; prefix > engine.MaxPartitions || function == Estimate && prefix == 0 || prefix == 0 && function == Finish && len(operands) > 1 {
		return malformed("call %v of job %s has %d operands for a prefix of %d partitions", a.ID, a.Job, len(operands), prefix)
	}
	if key := a.Call.Key; len(key) > 0 && (len(key) != len(engine.Key{}) || function != Finish) {
		return malformed("call %v of job %s has a key of %d bytes", a.ID, a.Job, len(key))
	}
	for _, o := range operands {
		if o.Holder != "" && (!ValidWorker(o.Holder) || len(o.Data) > 0 || o.Blob != "") {
			return malformed("call %v of job %s: operand %v is held by %.100q, and has data or a blob too, or the worker ID is not valid", a.ID, a.Job, o.Node, o.Holder)
		}
	}
	return validateAssigned(a.ID, a.Job, a.Span, function)
}

func validateJobID(id string) error {
	if id == "" || len(id) > MaxJobID {
		return malformed("job ID %.100q: want 1 to %d bytes", id, MaxJobID)
	}
	return nil
}

// validateAssigned checks an assignment, which is a call if function is not Map, and otherwise a
// span.
func validateAssigned(id SpanID, job string, span engine.Span, function Function) error {
	if err := validateJobID(job); err != nil {
		return err
	}
	switch {
	case id.Epoch == 0 || id.Number == 0:
		return malformed("span %v of job %s has no ID", span, job)
	case function != Map && !function.calls():
		return malformed("call %v of job %s: want a call of Plan, Merge, Finish or Estimate, got %v", id, job, function)
	case function != Map && span != engine.Span{}:
		return malformed("call %v of job %s has partitions %v", id, job, span)
	case function == Map && (span.Empty() || span.Hi > engine.MaxPartitions):
		return malformed("span %v of job %s holds no partitions", span, job)
	}
	return nil
}

func (i Item) validate() error {
	kinds := 0
	for _, is := range []bool{i.Partial != nil, i.Failure != nil, i.Output != nil, i.Held != nil} {
		if is {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		return malformed("want one of a partial, a failure, an output and a held node")
	case i.Took < 0:
		return malformed("item that took %v", i.Took)
	case i.Partial != nil:
		return i.Partial.validate()
	case i.Failure != nil:
		return i.Failure.validate()
	case i.Output != nil:
		return i.Output.validate()
	}
	return validateNode(*i.Held)
}

func (p Partial) validate() error {
	if err := validateNode(p.Node); err != nil {
		return err
	}
	if err := validateBlob(p.Data, p.Blob); err != nil {
		return fmt.Errorf("node %v: %w", p.Node, err)
	}
	if p.Holder != "" || p.Stored && p.Blob == "" {
		return malformed("node %v is reported without its data", p.Node)
	}
	return nil
}

func (f Failure) validate() error {
	switch {
	case len(f.Error) > MaxErrorText:
		return malformed("failure with a text of %d bytes, want at most %d", len(f.Error), MaxErrorText)
	case f.Function > Estimate:
		return malformed("failure of %v", f.Function)
	case f.Took < 0:
		return malformed("failure that took %v", f.Took)
	case f.Holder != "" && !ValidWorker(f.Holder):
		return malformed("failure because of worker %.100q: want a valid worker ID", f.Holder)
	}
	return nil
}

func (o Output) validate() error {
	switch {
	case o.Function != Plan && o.Function != Finish && o.Function != Estimate:
		return malformed("output of %v: want one of Plan, Finish or Estimate", o.Function)
	case o.Function != Finish && (o.Continues || o.Value != 0) || o.Value-o.Value != 0:
		return malformed("output of %v that continues the job, with the number %v: want a finite number, only for Finish", o.Function, o.Value)
	case o.Last && !o.Continues:
		return malformed("output of %v with the last state, but without a state", o.Function)
	case o.Function == Estimate && (o.Blob != "" || len(o.Data) > engine.MaxEstimate):
		return malformed("estimate of %d bytes, or in a blob: want at most %d bytes", len(o.Data), engine.MaxEstimate)
	}
	if o.Found != "" && (o.Function != Plan || validateBlob(nil, o.Found) != nil) {
		return malformed("output of %v with the blob %.100q: want a SHA-256 in hexadecimal, only for Plan", o.Function, o.Found)
	}
	if err := validateBlob(o.Data, o.Blob); err != nil {
		return fmt.Errorf("output of %v: %w", o.Function, err)
	}
	return nil
}

// validateBlob checks that data is either in the message or in a blob.
func validateBlob(data []byte, blob string) error {
	switch {
	case blob == "":
		return nil
	case len(data) > 0:
		return malformed("has both data and a blob")
	}
	if sum, err := hex.DecodeString(blob); err != nil || len(sum) != 32 {
		return malformed("blob name %.100q: want a SHA-256 in hexadecimal", blob)
	}
	return nil
}

// String returns the ID as epoch.number.
func (id SpanID) String() string { return fmt.Sprintf("%d.%d", id.Epoch, id.Number) }
