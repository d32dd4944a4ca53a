package term

import (
	"errors"
	"time"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/jobs"
)

// pair is a requested merge of the partials of two siblings.
type pair struct {
	parent      jobs.Node
	left, right partial
}

// One task merges several pairs. If each task merged only one pair, even fast merges
// would wait for their turns on the loop, one after the other.
const (
	maxMergeTime  = time.Millisecond // after this time the task ends, and another task merges the remaining pairs
	maxMergePairs = 256
)

// maxMergeCall is how long the leader waits for one merge. The code of a merge that takes
// longer cannot be stopped; it continues in the background.
const maxMergeCall = time.Second

// errSlow means that a merge took longer than maxMergeCall.
var errSlow = errors.New("merge takes too long")

// merge queues a merge that the ledger requested.
func (t *Term) merge(m ledger.Merge) {
	j := t.jobs.active[m.Job]
	p := pair{m.Node, t.partials.use(m.Left), t.partials.use(m.Right)}
	j.blobs.gc.acquire(p.left.blob)
	j.blobs.gc.acquire(p.right.blob)
	j.merges.pairs = append(j.merges.pairs, p)
	t.startMerges(j)
}

// startMerges starts a task for the job's queued pairs, unless the job already has the
// maximum number of merge tasks.
func (t *Term) startMerges(j *activeJob) {
	if len(j.merges.pairs) == 0 || j.merges.tasks == t.cfg.MaxMerging {
		return
	}
	j.merges.tasks++
	t.limits.merges.acquire(func() {
		pairs := j.merges.take(t.cfg.MaxMerging)
		if len(pairs) == 0 || j.ending.Load() {
			t.mergesDone(j)
			return
		}
		t.spawn(func() func() {
			merged, took, err := t.mergePairs(j, pairs)
			return func() {
				if errors.Is(err, errSlow) {
					t.giveUpMerges(j, pairs[len(merged):])
					pairs, err = pairs[:len(merged)], nil
				}
				t.merged(j, pairs, merged, took, err)
			}
		})
	})
}

// take removes from the queue as many pairs as one task should merge, if the given number of tasks
// share the queued pairs.
func (m *mergeState) take(tasks int) []pair {
	n := min((len(m.pairs)+tasks-1)/tasks, maxMergePairs)
	pairs := m.pairs[:n:n]
	m.pairs = m.pairs[n:]
	return pairs
}

func (t *Term) mergesDone(j *activeJob) {
	j.merges.tasks--
	t.limits.merges.release()
}

// mergePairs merges pairs in order: the first pair, and then further pairs as long as they take
// little time and memory. Tasks call it.
func (t *Term) mergePairs(j *activeJob, pairs []pair) (merged []nodePartial, took []time.Duration, err error) {
	began := t.env.Now()
	for _, p := range pairs {
		data, d, err := t.mergePair(j, p)
		if err != nil {
			return merged, took, err
		}
		merged = append(merged, nodePartial{p.parent, partial{data: data, job: j.spec.ID}})
		took = append(took, d)
		if len(data) > maxInMemory || t.since(began) >= maxMergeTime || j.ending.Load() {
			break
		}
	}
	return merged, took, nil
}

// mergePair calls the job's code to merge one pair. Tasks call it.
func (t *Term) mergePair(j *activeJob, p pair) (data []byte, took time.Duration, err error) {
	left, err := t.read(j.spec.ID, p.left)
	if err != nil {
		return nil, 0, err
	}
	right, err := t.read(j.spec.ID, p.right)
	if err != nil {
		return nil, 0, err
	}
	began := t.env.Now()
	var out struct { // must not be read if the code does not return in time
		data []byte
		err  error
	}
	if !t.env.Guard(maxMergeCall, func() { out.data, out.err = j.job.Merge(left, right) }) {
		return nil, 0, errSlow
	}
	if out.err != nil {
		out.err = &jobFault{out.err}
	}
	return out.data, t.since(began), out.err
}

// giveUpMerges tells the ledger that the leader will not merge the given pairs, nor any queued pair
// of the job, because the job's code takes too long.
func (t *Term) giveUpMerges(j *activeJob, pairs []pair) {
	t.log.Warn("A merge takes long, workers merge this job's partials from now on", "job", j.spec.ID, "limit", maxMergeCall)
	pairs = append(pairs, j.merges.pairs...)
	j.merges.pairs = nil
	for _, p := range pairs {
		j.blobs.gc.release(p.left.blob)
		j.blobs.gc.release(p.right.blob)
		t.step(ledger.MergeSlow{Job: j.spec.ID, Node: p.parent})
	}
}

// merged handles the outcome of mergePairs: it tells the ledger of the pairs that were merged and
// queues the other pairs again. The task counts as running in the limiter until large partials are
// in blobs.
func (t *Term) merged(j *activeJob, pairs []pair, merged []nodePartial, took []time.Duration, failed error) {
	j.merges.pairs = append(j.merges.pairs, pairs[len(merged):]...)
	t.writeBlobs(j, merged, maxInMemory, func(err error) {
		if failed == nil {
			failed = err
		}
		for i, m := range merged {
			t.cfg.Observe(MergeDone{took[i]})
			j.blobs.gc.release(pairs[i].left.blob)
			j.blobs.gc.release(pairs[i].right.blob)
			if failed == nil {
				t.step(ledger.Merged{Job: j.spec.ID, FinishedNode: ledger.FinishedNode{Node: m.node, Ref: t.partials.add(m.partial), Size: len(m.data), Large: m.blob != ""}})
			}
		}
		if failed != nil {
			t.failJob(j, failed)
		}
		t.mergesDone(j)
		t.startMerges(j)
	})
}
