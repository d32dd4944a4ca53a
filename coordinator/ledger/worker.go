package ledger

import (
	"cmp"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// worker is a process that reports to this leader.
type worker struct {
	id       string
	hello    wire.Hello
	slots    int
	draining bool

	sequence uint64 // of the last report
	receipt  wire.Receipt
	seen     time.Duration // when it came
	every    time.Duration // when the next was asked for
	probed   time.Duration
	nudged   bool // since the last report

	held   []*held                  // in order of assignment
	opened map[string]uint64        // jobs it was told of, and up to where their items were said to be durable
	cannot map[string]time.Duration // jobs it failed to open, until when it gets none of them
	speed  map[string]float64       // partitions per second of one slot, by job
	cuts   int                      // cuts under way on its behalf
}

// held is an assignment: a span that a worker is to run, or what is left of it.
type held struct {
	id      wire.SpanID
	job     *job
	worker  *worker
	span    jobs.Span // Lo is the first partition not reported
	running bool
	deaths  int  // how many workers have died on it
	told    bool // the worker knows of it
	named   bool // a checkpoint was asked for that names it
	saved   bool // that checkpoint is durable

	moved  time.Duration // when it last began or got on
	cutFor *worker       // on whose behalf it was told to end early; nil where it was not
	cutAt  uint64        // where
	copied bool          // somebody else runs it too
	copy   bool          // it is such a copy
}

func (w *worker) knows(j *job) bool {
	return slices.Contains(w.hello.Knows, j.opening.Kind)
}

// report takes a worker's report and replies.
func (l *Ledger) report(e Reported) {
	r := e.Report
	w := l.worker(r.Worker)
	switch {
	case w != nil && r.Sequence == w.sequence:
		l.do(Reply{w.id, w.receipt}) // the answer was lost
		l.forget(e.Refs)
		return
	case r.Hello == nil && (w == nil || r.Sequence != w.sequence+1):
		l.do(Reply{r.Worker, wire.Receipt{Epoch: l.cfg.Epoch, Sequence: r.Sequence, Refused: "unknown here: begin again with sequence 1 and a hello"}})
		l.forget(e.Refs)
		return
	case r.Hello != nil:
		if w != nil {
			l.bury(w, false) // it has lost its place, as after a long silence
		}
		w = l.welcome(r)
	}
	w.sequence, w.draining = r.Sequence, r.Draining
	elapsed := l.now - w.seen
	w.seen, w.nudged = l.now, false
	w.receipt = wire.Receipt{Epoch: l.cfg.Epoch, Sequence: r.Sequence}
	refs := e.Refs
	for _, jr := range r.Jobs {
		refs = l.items(w, jr, refs)
	}
	if !r.More {
		l.strike(w.id)
		l.reconcile(w, r.Spans, elapsed)
		l.fill(w)
	}
	l.tell(w)
	l.do(Reply{w.id, w.receipt})
}

func (l *Ledger) forget(refs []Ref) {
	for _, ref := range refs {
		l.do(Forget{ref})
	}
}

func (l *Ledger) welcome(r wire.Report) *worker {
	w := &worker{
		id: r.Worker, hello: *r.Hello, slots: max(1, r.Hello.Slots), seen: l.now, every: l.interval(),
		opened: map[string]uint64{}, cannot: map[string]time.Duration{}, speed: map[string]float64{},
	}
	i, _ := slices.BinarySearchFunc(l.workers, w, func(a, b *worker) int { return cmp.Compare(a.id, b.id) })
	l.workers = slices.Insert(l.workers, i, w)
	l.note("", w.id, "worker joined")
	return w
}

// items takes what a worker says of one job, and returns the refs that follow.
func (l *Ledger) items(w *worker, jr wire.JobReport, refs []Ref) []Ref {
	j := l.job(jr.Job)
	if j == nil {
		w.receipt.Jobs = append(w.receipt.Jobs, wire.JobReceipt{Job: jr.Job, Ended: true})
		delete(w.opened, jr.Job)
	} else if _, told := w.opened[jr.Job]; !told {
		w.opened[jr.Job] = 0
	}
	for i, item := range jr.Items {
		number := jr.First + uint64(i)
		var ref Ref
		if item.Partial != nil {
			ref, refs = refs[0], refs[1:]
		}
		if j == nil || j.ending || number != j.received[w.id]+1 {
			if ref != NoRef {
				l.do(Forget{ref})
			}
			continue
		}
		j.received[w.id] = number
		j.dirty = true
		if item.Failure != nil {
			l.failure(j, w, item.Failure)
			continue
		}
		j.executed += j.tree.Span(item.Partial.Node).Len()
		l.finish(j, item.Partial.Node, ref)
	}
	return refs
}

// reconcile compares what a worker says it holds with what it was given. A span
// that it holds no more was finished, given back or lost.
func (l *Ledger) reconcile(w *worker, spans []wire.HeldSpan, elapsed time.Duration) {
	said := make(map[wire.SpanID]wire.HeldSpan, len(spans))
	for _, s := range spans {
		said[s.ID] = s
	}
	progress := map[*job]float64{}
	slots := map[*job]int{}
	for _, h := range slices.Clone(w.held) {
		s, holds := said[h.id]
		delete(said, h.id)
		if !h.told {
			continue
		}
		if !holds {
			s.Span = jobs.Span{Lo: h.span.Hi, Hi: h.span.Hi}
		}
		ran := h.running || s.Running || !holds
		if moved := l.move(h, s); moved > 0 || ran {
			progress[h.job] += float64(moved)
			slots[h.job]++
		}
		if s.Running && !h.running {
			h.moved = l.now
		}
		h.running = s.Running
		switch {
		case h.span.Empty():
			l.release(h)
		case !h.job.forest.anyMissing(h.span):
			l.cut(h, nil, 0) // done elsewhere
		}
	}
	for _, j := range l.jobs {
		if slots[j] > 0 && elapsed > 0 {
			l.learn(w, j, progress[j]/elapsed.Seconds()/float64(min(slots[j], w.slots)))
		}
	}
	for _, s := range spans { // in the order in which the worker will run them
		if _, unknown := said[s.ID]; unknown {
			l.adopt(w, s)
		}
	}
}

// move brings an assignment to where the worker says it is, and returns how many
// partitions that finished. What the worker passed or gave back without finishing
// it is planned anew.
func (l *Ledger) move(h *held, said wire.HeldSpan) (finished uint64) {
	was := h.span
	h.span.Lo = max(was.Lo, min(said.Span.Lo, was.Hi))
	h.span.Hi = max(h.span.Lo, min(said.Span.Hi, was.Hi))
	if h.span.Hi < was.Hi {
		l.giveBack(h, jobs.Span{Lo: h.span.Hi, Hi: was.Hi})
		l.cutDone(h)
	}
	if h.span.Lo == was.Lo {
		return 0
	}
	h.moved = l.now
	passed := jobs.Span{Lo: was.Lo, Hi: h.span.Lo}
	finished = passed.Len()
	for _, gap := range h.job.forest.missing(passed) {
		finished -= gap.Len()
	}
	l.giveBack(h, passed)
	return finished
}

// giveBack plans anew what a worker holds no more, unless it was a mere copy.
func (l *Ledger) giveBack(h *held, span jobs.Span) {
	if !h.copy {
		h.job.plan(span, h.deaths)
	}
}

// learn takes a new measurement of a worker's speed at a job into account.
func (l *Ledger) learn(w *worker, j *job, speed float64) {
	if speed <= 0 {
		return
	}
	average := func(old float64) float64 {
		if old == 0 {
			return speed
		}
		return old + 0.3*(speed-old)
	}
	w.speed[j.spec.ID] = average(w.speed[j.spec.ID])
	j.speed = average(j.speed)
}

// adopt lets a worker keep a span that this leader did not give it, as far as
// nobody else has it: an earlier leader did, or the worker was thought dead.
func (l *Ledger) adopt(w *worker, s wire.HeldSpan) {
	j := l.job(s.Job)
	if j == nil || j.ending {
		return // it will be told that the job has ended
	}
	mine := j.claimable(s.Span)
	h := &held{id: s.ID, job: j, worker: w, span: mine, running: s.Running, told: true, moved: l.now}
	if mine.Empty() {
		// Its present partition may be under way; that one comes twice.
		w.receipt.Cuts = append(w.receipt.Cuts, wire.Cut{ID: s.ID})
		return
	}
	j.unplan(mine)
	l.hold(h)
	if _, opened := w.opened[s.Job]; !opened {
		w.opened[s.Job] = 0
	}
	if mine.Hi < s.Span.Hi {
		w.receipt.Cuts = append(w.receipt.Cuts, wire.Cut{ID: s.ID, Hi: mine.Hi})
	}
}

// claimable returns the longest beginning of a span that is finished or waits to
// be assigned, without finished partitions at its end.
func (j *job) claimable(span jobs.Span) jobs.Span {
	free := slices.Clone(j.fresh)
	for _, s := range j.suspects {
		free.add(s.span)
	}
	for _, r := range j.retries {
		free.add(jobs.Span{Lo: r.partition, Hi: r.partition + 1})
	}
	end := span.Lo
	for _, gap := range j.forest.missing(span) {
		part := free.prefix(gap)
		if !part.Empty() {
			end = part.Hi
		}
		if part != gap {
			break
		}
	}
	return jobs.Span{Lo: span.Lo, Hi: end}
}

// hold enters an assignment into the books.
func (l *Ledger) hold(h *held) {
	h.worker.held = append(h.worker.held, h)
	i, _ := slices.BinarySearchFunc(h.job.held, h, func(a, b *held) int {
		return cmp.Or(cmp.Compare(a.id.Epoch, b.id.Epoch), cmp.Compare(a.id.Number, b.id.Number))
	})
	h.job.held = slices.Insert(h.job.held, i, h)
	h.job.dirty = true
}

// release strikes an assignment from the books. Its partitions are the caller's
// to plan.
func (l *Ledger) release(h *held) {
	l.cutDone(h)
	same := func(o *held) bool { return o == h }
	h.worker.held = slices.DeleteFunc(h.worker.held, same)
	h.job.held = slices.DeleteFunc(h.job.held, same)
}

// cut tells a worker to end a span early. The rest of it becomes free when the
// worker's next report confirms that.
func (l *Ledger) cut(h *held, on *worker, at uint64) {
	if h.cutFor != nil {
		return
	}
	if on == nil {
		on = h.worker
	}
	on.cuts++
	h.cutFor, h.cutAt = on, at
	l.nudge(h.worker)
}

func (l *Ledger) cutDone(h *held) {
	if h.cutFor != nil {
		h.cutFor.cuts--
		h.cutFor = nil
	}
}

// tell completes a receipt with all that the worker has to know.
func (l *Ledger) tell(w *worker) {
	for _, h := range w.held {
		if h.cutFor != nil {
			w.receipt.Cuts = append(w.receipt.Cuts, wire.Cut{ID: h.id, Hi: h.cutAt})
		}
		if !h.told && !l.mustSaveFirst(h) {
			l.assign(w, h)
		}
	}
	for _, j := range l.jobs {
		told, opened := w.opened[j.spec.ID]
		durable, received := j.durable[w.id], j.received[w.id]
		if opened && (durable != told || slices.ContainsFunc(w.held, func(h *held) bool { return h.job == j }) || received > durable) {
			w.receipt.Jobs = append(w.receipt.Jobs, wire.JobReceipt{Job: j.spec.ID, Received: received, Durable: durable})
			w.opened[j.spec.ID] = durable
		}
	}
	for _, id := range sortedKeys(w.opened) {
		if l.job(id) == nil {
			w.receipt.Jobs = append(w.receipt.Jobs, wire.JobReceipt{Job: id, Ended: true})
			delete(w.opened, id)
		}
	}
	w.every = l.interval()
	w.receipt.Every = w.every
}

// bury forgets a worker and plans anew what it held. Where its process died, what
// it held is suspected of having killed it.
func (l *Ledger) bury(w *worker, died bool) {
	for _, h := range slices.Clone(w.held) {
		l.release(h)
		deaths := h.deaths
		if died && h.told {
			deaths++
		}
		l.returnSpan(h, deaths)
	}
	l.workers = slices.DeleteFunc(l.workers, func(o *worker) bool { return o == w })
	if l.quarantine == w {
		l.quarantine = nil
	}
	switch {
	case died && w.draining && len(w.held) == 0:
		l.note("", w.id, "worker left")
	case died:
		l.note("", w.id, "worker died")
	}
}

func (l *Ledger) returnSpan(h *held, deaths int) {
	if h.copy || h.job.ending {
		return
	}
	killer := h.span.Len() == 1 && h.deaths >= isolateAfter && deaths >= isolateAfter+min(h.job.spec.MaxAttempts, killsToBlame)
	if killer && h.job.forest.anyMissing(h.span) {
		l.giveUp(h.job, h.span.Lo, blame(h, deaths))
		return
	}
	if h.span.Len() > 1 {
		deaths = min(deaths, isolateAfter) // none of its partitions is to blame alone
	}
	h.job.plan(h.span, deaths)
	h.job.dirty = true
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
