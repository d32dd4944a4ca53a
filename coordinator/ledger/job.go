package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// job is an active job's account: every partition is finished, held by a worker,
// or in exactly one of fresh, retries and suspects.
type job struct {
	spec    store.Spec
	opening wire.Opening
	tree    jobs.Tree
	forest  *forest

	fresh    spanSet
	retries  []retry   // by partition
	suspects []suspect // by span
	held     []*held   // by ID
	attempts map[uint64]*store.Attempt
	skipped  []uint64 // sorted

	received map[string]uint64 // per worker: the number of its last item that was taken
	durable  map[string]uint64 // per worker: the number of its last item in a checkpoint
	saving   map[string]uint64 // received, as the checkpoint under way has it
	executed uint64

	dirty      bool // something changed since the last checkpoint was asked for
	saved      time.Duration
	wary       bool // may kill its leader: what the leader's own worker gets is checkpointed first
	openFailed int
	trouble    string
	ending     bool // its end is being made durable
	freed      bool // in this step, partitions came to wait for a worker

	speed    float64 // partitions per second of one slot, over all workers; 0 until known
	rate     float64 // partitions per second of the whole cluster
	measured time.Duration
	counted  uint64
}

// retry is a partition that failed and waits to be tried again.
type retry struct {
	partition uint64
	due       time.Duration
	avoid     string // the worker it failed on last
}

// suspect is a span that workers died on.
type suspect struct {
	span   jobs.Span
	deaths int
}

func (l *Ledger) addJob(e JobAdded) {
	if l.job(e.Spec.ID) != nil {
		return
	}
	tree, err := jobs.NewTree(e.Partitions)
	if err != nil {
		l.note(e.Spec.ID, "", "job refused: %v", err)
		return
	}
	j := &job{
		spec: e.Spec, tree: tree, forest: newForest(tree),
		opening: wire.Opening{
			Job: e.Spec.ID, Kind: wire.JobKind{Name: e.Spec.Job, Version: e.Spec.Version}, Params: e.Spec.Params,
			Priority: e.Spec.Priority, Partitions: e.Partitions, Data: e.Data, InStore: e.InStore,
		},
		attempts: map[uint64]*store.Attempt{}, received: map[string]uint64{}, durable: map[string]uint64{},
		executed: e.Executed, skipped: slices.Clone(e.Skipped),
		saved: l.now - l.cfg.CheckpointEvery, measured: l.now,
		wary: e.LeaderDied || len(e.Suspects) > 0,
	}
	i, _ := slices.BinarySearchFunc(l.jobs, j, compareJobs)
	l.jobs = slices.Insert(l.jobs, i, j)
	for _, c := range e.Workers {
		j.received[c.Worker], j.durable[c.Worker] = c.Through, c.Through
		if l.settling && l.worker(c.Worker) == nil {
			if i, found := slices.BinarySearch(l.roster, c.Worker); !found {
				l.roster = slices.Insert(l.roster, i, c.Worker)
				l.do(Probe{c.Worker})
			}
		}
	}
	for _, n := range e.Nodes {
		l.insert(j, n.Node, n.Ref)
	}
	for _, gap := range j.forest.missing(jobs.Span{Hi: e.Partitions}) {
		j.fresh.add(gap)
	}
	for _, s := range e.Suspects {
		for _, gap := range j.forest.missing(s.Span) {
			j.fresh.remove(gap)
			j.suspect(suspect{gap, s.Deaths})
		}
	}
	for _, a := range e.Attempts {
		if j.forest.anyMissing(jobs.Span{Lo: a.Partition, Hi: a.Partition + 1}) {
			j.attempts[a.Partition] = &a
		}
	}
	j.counted = j.forest.done()
	for _, n := range e.Nodes {
		l.mergeUp(j, n.Node)
	}
	j.freed = true
}

// compareJobs puts higher priorities first, then jobs submitted earlier.
func compareJobs(a, b *job) int {
	return cmp.Or(cmp.Compare(b.spec.Priority, a.spec.Priority), cmp.Compare(a.spec.ID, b.spec.ID))
}

