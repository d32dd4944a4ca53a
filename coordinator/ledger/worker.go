package ledger

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// forgetAfter is how long the numbers of a worker's items are kept after it is
// gone. One that comes back later than that has its duplicates counted as
// executed once more, and nothing else; if they were kept, a job that outlives
// many workers would have them all in its manifest.
const forgetAfter = 10 * time.Minute

// maxDeparted is of how many of those that are gone the numbers are kept at most,
// of the last ones: about as many as there may be workers.
const maxDeparted = 10_000

// worker is a process that reports to this leader.
type worker struct {
	id       string
	hello    wire.Hello
	slots    int
	draining bool
	isolates bool // it is set aside to run isolated suspects

	talk     uint64       // the conversation with it
	sequence uint64       // of the last report
	receipt  wire.Receipt // the answer to it
	seen     time.Duration
	told     time.Duration // when it last said what it holds
	every    time.Duration // when after seen the next report was asked for
	probed   time.Duration
	nudged   bool // since the last report

	held  []*held // in order of assignment
	parts []*part // by job ID
	cuts  int     // cuts under way on its behalf

	parked  []string // parked jobs that it has spoken of
	foreign int      // spans that it holds of jobs that are not here
}

// part is what is between a worker and a job that it has heard of.
type part struct {
	worker *worker
	job    *job

	opened   bool   // the worker has what it needs to open the job
	mention  bool   // the next receipt must say what was received
	received uint64 // as the worker was told last
	durable  uint64 // as the worker was told last

	pace       pace
	openFailed int           // times in a row
	shunned    time.Duration // until then the worker gets none of the job
}

// welcome takes in a worker that begins anew. Whatever an earlier conversation
// with it had led to is planned again; what it still holds, it says.
func (l *Ledger) welcome(r wire.Report) *worker {
	if old := l.worker(r.Worker); old != nil {
		l.bury(old, false)
	} else {
		l.note("", r.Worker, "Worker joined")
	}
	delete(l.departed, r.Worker)
	w := &worker{id: r.Worker, hello: *r.Hello, slots: max(1, r.Hello.Slots), talk: r.Conversation, told: l.now}
	i, _ := l.findWorker(w.id)
	l.workers = slices.Insert(l.workers, i, w)
	l.countSlots(w, w.slots)
	return w
}

// died buries a worker whose process is gone.
func (l *Ledger) died(id string) {
	if w := l.worker(id); w != nil {
		if w.draining && len(w.held) == 0 {
			l.note("", id, "Worker left")
		} else {
			l.note("", id, "Worker died")
		}
		l.bury(w, true)
	} else if l.settling {
		l.departed[id] = l.now
	}
	l.strike(id)
	l.settle()
}

// listen looks for workers that have fallen silent, and lets the memory fade of
// those that are gone.
func (l *Ledger) listen() {
	for _, w := range slices.Clone(l.workers) {
		silence := l.now - w.seen
		switch {
		case silence > w.every+l.cfg.SilentAfter:
			l.note("", w.id, "Worker is silent for %v, its work goes to others", silence.Round(time.Millisecond))
			l.bury(w, false)
		case silence > 2*w.every+w.every/2 && l.now-w.probed > w.every:
			w.probed = l.now
			l.do(Probe{w.id})
		}
	}
	l.fade()
}

// fade forgets those who are long gone, and the first to go where they are many.
func (l *Ledger) fade() {
	before := l.now - forgetAfter
	if len(l.departed) > maxDeparted {
		since := slices.Sorted(maps.Values(l.departed))
		before = max(before, since[len(since)-maxDeparted])
	}
	for id, since := range l.departed {
		if since < before {
			delete(l.departed, id)
			for _, j := range l.jobs {
				delete(j.contributors, id)
			}
		}
	}
}

// bury strikes a worker off and plans anew what it held. Where its process died,
// what it held is suspected of having killed it.
func (l *Ledger) bury(w *worker, died bool) {
	for len(w.held) > 0 {
		l.takeBack(w.held[0], died && w.held[0].told)
	}
	l.setIsolates(w, false)
	l.setDraining(w, true)
	i, _ := l.findWorker(w.id)
	l.workers = slices.Delete(l.workers, i, i+1)
	l.departed[w.id] = l.now
}

// setDraining says whether a worker wants no more work.
func (l *Ledger) setDraining(w *worker, draining bool) {
	switch {
	case draining && !w.draining:
		l.countSlots(w, -w.slots)
	case w.draining && !draining:
		l.countSlots(w, w.slots)
	}
	w.draining = draining
}

// countSlots counts slots more, or fewer, for every kind of job that a worker knows.
func (l *Ledger) countSlots(w *worker, more int) {
	for _, kind := range w.hello.Knows {
		if l.slots[kind] += more; l.slots[kind] == 0 {
			delete(l.slots, kind)
		}
	}
}

func (w *worker) knows(j *job) bool { return slices.Contains(w.hello.Knows, j.opening.Kind) }

// can reports whether a worker can be given partitions of a job now.
func (l *Ledger) can(w *worker, j *job) bool {
	if w.draining || j.ending || !w.knows(j) {
		return false
	}
	i, found := w.findPart(j.spec.ID)
	return !found || l.now >= w.parts[i].shunned
}

// others reports whether some other worker can be given a job's partitions.
func (l *Ledger) others(w *worker, j *job) bool {
	return slices.ContainsFunc(l.workers, func(o *worker) bool { return o != w && l.can(o, j) })
}

// part returns a worker's part in a job, which is new where it has not heard of it.
func (w *worker) part(j *job) *part {
	i, found := w.findPart(j.spec.ID)
	if !found {
		w.parts = slices.Insert(w.parts, i, &part{worker: w, job: j})
	} else if w.parts[i].job != j { // one of the same ID has ended before
		w.parts[i] = &part{worker: w, job: j}
	}
	return w.parts[i]
}

func (w *worker) findPart(job string) (int, bool) {
	return slices.BinarySearchFunc(w.parts, job, func(p *part, id string) int { return cmp.Compare(p.job.spec.ID, id) })
}

// nudge asks a worker to report now, unless it has been asked already.
func (l *Ledger) nudge(w *worker) {
	if !w.nudged {
		w.nudged = true
		l.do(Nudge{w.id})
	}
}
