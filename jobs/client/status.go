package client

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// State is the state of a job.
type State = store.State

// The states Completed, Failed and Cancelled are final.
const (
	Queued    = store.Queued
	Running   = store.Running
	Completed = store.Completed
	Failed    = store.Failed
	Cancelled = store.Cancelled
)

// Spec describes a job as it was submitted.
type Spec = store.Spec

// ErrorText is an error of failed attempts to run partitions.
type ErrorText = store.ErrorText

// Durations describes how long partitions took.
type Durations = engine.Durations

// Estimated is an estimate of a job's result from its first partitions.
type Estimated = jobs.Estimated

// Stopped describes the end of a job whose result comes from its first partitions.
type Stopped = jobs.Stopped

// Status is the state of a job at one moment. The JSON of a Status has no durations and no live
// figures: a program that prints them chooses their units.
type Status struct {
	Spec
	State      State     `json:"state"`
	Partitions uint64    `json:"partitions"`          // number of partitions; 0 until the job is planned
	Done       uint64    `json:"done"`                // number of finished partitions
	MergesLeft uint64    `json:"merges_left"`         // number of merges that remain after all partitions are done; 0 until then
	Executed   uint64    `json:"executed"`            // number of reported executions of partitions, including repeated executions
	Repeated   uint64    `json:"repeated"`            // number of repeated executions of partitions
	Inherited  uint64    `json:"inherited,omitempty"` // number of partitions that the job has kept from the job that it retries; they count as executed
	Reuse      *Reuse    `json:"reuse,omitempty"`     // nil unless the job was to reuse partials; known when the job is planned
	Skipped    []uint64  `json:"skipped"`             // partitions omitted from the result, sorted; cut at a thousand if Live is not nil or the status is from a list of jobs
	Epochs     []uint64  `json:"epochs"`              // epochs of the leaders that ran the job, ascending
	Builds     []string  `json:"builds"`              // builds of the workers that computed parts of the result, sorted
	Error      string    `json:"error"`               // reason why the job failed; the stack of a panic follows the first line
	SHA256     string    `json:"sha256"`              // SHA-256 of the result, in hexadecimal
	Started    time.Time `json:"started"`
	Finished   time.Time `json:"finished"`

	// Completable is true if the job has completed with skipped partitions, and [Client.Retry] computes only these.
	Completable bool `json:"completable,omitempty"`

	// SlotSeconds is the time for which partitions of the job have occupied slots of workers, in seconds, and
	// LostSeconds the part of it whose work was lost with a worker, repeated, or failed. Calls of Plan, Merge and Finish
	// are not counted. Both are 0 for jobs of earlier versions.
	SlotSeconds float64 `json:"slot_seconds"`
	LostSeconds float64 `json:"lost_seconds"`

	// Errors contains the most frequent errors of failed attempts to run partitions, the most frequent first.
	// OtherErrors is the number of failed attempts with other errors. Errors and OtherErrors come from the last
	// checkpoint.
	Errors      []ErrorText `json:"errors"`
	OtherErrors uint64      `json:"other_errors"`

	// SkipReasons are the reasons why partitions were skipped, sorted by partition. Large reasons are shortened,
	// and if there are many, not all partitions have one. In a list of jobs the reasons are missing.
	SkipReasons []ErrorText `json:"skip_reasons,omitempty"`

	// Durations tell how long partitions took, according to the last checkpoint; nil if nothing was measured yet, and in a
	// list of jobs.
	Durations *Durations `json:"durations,omitempty"`

	// Estimates contains the estimates so far, in the order of their partitions; only the last one if the status
	// is from a list of jobs. Stopped is set if a prefix of the partitions suffices.
	Estimates []Estimated `json:"estimates"`
	Stopped   *Stopped    `json:"stopped"`

	// Round is the number of the round that runs or was the last one, from 1; 0 for a job without rounds, and until the state of
	// round 1 is computed. Done and Partitions belong to this round, Executed to all rounds. FinishedRounds contains the last
	// finished rounds, at most a few hundred; none if the status is from a list of jobs.
	Round          uint64         `json:"round,omitempty"`
	FinishedRounds []jobs.Rounded `json:"finished_rounds,omitempty"`
	TimeUp         bool           `json:"time_up,omitempty"` // the result is that of Round, because the time of SubmitOptions.StopAfter was up

	// Epoch is the epoch of the leader that answered, or 0 if no leader answered.
	Epoch uint64 `json:"epoch"`
	// Live contains the figures that only the leader knows. If Live is nil, all figures come from the last
	// checkpoint.
	Live *Live `json:"-"`
}

