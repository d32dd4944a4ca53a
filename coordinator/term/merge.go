package term

import (
	"cmp"
	"errors"
	"sync/atomic"
	"time"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// pair is a requested merge of the partials of two siblings.
type pair struct {
	parent      engine.Node
	left, right partial
}

// A task merges several pairs, because fast merges would otherwise wait for the loop after each
// pair.
const (
	maxMergeTime  = time.Millisecond // time after which a task ends and leaves the remaining pairs to another task
	maxMergePairs = 256
)

// maxMergeCall is the time limit of one merge. A merge that takes longer cannot be stopped and
// continues in the background.
const maxMergeCall = time.Second

// errSlow means that a merge took longer than maxMergeCall.
var errSlow = errors.New("merge takes too long")

// errMerger means that the job has a merger, which only workers may call.
var errMerger = errors.New("job has a merger")

// merge queues a merge that the ledger requested.
func (t *Term) merge(m ledger.Merge) {
	j := t.active(m.Job)
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
		j.blobs.writers++
		t.spawn(func() func() {
			merged, took, err := t.mergePairs(j, pairs)
			failed := t.putMerged(j, merged)
			return func() {
				switch {
				case errors.Is(err, errSlow):
					t.log.Warn("A merge takes long, workers merge this job's partials from now on", "job", j.spec.ID, "limit", maxMergeCall)
					fallthrough
				case errors.Is(err, errMerger):
					t.giveUpMerges(j, pairs[len(merged):])
					pairs, err = pairs[:len(merged)], nil
				}
				t.merged(j, pairs, merged, took, cmp.Or(err, failed))
				j.blobs.writers--
				t.cleanUpEnded(j)
			}
		})
	})
}

// take removes the pairs for one task from the queue, when the given number of tasks share the
// queue.
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

// mergePairs merges the first pair, and then further pairs as long as they take little time and
// memory.
func (t *Term) mergePairs(j *activeJob, pairs []pair) ([]nodePartial, []time.Duration, error) {
	operands, err := t.readPairs(j.id, pairs)
	if err != nil {
		return nil, nil, err
	}
	merged, took := make([]nodePartial, len(operands)), make([]time.Duration, len(operands))
	var done atomic.Int64 // number of merges that have returned; the code may continue after Guard has returned
	var failed error
	// One call of Guard covers all pairs, because a goroutine for each pair would cost more than a
	// small merge.
	returned := t.env.Guard(maxMergeCall, func() {
		if j.job.Engine().HasMerger(j.spec.Params) { // HasMerger is code of the job, so only Guard may call it
			failed = errMerger
			return
		}
		first := t.env.Now()
		for i, o := range operands {
			began := t.env.Now()
			data, err := j.job.Engine().Merge(t.ctx, j.spec.Params, engine.Operand{Data: o[0]}, engine.Operand{Data: o[1]})
			if err != nil {
				failed = &jobFault{err}
				return
			}
			merged[i], took[i] = nodePartial{node: pairs[i].parent, partial: partial{data: data, job: j.id}}, t.since(began)
			done.Add(1)
			if len(data) > maxInMemory || t.since(first) >= maxMergeTime || j.ending.Load() {
				return
			}
		}
	})
	n := done.Load()
	if !returned {
		return merged[:n], took[:n], errSlow
	}
	return merged[:n], took[:n], failed
}

// readPairs reads the operands of the pairs that are in memory, up to the first pair in storage,
// and at least the operands of one pair.
func (t *Term) readPairs(job string, pairs []pair) ([][2][]byte, error) {
	operands := make([][2][]byte, 0, len(pairs))
	for i, p := range pairs {
		if i > 0 && (p.left.stored() || p.right.stored()) {
			break
		}
		left, err := t.readOperand(job, p.left)
		if err != nil {
			return nil, err
		}
		right, err := t.readOperand(job, p.right)
		if err != nil {
			return nil, err
		}
		operands = append(operands, [2][]byte{left, right})
	}
	return operands, nil
}

// giveUpMerges tells the ledger that the leader will not merge the given pairs or any queued pair
// of the job.
func (t *Term) giveUpMerges(j *activeJob, pairs []pair) {
	pairs = append(pairs, j.merges.pairs...)
	j.merges.pairs = nil
	for _, p := range pairs {
		j.blobs.gc.release(p.left.blob)
		j.blobs.gc.release(p.right.blob)
		t.step(ledger.MergeSlow{Job: j.id, Node: p.parent})
	}
}

// merged handles the outcome of mergePairs: it reports the merged pairs to the ledger and queues
// the other pairs again. The large results are in blobs.
func (t *Term) merged(j *activeJob, pairs []pair, merged []nodePartial, took []time.Duration, failed error) {
	j.merges.pairs = append(j.merges.pairs, pairs[len(merged):]...)
	for i, m := range merged {
		t.cfg.Observe(MergeDone{took[i]})
		j.blobs.exist = j.blobs.exist || m.written
		j.blobs.gc.release(pairs[i].left.blob)
		j.blobs.gc.release(pairs[i].right.blob)
		if failed == nil {
			t.step(ledger.Merged{Job: j.id, FinishedNode: ledger.FinishedNode{Node: m.node, Ref: t.partials.add(m.partial), Size: len(m.data), Large: m.blob != ""}})
		}
	}
	if failed != nil {
		t.failJob(j, failed)
	}
	t.mergesDone(j)
	t.startMerges(j)
}
