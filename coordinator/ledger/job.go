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

// job is an active job's account. Every partition is finished, held by a worker,
// or in exactly one of fresh, attempts (where it waits) and suspects.
type job struct {
	spec    store.Spec
	opening wire.Opening
	tree    jobs.Tree
	forest  *forest

	fresh    spanSet
	attempts attempts
	suspects suspects
	held     assignments
	skipped  []uint64 // sorted

	contributors map[string]*contributor
	executed     uint64
	trouble      string

	wary   bool // may kill its leader: what the leader's own worker gets is checkpointed first
	ending bool // its end is being made durable
	over   bool // its end is durable

	dirty  bool          // something changed since the last checkpoint was asked for
	saved  time.Duration // when that was
	asked  uint64        // how many checkpoints were asked for
	acked  uint64        // how many of them are durable
	wanted uint64        // the checkpoint that something waits for

	pace     pace // of a slot, over all workers
	rate     float64
	measured time.Duration
	counted  uint64
}

// contributor is a worker that has part in a job. The numbers are those of its
// items: the last taken, the last in the checkpoint under way, and the last in a
// durable one.
type contributor struct{ received, saving, durable uint64 }

func (j *job) contributor(worker string) *contributor {
	c := j.contributors[worker]
	if c == nil {
		c = &contributor{}
		j.contributors[worker] = c
	}
	return c
}

// addJob takes in a job, from its manifest where it has been worked on.
func (l *Ledger) addJob(e JobAdded) {
	tree, err := jobs.NewTree(e.Partitions)
	if err != nil || l.byID[e.Spec.ID] != nil {
		l.note(e.Spec.ID, "", "Job refused: it is here already, or has %d partitions", e.Partitions)
		return
	}
	j := &job{
		spec: e.Spec, tree: tree, forest: newForest(tree),
		opening: wire.Opening{
			Job: e.Spec.ID, Kind: wire.JobKind{Name: e.Spec.Job, Version: e.Spec.Version}, Params: e.Spec.Params,
			Priority: e.Spec.Priority, Partitions: e.Partitions, Data: e.Data, InStore: e.InStore,
		},
		contributors: map[string]*contributor{},
		executed:     e.Executed, skipped: slices.Clone(e.Skipped),
		saved: l.now - l.cfg.CheckpointEvery, measured: l.now,
		wary: e.LeaderDied || slices.ContainsFunc(e.Suspects, func(s store.Suspect) bool { return s.Deaths > 0 }),
	}
	i, _ := slices.BinarySearchFunc(l.jobs, j, compareJobs)
	l.jobs = slices.Insert(l.jobs, i, j)
	l.byID[j.spec.ID] = j
	l.absent.arrived(j.spec.ID)
	if len(e.Workers) > 0 {
		l.heard = l.now
	}
	for _, c := range e.Workers {
		j.contributors[c.Worker] = &contributor{c.Through, c.Through, c.Through}
		if l.worker(c.Worker) == nil && l.expect(c.Worker) {
			l.do(Probe{c.Worker})
		}
	}
	for _, n := range e.Nodes {
		forget, _ := j.forest.insert(n.Node, n.Ref)
		l.forget(forget...)
	}
	l.freed = true
	for _, gap := range j.forest.missing(jobs.Span{Hi: e.Partitions}) {
		j.fresh.add(gap)
	}
	for _, a := range e.Attempts {
		if j.forest.anyMissing(single(a.Partition)) {
			j.attempts.get(a.Partition).Attempt = a
		}
	}
	l.resumeSuspects(j, e.Suspects, e.LeaderDied)
	j.counted = j.forest.done()
	for _, n := range e.Nodes {
		l.mergeUp(j, n.Node)
	}
}

// compareJobs puts higher priorities first, then jobs submitted earlier.
func compareJobs(a, b *job) int {
	return cmp.Or(cmp.Compare(b.spec.Priority, a.spec.Priority), cmp.Compare(a.spec.ID, b.spec.ID))
}

// removeJob forgets a job whose end is durable. Its workers are told, and those
// that hold some of it at once, so that they stop.
func (l *Ledger) removeJob(j *job) {
	j.ending, j.over = true, true
	for _, h := range slices.Collect(j.held.backward()) {
		l.release(h)
		l.nudge(h.worker)
	}
	for _, n := range j.forest.nodes() {
		l.forget(n.Ref)
	}
	i, _ := slices.BinarySearchFunc(l.jobs, j, compareJobs)
	l.jobs = slices.Delete(l.jobs, i, i+1)
	delete(l.byID, j.spec.ID)
}

// finish takes a finished node into account. One that a worker ran has all its
// partitions; one that was merged lacks those skipped.
func (l *Ledger) finish(j *job, n jobs.Node, ref Ref, ran bool) {
	forget, added := j.forest.insert(n, ref)
	l.forget(forget...)
	if !added {
		return
	}
	span := j.tree.Span(n)
	j.dirty = true
	j.unplan(span)
	j.attempts.remove(span)
	if ran {
		j.unskip(span)
	}
	l.mergeUp(j, n)
	if j.forest.places > l.cfg.MaxTreeNodes {
		l.fail(j, fmt.Sprintf("its finished nodes are scattered over more than %d places of the tree", l.cfg.MaxTreeNodes))
	}
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
	switch root := j.forest.root; {
	case !root.finished:
	case root.ref == NoRef:
		l.fail(j, "every partition was skipped")
	default:
		l.end(j, store.Completed, "", root.ref)
	}
}

func (l *Ledger) cancel(j *job) { l.end(j, store.Cancelled, "", NoRef) }

func (l *Ledger) fail(j *job, why string) { l.end(j, store.Failed, why, NoRef) }

// end asks for a job's end, whatever it is first. Until that is durable nothing
// more of the job is taken or given.
func (l *Ledger) end(j *job, as store.State, why string, root Ref) {
	if j.ending {
		return
	}
	j.ending = true
	l.do(EndJob{j.spec.ID, as, why, root, l.snapshot(j)})
	j.fresh, j.attempts, j.suspects = spanSet{}, attempts{}, suspects{}
}
