package term

import (
	"time"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/jobs"
)

// pair is a merge to be performed, of the partials of two siblings.
type pair struct {
	parent      jobs.Node
	left, right partial
}

// A task merges several pairs, or else merges that take no time would wait for
// their turns on the loop, one after the other.
const (
	mergeFor  = time.Millisecond // after that the rest waits for another turn
	mergeMost = 256
)

// merge has a merge performed.
func (t *Term) merge(m ledger.Merge) {
	j := t.jobs[m.Job]
	p := pair{m.Node, t.use(m.Left), t.use(m.Right)}
	j.spares.use(p.left.blob)
	j.spares.use(p.right.blob)
	j.pairs = append(j.pairs, p)
	t.mergeWaiting(j)
}

// mergeWaiting begins to merge a job's pairs, where some wait and not as many as may
// be do so already.
func (t *Term) mergeWaiting(j *activeJob) {
	if len(j.pairs) == 0 || j.mergers == t.cfg.MaxMerging {
		return
	}
	j.mergers++
	t.merging.enter(func() {
		pairs := j.takePairs(t.cfg.MaxMerging)
		if len(pairs) == 0 || j.ending.Load() {
			t.mergerLeaves(j)
			return
		}
		t.spawn(func() func() {
			merged, took, err := t.mergePairs(j, pairs)
			return func() { t.takeMerged(j, pairs, merged, took, err) }
		})
	})
}

// takePairs takes the share of one merger of so many.
func (j *activeJob) takePairs(mergers int) []pair {
	n := min((len(j.pairs)+mergers-1)/mergers, mergeMost)
	pairs := j.pairs[:n:n]
	j.pairs = j.pairs[n:]
	return pairs
}

func (t *Term) mergerLeaves(j *activeJob) {
	j.mergers--
	t.merging.leave()
}

// mergePairs merges pairs one after the other: the first, and as many more as take
// little time and memory. It is called from tasks.
func (t *Term) mergePairs(j *activeJob, pairs []pair) (merged []placed, took []time.Duration, err error) {
	began := t.env.Now()
	for _, p := range pairs {
		data, d, err := t.mergeTwo(j, p)
		if err != nil {
			return merged, took, err
		}
		merged = append(merged, placed{p.parent, partial{data: data, job: j.spec.ID}})
		took = append(took, d)
		if len(data) > inMemory || t.since(began) >= mergeFor || j.ending.Load() {
			break
		}
	}
	return merged, took, nil
}

// mergeTwo is called from tasks.
func (t *Term) mergeTwo(j *activeJob, p pair) (data []byte, took time.Duration, err error) {
	a, err := t.load(j.spec.ID, p.left)
	if err != nil {
		return nil, 0, err
	}
	b, err := t.load(j.spec.ID, p.right)
	if err != nil {
		return nil, 0, err
	}
	began := t.env.Now()
	data, err = j.job.Merge(a, b)
	return data, t.since(began), err
}

// takeMerged takes the first of the pairs as merged and puts the others back. The
// merger's place is taken until what is large is in a blob.
func (t *Term) takeMerged(j *activeJob, pairs []pair, merged []placed, took []time.Duration, failed error) {
	j.pairs = append(j.pairs, pairs[len(merged):]...)
	t.unload(j, merged, inMemory, func(err error) {
		if failed == nil {
			failed = err
		}
		for i, m := range merged {
			t.cfg.Observe(MergeDone{took[i]})
			j.spares.release(pairs[i].left.blob)
			j.spares.release(pairs[i].right.blob)
			if failed == nil {
				t.step(ledger.Merged{Job: j.spec.ID, Node: m.node, Ref: t.newRef(m.partial)})
			}
		}
		if failed != nil {
			t.step(ledger.MergeFailed{Job: j.spec.ID, Error: failed.Error()})
		}
		t.mergerLeaves(j)
		t.mergeWaiting(j)
	})
}