func (l *Ledger) removeJob(id string) {
	j := l.job(id)
	if j == nil {
		return
	}
	for _, h := range slices.Clone(j.held) {
		l.release(h)
		l.nudge(h.worker) // to make it stop
	}
	l.jobs = slices.DeleteFunc(l.jobs, func(o *job) bool { return o == j })
}

// finish takes a finished node into account, whether reported, merged or
// skipped.
func (l *Ledger) finish(j *job, n jobs.Node, ref Ref) {
	if l.insert(j, n, ref) {
		j.dirty = true
		j.unplan(j.tree.Span(n))
		l.mergeUp(j, n)
	}
}

// insert puts a finished node into the forest.
func (l *Ledger) insert(j *job, n jobs.Node, ref Ref) bool {
	forget, added := j.forest.insert(n, ref)
	for _, r := range forget {
		if r != NoRef {
			l.do(Forget{r})
		}
	}
	return added
}

// mergeUp merges a finished node with its sibling. With a skipped sibling there
// is nothing to compute, and the climb goes on.
func (l *Ledger) mergeUp(j *job, n jobs.Node) {
	for !j.ending {
		parent, left, right, ok := j.forest.siblings(n)
		if !ok {
			break
		}
		if left != NoRef && right != NoRef {
			l.do(Merge{j.spec.ID, parent, left, right})
			return
		}
		j.forest.replace(parent, max(left, right)) // the one that is there, if any
		n = parent
	}
	if root := j.forest.root; root.finished && !j.ending {
		if root.ref == NoRef {
			l.fail(j, "every partition was skipped")
		} else {
			l.end(j, store.Completed, "", root.ref)
		}
	}
}

func (l *Ledger) cancel(j *job) {
	if !j.ending {
		l.end(j, store.Cancelled, "", NoRef)
	}
}

func (l *Ledger) fail(j *job, why string) {
	if !j.ending {
		l.end(j, store.Failed, why, NoRef)
	}
}

func (l *Ledger) end(j *job, as store.State, why string, root Ref) {
	j.ending = true
	j.fresh, j.retries, j.suspects = nil, nil, nil
	l.do(End{j.spec.ID, as, why, root, l.snapshot(j)})
}

// failure accounts for one failed attempt.
func (l *Ledger) failure(j *job, w *worker, f *wire.Failure) {
	j.dirty = true
	j.trouble = f.Error
	switch {
	case j.ending:
	case f.Open:
		j.openFailed++
		w.cannot[j.spec.ID] = l.now + l.backoff(j.openFailed)
		l.note(j.spec.ID, w.id, "worker could not open the job: %s", f.Error)
		if f.Permanent || j.openFailed >= j.spec.MaxAttempts {
			l.fail(j, "open: "+f.Error)
		}
	case f.Permanent:
		l.fail(j, f.Error)
	default:
		l.partitionFailed(j, w, f)
	}
}

func (l *Ledger) partitionFailed(j *job, w *worker, f *wire.Failure) {
	leaf := jobs.Span{Lo: f.Partition, Hi: f.Partition + 1}
	if !j.forest.anyMissing(leaf) {
		return // it has succeeded elsewhere
	}
	a := j.attempts[f.Partition]
	if a == nil {
		a = &store.Attempt{Partition: f.Partition}
		j.attempts[f.Partition] = a
	}
	a.Failed++
	a.Error = f.Error
	switch {
	case a.Failed >= j.spec.MaxAttempts:
		l.giveUp(j, f.Partition, fmt.Sprintf("partition %d failed %d times, last on worker %s: %s", f.Partition, a.Failed, w.id, f.Error))
	case len(j.retries) >= l.cfg.MaxFailing:
		l.fail(j, fmt.Sprintf("more than %d partitions are failing, last partition %d on worker %s: %s", l.cfg.MaxFailing, f.Partition, w.id, f.Error))
	default:
		l.note(j.spec.ID, w.id, "partition %d failed, attempt %d of %d: %s", f.Partition, a.Failed, j.spec.MaxAttempts, f.Error)
		j.unplan(leaf)
		i, _ := slices.BinarySearchFunc(j.retries, f.Partition, func(r retry, p uint64) int { return cmp.Compare(r.partition, p) })
		j.retries = slices.Insert(j.retries, i, retry{f.Partition, l.now + l.backoff(a.Failed), w.id})
	}
}

