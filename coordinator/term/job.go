package term

import (
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// jobTable contains the jobs of the term, by ID. A job is in at most one of the maps, except that a
// job in parked or cleaning may also be in pending.
type jobTable struct {
	active      map[string]*activeJob
	pending     map[string]*pendingJob
	parked      map[string]parkedJob
	cleaning    map[string]*store.Submission // jobs that have ended and are being cleaned up; the value is a later delivery of the submission, or nil
	withdrawing int                          // number of pending jobs that are being cancelled
	assessed    int                          // number of pending jobs whose priority is being read from storage
	waiting     []waitingJob                 // pending jobs that wait for the end of active jobs, in the order in which they will begin
	named       []store.Submission           // jobs that clients have named and that the leader has not looked at: see Submitted
}

func newJobTable() jobTable {
	return jobTable{
		active: map[string]*activeJob{}, pending: map[string]*pendingJob{}, parked: map[string]parkedJob{}, cleaning: map[string]*store.Submission{},
	}
}

// activeJob is a job that this leader works on.
type activeJob struct {
	id   string // ID by which the ledger and workers know the job, and the names of its partials: see engine.RoundID
	spec store.Spec
	job  jobs.Job    // definition of the job; zero if the leader's program does not have it
	tree engine.Tree // tree of the job; zero until the job is planned
	plan ledger.Plan

	submission *store.Submission // submission of the job; nil if this leader has not received it
	cancels    []func(error)     // functions that answer cancellations at the job's end
	cancelled  atomic.Bool       // true if a cancellation has not been answered

	manifest manifestState
	blobs    blobState
	merges   mergeState
	largest  uint64 // size in bytes of the job's largest known partial

	ending atomic.Bool // true if the job's end is decided, so that no more blobs are written
	ended  bool        // the job's end is durable, or the end of the round

	began      bool      // this leader has begun the current round, and has not resumed it
	continued  bool      // the round has ended, and the next one has begun
	roundBegan time.Time // time at which this leader has begun or resumed the round

	throttle logThrottle
}

// manifestState describes a job's manifest in storage, and the write of the manifest in flight.
type manifestState struct {
	last    store.Manifest // the manifest that this leader wrote or read last
	version store.Version
	writes  limiter // allows only one write of the manifest at a time

	durable    []engine.Span // spans of last.Nodes, with neighbouring spans joined, for maps: see durableSpans
	durableFor uint64        // value of last.Sequence for which durable was computed

	writtenAt       time.Time // time at which this leader last wrote the manifest
	checkpointSince time.Time // when the checkpoint in flight was requested; zero if none is in flight
}

// blobState describes the blobs of a job's partials.
type blobState struct {
	exist   bool // true if a blob may exist
	writers int  // number of merge tasks and checkpoints that may write blobs of the job
	gc      blobGC
}

// mergeState contains the merges of a job that the ledger has requested and that are not done.
type mergeState struct {
	pairs []pair
	tasks int // number of tasks that merge, or that wait for the limiter of merges
}

func (t *Term) newActiveJob(spec store.Spec) *activeJob {
	j := &activeJob{id: spec.ID, spec: spec, job: t.kinds[kindOf(spec)]}
	j.manifest.writes.limit = 1
	return j
}

func kindOf(s store.Spec) wire.JobKind { return wire.JobKind{Name: s.Job, Version: s.Version} }

// pendingJob is a job whose manifest a task may write, to begin, to resume or to cancel the job.
// Each pending job has at most one such task, and an active job has none. The task that writes a
// manifest therefore knows the previous manifest, and can recognize its own write by the epoch and
// the sequence number.
type pendingJob struct {
	withdrawing bool              // true if the job is being cancelled instead of begun
	waiting     bool              // true if the job waits for the end of active jobs, so that no task works on it
	reported    bool              // true if a worker has reported the job, so that the ledger must be told the job's state
	submission  *store.Submission // submission of the job; nil if this leader has not received it
	cancels     []func(error)     // functions that answer cancellations of the job
}

func (t *Term) addPending(id string, p *pendingJob) *pendingJob {
	t.jobs.pending[id] = p
	return p
}

// submissions returns the submissions of active and pending jobs, in the order of
// their jobs' IDs.
func (t *Term) submissions() []*store.Submission {
	var list []*store.Submission
	for _, j := range t.jobs.active {
		if j.submission != nil {
			list = append(list, j.submission)
		}
	}
	for _, p := range t.jobs.pending {
		if p.submission != nil {
			list = append(list, p.submission)
		}
	}
	slices.SortFunc(list, func(a, b *store.Submission) int { return strings.Compare(a.ID, b.ID) })
	return list
}

// extendSubmissions keeps the submissions of active and pending jobs hidden in the queue. A
// submission that could not be extended is delivered again, which is harmless.
func (t *Term) extendSubmissions() {
	if t.ledger == nil || t.limits.extensions.running > 0 || t.since(t.times.extensions) < t.cfg.ExtendEvery {
		return
	}
	t.times.extensions = t.env.Now()
	for _, s := range t.submissions() {
		t.limits.extensions.acquire(func() {
			t.spawn(func() func() {
				if err := s.Extend(t.ctx); err != nil && t.ctx.Err() == nil {
					t.log.Warn("Could not extend a submission", "job", s.ID, "error", err)
				}
				return t.limits.extensions.release
			})
		})
	}
}
