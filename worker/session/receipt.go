package session

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// ErrStale: the receipt is not that of the report under way.
var ErrStale = errors.New("receipt of no report under way")

// Orders are what a receipt asks the shell to do.
type Orders struct {
	Open    []wire.Opening // open these jobs; the answers are Opened or OpenFailed
	Ended   []EndedJob     // whose runs should be cancelled and that should be closed
	Refused string         // why the leader did not take the report; the book has started over
	Ignored []error        // what was ordered and makes no sense
	Every   time.Duration  // until the next report, if nothing else calls for one; 0 if not said
}

// EndedJob is a job that is over.
type EndedJob struct {
	Job string
	// Blobs are the partials that were written and are not known to be durable. The
	// leader may have removed the job's partials before it could see them.
	Blobs []string
}

// Receive takes the receipt of the report under way. An error means that it was
// dropped whole.
func (b *Book) Receive(r wire.Receipt) (Orders, error) {
	if !b.underWay || r.Epoch != b.epoch || r.Sequence != b.sequence {
		return Orders{}, fmt.Errorf("%w: got epoch %d sequence %d", ErrStale, r.Epoch, r.Sequence)
	}
	if err := r.Validate(); err != nil {
		return Orders{}, err
	}
	if r.Refused != "" {
		b.startOver()
		return Orders{Refused: r.Refused}, nil
	}
	b.underWay = false
	orders := Orders{Every: r.Every}
	for _, j := range r.Jobs {
		b.receiveJob(j, &orders)
	}
	for _, o := range r.Opens {
		b.learn(o)
	}
	for _, c := range r.Cuts {
		b.cut(c)
	}
	for _, a := range r.Assigned {
		if err := b.assign(a, &orders); err != nil {
			orders.Ignored = append(orders.Ignored, err)
		}
	}
	return orders, nil
}

// receiveJob notes what the leader has of a job's items.
func (b *Book) receiveJob(r wire.JobReceipt, orders *Orders) {
	j, at := b.find(r.Job)
	switch {
	case r.Ended:
		ended := EndedJob{Job: r.Job}
		if j != nil {
			ended.Blobs = j.blobs()
		}
		orders.Ended = append(orders.Ended, ended)
		if j == nil {
			return
		}
		b.remember(j.id, j.last())
		b.dropItems(j, len(j.items))
		b.giveUpQueue(j)
		for _, run := range j.runs {
			run.gone = true
		}
		b.held -= len(j.runs)
		b.jobs = slices.Delete(b.jobs, at, at+1)
		b.urgent = true // slots are free
		return
	case j == nil:
		return
	}
	durable := max(j.dropped, min(r.Durable, j.last()))
	b.dropItems(j, int(durable-j.dropped))
	received := max(j.received, durable, min(r.Received, j.last()))
	if received > j.received && b.more {
		b.urgent = true // the leader keeps up: the rest follows at once
	}
	j.received = received
}

// blobs lists those of the kept items.
func (j *job) blobs() []string {
	var list []string
	for _, i := range j.items {
		if i.Partial != nil && i.Partial.Blob != "" {
			list = append(list, i.Partial.Blob)
		}
	}
	return list
}

// learn notes a job that an assignment may need.
func (b *Book) learn(o wire.Opening) {
	if j, _ := b.find(o.Job); j != nil {
		j.opening.Priority = o.Priority
		return
	}
	tree, err := jobs.NewTree(o.Partitions)
	if err != nil {
		return // Validate has seen to it
	}
	_, at := b.find(o.Job)
	last := b.ended[o.Job]
	b.jobs = slices.Insert(b.jobs, at, &job{id: o.Job, opening: o, tree: tree, dropped: last, received: last})
}

// cut shortens a span.
func (b *Book) cut(c wire.Cut) {
	b.urgent = true // the leader waits to hear where the span ends now
	for _, j := range b.jobs {
		for _, r := range slices.Concat(j.queue, j.runs) {
			if r.id != c.ID {
				continue
			}
			r.hi = min(r.hi, max(c.Hi, r.claimed))
			if r.lo == r.hi {
				b.letGo(r)
			}
			return
		}
	}
}

// assign takes on a span.
func (b *Book) assign(a wire.Assignment, orders *Orders) error {
	j, _ := b.find(a.Job)
	switch {
	case b.draining:
		return nil // the leader learns by the next report that it is not held
	case j == nil:
		return fmt.Errorf("assigned span %v of job %s, which was not introduced", a.ID, a.Job)
	case a.Span.Hi > j.tree.Partitions():
		return fmt.Errorf("assigned span %v of job %s: %v is outside its %d partitions", a.ID, a.Job, a.Span, j.tree.Partitions())
	case j.knows(a.ID):
		return fmt.Errorf("assigned span %v of job %s, which is held already", a.ID, a.Job)
	case b.held >= MaxHeld:
		b.urgent = true
		return fmt.Errorf("assigned span %v of job %s: %d are held already", a.ID, a.Job, b.held)
	}
	b.arrivals++
	b.held++
	j.queue = append(j.queue, &Run{id: a.ID, job: j, lo: a.Span.Lo, claimed: a.Span.Lo, hi: a.Span.Hi, arrival: b.arrivals})
	if j.state == shut {
		j.state = opening
		orders.Open = append(orders.Open, j.opening)
	}
	return nil
}

// Opened says that the spans of a job can run.
func (b *Book) Opened(id string) {
	if j, _ := b.find(id); j != nil {
		j.state = open
	}
}

// OpenFailed says that a job could not be opened. The failure is reported, and
// the job's spans are given up; the next assignment tries again.
func (b *Book) OpenFailed(id string, f wire.Failure) {
	j, _ := b.find(id)
	if j == nil {
		return
	}
	j.state = shut
	b.giveUpQueue(j)
	b.keep(j, item{Item: wire.Item{Failure: &f}})
	b.urgent = true
}
