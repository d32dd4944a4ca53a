package session

import (
	"cmp"
	"slices"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Book is the state. Its methods must not be called concurrently.
type Book struct {
	worker string
	hello  wire.Hello
	slots  int

	epoch    uint64 // followed; 0 before the first
	talk     uint64 // the conversation with its leader
	sequence uint64 // of the last report; 0 before the first in this conversation
	underWay bool   // the last report has no receipt yet
	more     bool   // the last report left out items that did not fit
	parted   bool   // the last report said that the worker drains and holds nothing
	urgent   bool   // something should be reported at once
	draining bool

	jobs     []*job            // sorted by ID
	ended    map[string]uint64 // last number given in jobs that ended, so that numbers never start again
	order    []string          // of the jobs in ended, the oldest first
	bytes    int               // of kept items
	keepMost int               // of bytes, before nothing more is begun
	held     int               // spans, queued and running
	busy     int               // runs taken and not released
	yielding int               // runs told to make room and not released
	arrivals uint64            // spans assigned so far
	turns    uint64            // runs taken so far
}

// job is a job of which the worker holds spans or keeps items.
type job struct {
	id      string
	opening wire.Opening
	tree    jobs.Tree
	state   openState
	queue   []*Run // in order of arrival
	runs    []*Run // in order of arrival
	turn    uint64 // when a run of it was last taken

	items    []item // kept; the first has number dropped+1
	dropped  uint64 // items up to this number are durable
	received uint64 // items up to this number need not be sent to this leader
}

// openState says whether spans of a job can run.
type openState uint8

const (
	shut    openState = iota // not opened, or in vain
	opening                  // Open is at work
	open                     // spans can run
)

// item is a kept item.
type item struct {
	wire.Item
	span wire.SpanID // that it is of; zero for a failure to open
	size int         // in a report, in bytes, at most; below itemBudget
}

// Run is a held span. Slots get it from [Book.Take] and give it back with
// [Book.Release].
type Run struct {
	id      wire.SpanID
	job     *job
	lo      uint64 // the first partition not delivered
	claimed uint64 // the first partition not begun
	hi      uint64
	arrival uint64
	gone    bool // no longer held; what is delivered for it is dropped
	yields  bool // told to make room
}

// Job is the ID of the job the span is of.
func (r *Run) Job() string { return r.job.id }

// Left is how many partitions of the span were not claimed.
func (r *Run) Left() uint64 { return r.hi - r.claimed }

// New is the book of a worker that has heard of no leader. Hello introduces it,
// and says how many slots it has.
func New(worker string, hello wire.Hello) *Book {
	return &Book{
		worker: worker, hello: hello, slots: hello.Slots, talk: uint64(hello.Since.UnixNano()), // like no other process of that name
		ended: make(map[string]uint64), keepMost: MaxKept,
	}
}

// Epoch is the epoch followed, 0 before the first.
func (b *Book) Epoch() uint64 { return b.epoch }

// Follow turns to the leader of an epoch, if that is above the one followed, and
// reports whether it is.
func (b *Book) Follow(epoch uint64) bool {
	if epoch <= b.epoch {
		return false
	}
	b.epoch = epoch
	b.startOver()
	return true
}

// startOver makes the next report the first of a conversation.
func (b *Book) startOver() {
	b.talk++
	b.sequence, b.underWay, b.more, b.parted, b.urgent = 0, false, false, false, true
	for _, j := range b.jobs {
		j.received = j.dropped
	}
}

// Drain gives up all that is queued, lets runs end at their next partition
// boundary and takes no more work.
func (b *Book) Drain() {
	b.draining, b.urgent = true, true
	for _, j := range b.jobs {
		b.giveUpQueue(j)
	}
}

// Draining reports whether [Book.Drain] was called.
func (b *Book) Draining() bool { return b.draining }

// Drained reports whether the worker drains and the leader followed knows that
// it holds nothing and has made durable what it kept.
func (b *Book) Drained() bool { return b.parted && !b.underWay && b.Empty() }

// Empty reports whether nothing is held, running or kept.
func (b *Book) Empty() bool {
	items, _ := b.Kept()
	return b.held == 0 && b.busy == 0 && items == 0
}

// Urgent reports whether something should be reported at once.
func (b *Book) Urgent() bool { return b.urgent }

// Busy is how many runs are taken.
func (b *Book) Busy() int { return b.busy }

// Queued is how many spans wait for a slot.
func (b *Book) Queued() int {
	queued := 0
	for _, j := range b.jobs {
		queued += len(j.queue)
	}
	return queued
}

// Kept is how many items are kept, and the bytes they take.
func (b *Book) Kept() (items, bytes int) {
	for _, j := range b.jobs {
		items += len(j.items)
	}
	return items, b.bytes
}

// Full reports whether so much is kept that nothing more is begun until some of
// it is durable.
func (b *Book) Full() bool { return b.bytes >= b.keepMost }

// dropItems lets go of a job's first n items.
func (b *Book) dropItems(j *job, n int) {
	for _, i := range j.items[:n] {
		b.bytes -= i.size
	}
	j.items = slices.Delete(j.items, 0, n)
	j.dropped += uint64(n)
}

// maxEnded is how many jobs that ended are remembered. A job does not come back
// after its end; this is for leaders that think otherwise.
const maxEnded = 10_000

// remember notes the last number of a job that ended.
func (b *Book) remember(id string, last uint64) {
	b.ended[id] = last
	if b.order = append(b.order, id); len(b.order) > maxEnded {
		delete(b.ended, b.order[0])
		b.order = slices.Delete(b.order, 0, 1)
	}
}

// find returns the job of that ID, or nil, and its place in b.jobs.
func (b *Book) find(id string) (*job, int) {
	at, ok := slices.BinarySearchFunc(b.jobs, id, func(j *job, id string) int { return cmp.Compare(j.id, id) })
	if !ok {
		return nil, at
	}
	return b.jobs[at], at
}

// last is the number of the job's last item.
func (j *job) last() uint64 { return j.dropped + uint64(len(j.items)) }

// giveUpQueue lets go of the job's queued spans.
func (b *Book) giveUpQueue(j *job) {
	for _, r := range j.queue {
		r.gone = true
	}
	b.held -= len(j.queue)
	j.queue = nil
}

// knows reports whether the span is held, or was and has items still kept.
func (j *job) knows(id wire.SpanID) bool {
	same := func(r *Run) bool { return r.id == id }
	return slices.ContainsFunc(j.queue, same) || slices.ContainsFunc(j.runs, same) ||
		slices.ContainsFunc(j.items, func(i item) bool { return i.span == id })
}