// Reuse describes what a job has reused of earlier jobs.
type Reuse struct {
	Partitions   uint64   `json:"partitions"`    // number of partitions that were not computed; they do not count as executed
	SavedSeconds float64  `json:"saved_seconds"` // time that earlier jobs have needed to compute them, on one slot
	From         []string `json:"from"`          // jobs that have kept what was reused
	Lost         uint64   `json:"lost"`          // number of packs of kept partials that were missing or damaged, whose partitions were computed again
}

func newReuse(r *store.Reused) *Reuse {
	if r == nil {
		return nil
	}
	return &Reuse{r.Partitions, r.Work.Seconds(), append([]string{}, r.From...), r.Lost}
}

// computed returns how many executions of partitions remain without the reused partitions.
func (r *Reuse) computed(executed uint64) uint64 {
	if r == nil {
		return executed
	}
	return executed - min(executed, r.Partitions)
}

// Live is the part of a status that only the leader knows.
type Live struct {
	Workers int     `json:"workers"` // number of workers that hold spans of the job
	Rate    float64 `json:"rate"`    // partitions per second, averaged over the last few seconds
	Trouble string  `json:"trouble"` // the reason why the job does not advance, or the last failure

	// The fields from Unreported on are zero for jobs with small partial results. Large partial
	// results stay with the workers that computed them.
	Unreported  uint64  `json:"-"`            // number of partitions that are computed but are not yet contained in Done
	HeldBytes   uint64  `json:"held_bytes"`   // bytes of partial results that workers hold
	MergedBytes uint64  `json:"merged_bytes"` // bytes of results of merges by workers since the current leader's term began
	MergeRate   float64 `json:"merge_rate"`   // bytes of results of merges per second, averaged over the last seconds
	MergeLeft   uint64  `json:"-"`            // estimate of the bytes of the results of remaining merges; 0 until all partitions are done
	Merges      []Merge `json:"merges"`       // merges that are running, at most twenty
}

// Merge is a merge of large partial results that runs on a worker.
type Merge struct {
	Node   string        `json:"node"` // position of the node in the aggregation tree: level/index
	Worker string        `json:"worker"`
	Bytes  uint64        `json:"bytes"` // size of the operands that workers hold, in bytes
	For    time.Duration `json:"-"`     // time since the merge began
}

// Stage is the current step of a running job.
type Stage string

// A job that is not running has no stage.
const (
	Planning  Stage = "planning"  // a worker computes the plan, and the number of partitions is unknown
	Mapping   Stage = "mapping"   // workers run the job's partitions, and their results are merged
	Merging   Stage = "merging"   // all partitions are done, and Status.MergesLeft merges are left
	Finishing Stage = "finishing" // all partials are merged, and the result is computed and written
)

// Stage returns the stage of a running job, and an empty Stage for any other job.
func (s Status) Stage() Stage {
	switch {
	case s.State != Running:
		return ""
	case s.Partitions == 0:
		return Planning
	case s.Done < s.Needed():
		return Mapping
	case s.MergesLeft > 0:
		return Merging
	}
	return Finishing
}

// Needed returns the number of partitions that the job needs: all, or those of the prefix that suffices.
func (s Status) Needed() uint64 {
	if s.Stopped != nil {
		return s.Stopped.At
	}
	return s.Partitions
}

// MixedBuilds reports whether workers of different builds computed the job. Builds differ if they
// were compiled for different architectures, for different levels of one architecture (such as
// GOAMD64), or by different versions of Go. If builds are mixed, the last bits of floats may differ
// between runs.
func (s Status) MixedBuilds() bool { return len(s.Builds) > 1 }

