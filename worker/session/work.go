package session

import (
	"cmp"
	"slices"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// work is the spans to run and the items that are not yet durable.
type work struct {
	jobs  []*job            // sorted by ID
	ended map[string]uint64 // the last item number of jobs that ended, so that numbers never start again
	order []string          // the jobs in ended, the oldest first

	keptBytes int // of items
	held      int // spans, queued and running
	busy      int // spans that slots run
	yielding  int // number of busy spans that must make room for other spans
	awaited   int // number of busy spans whose slots were asked to hand over

	assigned uint64 // spans ever assigned
	taken    uint64 // spans ever taken by slots
}

// job is a job of which the worker holds spans or keeps items.
type job struct {
	id        string
	opening   wire.Opening
	tree      jobs.Tree
	state     jobState
	queued    []*HeldSpan // in order of arrival
	running   []*HeldSpan // in order of arrival
	lastTaken uint64      // value of work.taken when a slot last took a span of the job

	items    []item // kept; the first has number durable+1
	durable  uint64 // items up to this number are durable
	received uint64 // items up to this number need not be sent to this leader
}

// jobState says whether spans of a job can run.
type jobState uint8

const (
	closed  jobState = iota // not opened yet, or opening failed
	opening                 // the shell opens it
	open                    // spans can run
)

// item is a kept item.
type item struct {
	wire.Item
	span wire.SpanID // that it belongs to; zero for a failure to open
	size int         // in a report, in bytes, at most; below itemBudget
}

// last returns the number of the job's last item.
func (j *job) last() uint64 { return j.durable + uint64(len(j.items)) }

// knows reports whether the span is held, or was held and has items still kept.
func (j *job) knows(id wire.SpanID) bool {
	same := func(h *HeldSpan) bool { return h.id == id }
	return slices.ContainsFunc(j.queued, same) || slices.ContainsFunc(j.running, same) ||
		slices.ContainsFunc(j.items, func(i item) bool { return i.span == id })
}

// blobs lists the partials in storage among the kept items.
func (j *job) blobs() []string {
	var list []string
	for _, i := range j.items {
		if i.Partial != nil && i.Partial.Blob != "" {
			list = append(list, i.Partial.Blob)
		}
	}
	return list
}

// find returns the job with an ID, or nil, and its place in work.jobs.
func (s *Session) find(id string) (*job, int) {
	at, ok := slices.BinarySearchFunc(s.work.jobs, id, func(j *job, id string) int { return cmp.Compare(j.id, id) })
	if !ok {
		return nil, at
	}
	return s.work.jobs[at], at
}

// Opened says that the spans of a job can run.
func (s *Session) Opened(id string) {
	if j, _ := s.find(id); j != nil {
		j.state = open
	}
}

// OpenFailed says that a job could not be opened. The failure is reported and the
// job's spans are given up; the next assignment tries again.
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

// maxEnded is how many jobs that ended are remembered. A job never restarts after its
// end; the list protects against leaders that do not know of the end.
const maxEnded = 10_000

// rememberEnded notes the last item number of a job that ended.
func (s *Session) rememberEnded(id string, last uint64) {
	w := &s.work
	w.ended[id] = last
	if w.order = append(w.order, id); len(w.order) > maxEnded {
		delete(w.ended, w.order[0])
		w.order = slices.Delete(w.order, 0, 1)
	}
}
