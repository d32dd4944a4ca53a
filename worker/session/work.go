package session

import (
	"cmp"
	"slices"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// work contains the spans to run, the calls to make and the items that are not durable yet.
type work struct {
	jobs  []*job            // sorted by ID
	ended map[string]uint64 // number of the last item of each ended job, by the job's ID; the numbers must never be used again
	order []string          // IDs of the ended jobs, oldest first

	keptBytes int         // size in bytes of the kept items
	held      int         // number of held spans and calls, queued and running
	busy      int         // number of spans that slots are running
	yielding  int         // number of busy spans that must release their slots for other spans
	awaited   int         // number of busy spans whose slots were asked to deliver results
	calling   int         // number of calls that are running, including calls that are no longer held
	nodes     int         // number of held nodes
	slots     []*HeldSpan // spans that slots are running, by slot number; nil for an idle slot

	// lostSlots and lostCalls are the numbers of slots and calls with code that does not return.
	lostSlots, lostCalls int
	paused               bool // memory is short
	straySlots           int  // number of busy spans that are lost or whose jobs have ended

	alone alone

	assigned uint64 // number of spans and calls ever assigned
	taken    uint64 // number of spans ever taken by slots
}

// job is a job with held spans, held calls or kept items.
type job struct {
	id        string
	opening   wire.Opening
	tree      engine.Tree // aggregation tree of the job; zero until the job is planned
	state     jobState
	queued    []*HeldSpan // waiting spans in the order of their assignment
	running   []*HeldSpan // running spans in the order of their assignment
	calls     []*HeldCall // calls in the order of their assignment
	nodes     []*heldNode // held nodes in tree order
	large     bool        // the worker has held a large partial of the job
	lastTaken uint64      // value of work.taken when a slot last took a span of the job
	auditors  []string    // other workers that can run the job, according to the last receipt; only for an audited job
	listed    bool        // the leader knows that the worker has the job

	refused []string // names of blobs in items that the session did not keep

	items    []item // kept items; the first item has the number durable+1
	durable  uint64 // number of the last durable item
	received uint64 // number of the last item that this leader has received or that is durable
}

// jobState is the state of a job on this worker; only spans of an open job can run.
type jobState uint8

const (
	closed  jobState = iota // the job has not been opened, or opening it has failed
	opening                 // the caller of the session is opening the job
	open                    // spans of the job can run
)

// item is a kept item.
type item struct {
	wire.Item
	span  wire.SpanID // ID of the span or call to which the item belongs; zero if opening the job failed
	blobs []string    // names of the blobs that were written for the item
	size  int         // upper bound of the item's size in a report, in bytes; less than itemBudget
}

// last returns the number of the job's last item.
func (j *job) last() uint64 { return j.durable + uint64(len(j.items)) }

// knows reports whether the worker holds a span or call of the job, or keeps items of this span or
// call.
func (j *job) knows(id wire.SpanID) bool {
	same := func(h *HeldSpan) bool { return h.id == id }
	return slices.ContainsFunc(j.queued, same) || slices.ContainsFunc(j.running, same) ||
		slices.ContainsFunc(j.calls, func(h *HeldCall) bool { return h.id == id }) ||
		slices.ContainsFunc(j.items, func(i item) bool { return i.span == id })
}

// blobs returns the names of the blobs that the leader may not know: the blobs of the kept items and
// of the refused items.
func (j *job) blobs() []string {
	list := slices.Clone(j.refused)
	for _, i := range j.items {
		list = append(list, i.blobs...)
	}
	return list
}

// refuse records the blobs of an item that the session does not keep. The blobs are removed at the
// job's end. An earlier removal could lose a partial that is needed, because other items with the
// same data have the same blob.
func (j *job) refuse(blobs []string) { j.refused = append(j.refused, blobs...) }

// blobsOf returns the names of the blobs of a span's item.
func blobsOf(i wire.Item) []string {
	if i.Partial == nil || i.Partial.Blob == "" {
		return nil
	}
	return []string{i.Partial.Blob}
}

// find returns the job with an ID and the job's index in work.jobs, or nil.
func (s *Session) find(id string) (*job, int) {
	at, ok := slices.BinarySearchFunc(s.work.jobs, id, func(j *job, id string) int { return cmp.Compare(j.id, id) })
	if !ok {
		return nil, at
	}
	return s.work.jobs[at], at
}

// Opened tells the session that a job is open, so that spans of the job can run.
func (s *Session) Opened(id string) {
	if j, _ := s.find(id); j != nil {
		j.state = open
	}
}

// OpenFailed tells the session that a job could not be opened. The session reports the failure and
// drops the job's spans. The session opens the job again when the leader assigns the job's work
// again.
func (s *Session) OpenFailed(id string, f wire.Failure) {
	j, _ := s.find(id)
	if j == nil {
		return
	}
	j.state = closed
	s.dropQueued(j)
	s.keep(j, item{Item: wire.Item{Failure: &f}})
	s.hurry()
}

// keep appends an item to the kept items of a job.
func (s *Session) keep(j *job, i item) {
	i.size = itemSize
	if p := i.Partial; p != nil {
		i.size += len(p.Data) + len(p.Blob)
	}
	if f := i.Failure; f != nil {
		i.size += len(f.Error)
	}
	if o := i.Output; o != nil {
		i.size += len(o.Data) + len(o.Blob) + len(o.Found)
	}
	j.items = append(j.items, i)
	s.work.keptBytes += i.size
}

// dropItems drops a job's first n items.
func (s *Session) dropItems(j *job, n int) {
	for _, i := range j.items[:n] {
		s.work.keptBytes -= i.size
	}
	j.items = slices.Delete(j.items, 0, n)
	j.durable += uint64(n)
}

// dropQueued drops the job's queued spans.
func (s *Session) dropQueued(j *job) {
	for _, h := range j.queued {
		h.dropped = true
	}
	s.work.held -= len(j.queued)
	j.queued = nil
}

// maxEnded is the number of ended jobs that the session remembers. Ended jobs are remembered,
// because a leader may not know that a job has ended.
const maxEnded = 10_000

// rememberEnded records the number of the last item of a job that has ended.
func (s *Session) rememberEnded(id string, last uint64) {
	w := &s.work
	w.ended[id] = last
	if w.order = append(w.order, id); len(w.order) > maxEnded {
		delete(w.ended, w.order[0])
		w.order = slices.Delete(w.order, 0, 1)
	}
}