// Err returns nil if the job completed. If the job did not complete, Err returns a *[JobError] that wraps
// [ErrFailed], [ErrCancelled] or [ErrNotEnded].
func (s Status) Err() error {
	err := &JobError{ID: s.ID, State: s.State, Message: s.Error, Err: ErrNotEnded}
	switch s.State {
	case Completed:
		return nil
	case Cancelled:
		err.Err = ErrCancelled
	case Failed:
		err.Err = ErrFailed
	}
	return err
}

// Remaining returns the time that the rest of the partitions takes at the job's current rate. For a
// job with large partial results whose partitions are all done, Remaining returns the time that the
// rest of the merges takes. Remaining returns false if the time is not known.
func (s Status) Remaining() (time.Duration, bool) {
	switch {
	case s.Live == nil:
		return 0, false
	case s.Stage() == Merging:
		return Remaining(0, s.Live.MergeLeft, s.Live.MergeRate)
	case s.Stage() != Mapping:
		return 0, false
	}
	return Remaining(s.Done+s.Live.Unreported, s.Needed(), s.Live.Rate)
}

// Remaining estimates the time until all partitions are done, at a rate in partitions per second.
// Remaining returns false if the rate is unknown or too low for an estimate.
func Remaining(done, partitions uint64, rate float64) (time.Duration, bool) {
	if rate <= 0 || partitions == 0 {
		return 0, false
	}
	seconds := float64(partitions-min(done, partitions)) / rate
	const most = 1000 * time.Hour // a higher estimate would be meaningless
	if seconds > most.Seconds() {
		return 0, false
	}
	return time.Duration(seconds * float64(time.Second)), true
}

// newStatus combines a job's records with the leader's answer, which is nil if no leader answered.
func newStatus(r record, live *wire.Jobs) Status {
	m := r.manifest
	s := Status{
		Spec: r.spec, State: m.State, Partitions: m.Partitions, Done: r.done(), Executed: m.Executed, Repeated: r.repeated(), Inherited: m.Inherited,
		Skipped: m.Skipped, Epochs: m.Epochs, Builds: m.Builds, Error: m.Error, SHA256: m.SHA256, Started: m.Started, Finished: m.Finished,
		Errors: m.Errors, OtherErrors: m.OtherErrors, SkipReasons: m.SkipReasons, Estimates: m.Judged, Stopped: m.Stopped,
	}
	s.Completable = r.completable()
	s.SlotSeconds, s.LostSeconds = m.SlotSeconds, m.LostSeconds
	if len(m.Durations.Counts) > 0 {
		s.Durations = &m.Durations
	}
	if m.Rounds != nil {
		s.Round, s.FinishedRounds, s.TimeUp = m.Rounds.Counted(), m.Rounds.Finished, m.Rounds.TimeUp
	}
	s.Reuse = newReuse(m.Reused)
	s.Executed = s.Reuse.computed(m.Executed)
	if s.State == Running && s.Done == s.Partitions {
		s.MergesLeft = r.mergesLeft()
	}
	if live == nil {
		return s
	}
	s.Epoch = live.Epoch
	i := slices.IndexFunc(live.Jobs, func(p wire.JobProgress) bool { return p.Job == s.ID })
	if i < 0 || m.State.Final() {
		return s
	}
	s.setLive(live.Jobs[i])
	return s
}

// StatusOf returns a status that contains only a leader's answer about a job, as [Client.Map]
// returns it, without the stored records of the job.
func StatusOf(p Progress) Status {
	s := Status{Spec: Spec{ID: p.Job}}
	s.setLive(p)
	return s
}

