package wire

import (
	"encoding/hex"
	"fmt"

	"github.com/bellwether-compute/bellwether/jobs"
)

// Bounds that senders keep and Validate checks.
const (
	MaxJobID     = 80      // bytes
	MaxErrorText = 4 << 10 // bytes of Failure.Error
	MaxSlots     = 1000    // of one worker
	MaxHost      = 255     // bytes of a host's name
	MaxKinds     = 256     // definitions that a worker knows
	MaxName      = 40      // bytes of a definition's name, and of its version
	MaxSpans     = 1 << 12 // in a report: twice what a worker holds
	MaxJobs      = 1 << 13 // in a report: so many empty ones fill it
	MaxItems     = 1 << 14 // in a report, of all jobs: so many small ones fill it
	maxLevel     = 62      // of a node: jobs.MaxPartitions is 2^62
)

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrMalformed, fmt.Errorf(format, args...))
}

// Validate checks all that can be judged without knowing the jobs: whether a
// node is in its tree, and whether data is what its checksum says, is not.
func (r Report) Validate() error {
	switch {
	case r.Epoch == 0:
		return malformed("report without an epoch")
	case !ValidWorker(r.Worker):
		return malformed("report of a worker named %.100q", r.Worker)
	case r.Sequence == 0:
		return malformed("report without a sequence number")
	case (r.Sequence == 1) != (r.Hello != nil):
		return malformed("report %d: the first report alone has a hello", r.Sequence)
	case r.More && len(r.Spans) > 0:
		return malformed("report %d names spans before all items", r.Sequence)
	case len(r.Spans) > MaxSpans:
		return malformed("report of %d spans, at most %d are allowed", len(r.Spans), MaxSpans)
	case len(r.Jobs) > MaxJobs:
		return malformed("report of %d jobs, at most %d are allowed", len(r.Jobs), MaxJobs)
	}
	if r.Hello != nil {
		if err := r.Hello.validate(); err != nil {
			return err
		}
	}
	held := make(map[SpanID]bool, len(r.Spans))
	for _, s := range r.Spans {
		if err := validateSpan(s.ID, s.Job, s.Span); err != nil {
			return err
		}
		if held[s.ID] {
			return malformed("span %v is held twice", s.ID)
		}
		held[s.ID] = true
	}
	reported := make(map[string]bool, len(r.Jobs))
	items := 0
	for _, j := range r.Jobs {
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

func (h Hello) validate() error {
	switch {
	case h.Slots < 1 || h.Slots > MaxSlots:
		return malformed("hello of a worker with %d slots", h.Slots)
	case len(h.Host) > MaxHost:
		return malformed("hello from a host whose name has %d bytes, at most %d are allowed", len(h.Host), MaxHost)
	case len(h.Knows) > MaxKinds:
		return malformed("hello of a worker that knows %d definitions, at most %d are allowed", len(h.Knows), MaxKinds)
	}
	for _, k := range h.Knows {
		if len(k.Name) > MaxName || len(k.Version) > MaxName {
			return malformed("hello names definition %.100q version %.100q, with more than %d bytes", k.Name, k.Version, MaxName)
		}
	}
	return nil
}

// Validate checks all that can be judged without knowing the worker.
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
		if _, err := jobs.NewTree(o.Partitions); err != nil {
			return malformed("job %s: %w", o.Job, err)
		}
	}
	for _, a := range r.Assigned {
		if err := validateSpan(a.ID, a.Job, a.Span); err != nil {
			return err
		}
	}
	for _, j := range r.Jobs {
		if err := validateJobID(j.Job); err != nil {
			return err
		}
	}
	return nil
}

func validateJobID(id string) error {
	if id == "" || len(id) > MaxJobID {
		return malformed("job ID %.100q: want 1 to %d bytes", id, MaxJobID)
	}
	return nil
}

func validateSpan(id SpanID, job string, span jobs.Span) error {
	if err := validateJobID(job); err != nil {
		return err
	}
	if id.Epoch == 0 || id.Number == 0 {
		return malformed("span %v of job %s has no ID", span, job)
	}
	if span.Empty() || span.Hi > jobs.MaxPartitions {
		return malformed("span %v of job %s holds no partitions", span, job)
	}
	return nil
}

func (i Item) validate() error {
	switch {
	case (i.Partial == nil) == (i.Failure == nil):
		return malformed("want either a partial or a failure")
	case i.Failure != nil && len(i.Failure.Error) > MaxErrorText:
		return malformed("failure with a text of %d bytes, at most %d are allowed", len(i.Failure.Error), MaxErrorText)
	case i.Failure != nil:
		return nil
	case i.Partial.Node.Level > maxLevel || i.Partial.Node.Index > (jobs.MaxPartitions-1)>>i.Partial.Node.Level:
		return malformed("node %v is outside every tree", i.Partial.Node)
	case i.Partial.Blob == "":
		return nil
	case len(i.Partial.Data) > 0:
		return malformed("node %v has both data and a blob", i.Partial.Node)
	}
	if sum, err := hex.DecodeString(i.Partial.Blob); err != nil || len(sum) != 32 {
		return malformed("node %v: blob name %.100q is no SHA-256", i.Partial.Node, i.Partial.Blob)
	}
	return nil
}

// String prints the ID as epoch.number.
func (id SpanID) String() string { return fmt.Sprintf("%d.%d", id.Epoch, id.Number) }