// giveUp skips a partition where the submitter allows it, or fails the job.
func (l *Ledger) giveUp(j *job, partition uint64, why string) {
	if uint64(len(j.skipped)) >= j.spec.MaxSkipped {
		l.fail(j, why)
		return
	}
	l.note(j.spec.ID, "", "partition skipped: %s", why)
	leaf := jobs.Span{Lo: partition, Hi: partition + 1}
	j.unplan(leaf)
	delete(j.attempts, partition)
	i, _ := slices.BinarySearch(j.skipped, partition)
	j.skipped = slices.Insert(j.skipped, i, partition)
	l.finish(j, jobs.Leaf(partition), NoRef)
}

func (l *Ledger) backoff(failed int) time.Duration {
	return min(l.cfg.RetryAfter<<min(failed-1, 20), l.cfg.RetryAtMost)
}

// plan returns partitions that nobody holds any more to those to be assigned,
// except the finished ones and those that wait to be tried again.
func (j *job) plan(span jobs.Span, deaths int) {
	if j.ending {
		return
	}
	gaps := spanSet(j.forest.missing(span))
	if len(gaps) == 0 {
		return
	}
	for _, r := range j.retries {
		gaps.remove(jobs.Span{Lo: r.partition, Hi: r.partition + 1})
	}
	for _, gap := range gaps {
		j.freed = true
		if deaths > 0 {
			j.suspect(suspect{gap, deaths})
		} else {
			j.fresh.add(gap)
		}
	}
}

// unplan takes partitions off those to be assigned.
func (j *job) unplan(span jobs.Span) {
	j.fresh.remove(span)
	j.retries = slices.DeleteFunc(j.retries, func(r retry) bool { return span.Lo <= r.partition && r.partition < span.Hi })
	if !slices.ContainsFunc(j.suspects, func(s suspect) bool { return s.span.Lo < span.Hi && span.Lo < s.span.Hi }) {
		return
	}
	old := j.suspects
	j.suspects = nil
	for _, s := range old {
		rest := spanSet{s.span}
		rest.remove(span)
		for _, part := range rest {
			j.suspect(suspect{part, s.deaths})
		}
	}
}

func (j *job) suspect(s suspect) {
	i, _ := slices.BinarySearchFunc(j.suspects, s, func(a, b suspect) int { return cmp.Compare(a.span.Lo, b.span.Lo) })
	j.suspects = slices.Insert(j.suspects, i, s)
}

// unassigned is the number of partitions to be assigned.
func (j *job) unassigned() uint64 {
	n := j.fresh.count() + uint64(len(j.retries))
	for _, s := range j.suspects {
		n += s.span.Len()
	}
	return n
}

// measure updates the rate shown to people, as a moving average over some seconds.
func (l *Ledger) measure(j *job) {
	elapsed := (l.now - j.measured).Seconds()
	if elapsed < 0.5 {
		return
	}
	done := j.forest.done()
	current := float64(done-j.counted) / elapsed
	weight := min(1, elapsed/3)
	if j.rate == 0 {
		weight = 1
	}
	j.rate += weight * (current - j.rate)
	j.measured, j.counted = l.now, done
}

func (j *job) progress(l *Ledger) wire.JobProgress {
	p := wire.JobProgress{
		Job: j.spec.ID, State: string(store.Running), Partitions: j.tree.Partitions(), Done: j.forest.done(),
		Executed: j.executed, Skipped: j.skipped, Rate: j.rate, Trouble: j.trouble,
	}
	holders := map[string]bool{}
	for _, h := range j.held {
		holders[h.worker.id] = true
	}
	p.Workers = len(holders)
	if !slices.ContainsFunc(l.workers, func(w *worker) bool { return w.knows(j) }) && len(l.workers) > 0 {
		p.Trouble = fmt.Sprintf("no worker knows %s version %s", j.spec.Job, j.spec.Version)
	}
	return p
}
