package term

import (
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// activeJob is a job that this leader works on.
type activeJob struct {
	spec store.Spec
	job  jobs.Job
	tree jobs.Tree

	submission *store.Submission // nil where this leader did not receive it
	waiting    []func(error)     // who waits for the job's end, after cancelling it
	hasRoom    bool              // it has a place among the active ones

	manifest store.Manifest // as it was written last
	version  store.Version
	writing  room      // for one write of the manifest at a time
	saving   time.Time // since when a checkpoint is under way; zero without one

	blobs     bool        // some partial is in a blob, or on its way
	unloading int         // how many tasks write blobs
	ending    atomic.Bool // no more blobs are written
	over      bool        // its end is durable

	pairs   []pair // to be merged
	mergers int    // that merge some of them, or wait for their turn

	spares   spares
	dropping room // for spare blobs that are being removed

	notes noteCount
}

func newActiveJob(spec store.Spec, job jobs.Job) *activeJob {
	return &activeJob{spec: spec, job: job, writing: room{most: 1}, dropping: room{most: inParallelDrops}}
}

// submissions are those of active and pending jobs, in order of their jobs.
func (t *Term) submissions() []*store.Submission {
	var list []*store.Submission
	for _, j := range t.jobs {
		if j.submission != nil {
			list = append(list, j.submission)
		}
	}
	for _, p := range t.pending {
		if p.submission != nil {
			list = append(list, p.submission)
		}
	}
	slices.SortFunc(list, func(a, b *store.Submission) int { return strings.Compare(a.ID, b.ID) })
	return list
}