// setLive replaces the stored figures with those of a leader's answer.
func (s *Status) setLive(p Progress) {
	s.State, s.Partitions, s.Done, s.Executed, s.Skipped = State(p.State), p.Partitions, p.Done, s.Reuse.computed(p.Executed), p.Skipped
	s.MergesLeft, s.Estimates, s.Stopped, s.Round = p.MergesLeft, p.Estimates, p.Stopped, p.Round
	s.SlotSeconds, s.LostSeconds = p.SlotSeconds, p.LostSeconds
	s.Live = &Live{
		Workers: p.Workers, Rate: p.Rate, Trouble: p.Trouble,
		Unreported: p.Unreported, HeldBytes: p.HeldBytes, MergedBytes: p.MergedBytes, MergeRate: p.MergeRate, MergeLeft: p.MergeLeft,
	}
	for _, m := range p.Merging {
		s.Live.Merges = append(s.Live.Merges, Merge{Node: m.Node.String(), Worker: m.Worker, Bytes: m.Bytes, For: m.For})
	}
	if p.HeldBytes > 0 { // the checkpoint does not contain held partials, so use the leader's figures
		s.Repeated = p.Executed - min(p.Executed, p.Earlier+p.Done-min(p.Done, uint64(len(p.Skipped))))
	}
}

func (r record) done() uint64 {
	m := r.manifest
	if m.State == Completed || m.Rounds != nil && m.Rounds.Last {
		return m.Needed()
	}
	if n := len(m.Samples); m.State.Final() && n > 0 {
		return m.Samples[n-1].Done - min(m.Samples[n-1].Done, m.Earlier()) // the final manifest may contain fewer nodes
	}
	tree, err := engine.NewTree(r.manifest.Partitions)
	if err != nil {
		return 0 // the job is not planned yet
	}
	var n uint64
	for _, stored := range r.manifest.Nodes {
		n += tree.Span(stored.Node).Len()
	}
	return n
}

// mergesLeft returns the merges that remain after all partitions are done, according to the checkpoint.
func (r record) mergesLeft() (n uint64) {
	for _, stored := range r.manifest.Nodes {
		if !stored.Empty {
			n++
		}
	}
	return max(n, 1) - 1
}

// repeated returns the number of repeated executions of partitions. For a job that failed or was cancelled,
// repeated returns the minimum, because partitions may have been done after the last checkpoint.
func (r record) repeated() uint64 {
	m := r.manifest
	once := r.done() - min(r.done(), uint64(len(m.Skipped)))
	if m.State.Final() && m.State != Completed {
		once = m.Partitions
	}
	return m.Executed - min(m.Executed, m.Earlier()+once)
}

// Status returns the status of a job. Status works without a leader. If the job has not ended and the leader
// uses another storage than the client, Status fails with [ErrOtherStorage], because that leader will never run
// the job.
func (c *Client) Status(ctx context.Context, id string) (Status, error) {
	s, err := c.open(ctx)
	if err != nil {
		return Status{}, err
	}
	live, err := c.live(ctx, id) // if storage were read first, a job that ends in between would be reported as running
	if err != nil && !errors.Is(err, ErrOtherStorage) {
		return Status{}, err
	}
	r, readErr := c.record(ctx, s, id)
	switch {
	case readErr != nil:
		return Status{}, readErr
	case err != nil && !r.manifest.State.Final():
		return Status{}, err
	}
	return newStatus(r, live), nil
}

// live asks the leader for an active job, or for all if id is empty. It returns nil if no leader answers.
func (c *Client) live(ctx context.Context, id string) (*wire.Jobs, error) {
	answer, err := ask[wire.Jobs](ctx, c, wire.AskJobs, wire.Encode(wire.JobQuery{Job: id}), liveTimeout)
	switch {
	case errors.Is(err, ErrNoLeader):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &answer, nil
}

// Progress is the progress of an active job, as the leader reports it.
type Progress = wire.JobProgress

// Progress asks the leader once for the progress of a job. Progress fails with [ErrNoLeader] if no
// leader answers, and with [ErrNotFound] if the job is not among the leader's active jobs.
func (c *Client) Progress(ctx context.Context, id string) (Progress, error) {
	progress, _, err := c.askJob(ctx, wire.JobQuery{Job: id}, askTimeout)
	return progress, err
}

func (c *Client) askJob(ctx context.Context, query wire.JobQuery, timeout time.Duration) (Progress, *JobMap, error) {
	answer, err := ask[wire.Jobs](ctx, c, wire.AskJobs, wire.Encode(query), timeout)
	switch {
	case err != nil:
		return Progress{}, nil, err
	case len(answer.Jobs) != 1:
		return Progress{}, nil, errorf(ErrNotFound, "job %s is not active", query.Job)
	}
	return answer.Jobs[0], answer.Map, nil
}

// List returns the statuses of all jobs, oldest first, and separately the jobs that cannot be read.
// List works without a leader. For thousands of jobs [Client.Each] needs less memory, because a
// status may take many kilobytes.
func (c *Client) List(ctx context.Context) ([]Status, []DamagedJob, error) {
	var list []Status
	damaged, err := c.Each(ctx, func(s Status) error {
		list = append(list, s)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return list, damaged, nil
}

// Each calls visit with the status of each job, oldest first, and then returns the jobs that cannot be read.
// Each stops at the first error of visit and returns that error. Each works without a leader.
// If there is no job, Each fails with [ErrUnused] if no worker has used the cluster.
func (c *Client) Each(ctx context.Context, visit func(Status) error) ([]DamagedJob, error) {
	s, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	live, err := c.live(ctx, "")
	if err != nil && !errors.Is(err, ErrOtherStorage) { // a leader on another storage does not know these jobs
		return nil, err
	}
	ids, err := c.ids(ctx, s)
	switch {
	case err != nil:
		return nil, err
	case len(ids) == 0 && c.Unused(ctx):
		return nil, c.errUnused()
	}
	return readJobs(ctx, c, s, ids, func(r record) Status {
		status := newStatus(r, live)
		status.SkipReasons = nil
		if len(status.Skipped) > wire.MaxSkipped {
			status.Skipped = slices.Clone(status.Skipped[:wire.MaxSkipped]) // the full list may take megabytes
		}
		status.FinishedRounds = nil
		status.Estimates = status.Estimates[max(0, len(status.Estimates)-1):]
		return status
	}, visit)
}

// IDs returns the IDs of all jobs, oldest first.
func (c *Client) IDs(ctx context.Context) ([]string, error) {
	s, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	return c.ids(ctx, s)
}

func (c *Client) ids(ctx context.Context, s *store.Store) ([]string, error) {
	ids, err := s.Jobs(ctx)
	if err != nil {
		return nil, c.explain(fmt.Errorf("list jobs: %w", err))
	}
	return ids, nil
}

var prefixForm = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)

// Find returns the ID of the job whose ID begins with prefix. Find fails with [ErrNotFound] if no
// job matches, and with [ErrAmbiguous] if several jobs match.
func (c *Client) Find(ctx context.Context, prefix string) (string, error) {
	if !prefixForm.MatchString(prefix) {
		return "", errorf(ErrNotFound, "%q is not the ID of a job", prefix)
	}
	ids, err := c.IDs(ctx)
	if err != nil {
		return "", err
	}
	if slices.Contains(ids, prefix) {
		return prefix, nil
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return !strings.HasPrefix(id, prefix) })
	switch len(ids) {
	case 0:
		return "", c.errNoJob(prefix)
	case 1:
		return ids[0], nil
	}
	return "", errorf(ErrAmbiguous, "%s is the beginning of %d jobs' IDs: %s", prefix, len(ids), strings.Join(ids[:min(len(ids), 5)], ", "))
}

// errNoJob returns the error for a job that is not in storage. Only a cluster makes a complete ID, so
// for such an ID the error says why the job may be missing.
func (c *Client) errNoJob(id string) error {
	why := ""
	if store.ValidID(id) {
		why = fmt.Sprintf(", which was submitted at %s: it was removed, or to another cluster, or storage has lost it", store.TimeOf(id).UTC().Format(time.DateTime+" MST"))
	}
	return errorf(ErrNotFound, "cluster %s has no job %s%s", c.cfg.Cluster.Name, id, why)
}
