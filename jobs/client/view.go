package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// The methods in this file are for programs that show a cluster continuously. The size of the methods' answers
// is bounded for any number of workers and jobs. If there is no leader, the methods fail at once.

// Totals contains the leader's figures for the whole cluster.
type Totals = wire.Totals

// WorkersAfter returns workers whose IDs are greater than after, up to limit and at most
// wire.MaxQueried. The answer includes what the workers run, and the figures for the cluster. The
// field Totals of the answer is nil if the leader runs an earlier version of Bellwether.
func (c *Client) WorkersAfter(ctx context.Context, after string, limit int) (Workers, error) {
	return ask[wire.Workers](ctx, c, wire.AskWorkers, wire.Encode(wire.WorkerQuery{After: after, Limit: limit}), liveTimeout)
}

// Window is a range of partitions for which [Client.Map] returns a map.
type Window = wire.Window

// JobMap lists which partitions of a job are done, and which workers hold the remaining partitions.
type JobMap = wire.JobMap

// Map asks the leader which partitions of an active job are done, and which workers hold the
// remaining partitions. Map fails with [ErrNotFound] if the job is not among the leader's active
// jobs. The map is nil if the job is not planned, or if the leader runs an earlier version of
// Bellwether.
func (c *Client) Map(ctx context.Context, id string, windows ...Window) (Progress, *JobMap, error) {
	return c.askJob(ctx, wire.JobQuery{Job: id, Windows: windows, Recent: true}, liveTimeout)
}

// LatestTerms returns the records of up to limit terms before an epoch, newest first, and reports
// whether there may be earlier terms. If the epoch is 0, LatestTerms begins with the newest term.
func (c *Client) LatestTerms(ctx context.Context, before uint64, limit int) (terms []Term, more bool, err error) {
	s, err := c.open(ctx)
	if err != nil {
		return nil, false, err
	}
	terms, more, err = s.LatestTerms(ctx, before, limit)
	if err != nil {
		return nil, false, c.explain(fmt.Errorf("read the history: %w", err))
	}
	return terms, more, nil
}

// Sample is the progress of a job at one checkpoint.
type Sample = store.Sample

// Life describes the progress of a job from its beginning to its last checkpoint.
type Life struct {
	Samples    []Sample
	Partitions uint64
	Started    time.Time   // time when a leader began the job; zero if no leader has begun it
	Estimates  []Estimated // estimates of the judged prefixes, in order
	Stopped    *Stopped    // set if a prefix of the partitions suffices
	Retried    []jobs.Span // partitions that ran again after a failure or the death of a worker; may include neighbouring partitions
}

// Life reads the Life of a job from the job's last checkpoint.
func (c *Client) Life(ctx context.Context, id string) (Life, error) {
	s, err := c.open(ctx)
	if err != nil {
		return Life{}, err
	}
	m, _, err := s.Manifest(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return Life{}, nil
	case err != nil:
		return Life{}, c.explain(fmt.Errorf("read the checkpoint of job %s: %w", id, err))
	}
	return Life{m.Samples, m.Partitions, m.Started, m.Judged, m.Stopped, m.Retried}, nil
}

// Summary describes a job in a list of jobs.
type Summary struct {
	ID, Job, Version string
	Name             string            // the name that the submitter has given
	Labels           map[string]string // the labels that the submitter has given
	Retries          string            // ID of the failed job that this job retries; empty for other jobs
	Priority         int
	State            State // state of the job; empty if the job's records are damaged
	Partitions, Done uint64
	Needed           uint64 // number of partitions that the job needs: all, or those of the prefix that suffices
	MergesLeft       uint64
	Rate             float64 // partitions per second; 0 if no leader answered
	Trouble          string  // reason why the job does not advance, or why it failed
	Submitted        time.Time
	Started          time.Time // time when a leader began the job; zero if unknown
	Finished         time.Time
}

// Show selects the jobs in a list.
type Show string

const (
	ShowAll    Show = "all"
	ShowActive Show = "active" // jobs that have not ended
	ShowEnded  Show = "ended"
	ShowFailed Show = "failed"
)

// Query selects a page of the list of jobs.
type Query struct {
	Show   Show
	Find   string // only jobs of which the ID, kind, name, a label, state or trouble contains this text, in any case
	Before string // only jobs that were submitted before the job with this ID; empty: the newest jobs
	Limit  int    // maximum number of jobs in the page
}

// batch returns how many jobs are read before the next check whether the page is full. If not all jobs are selected, many
// are read to find one.
func (q Query) batch() int {
	if q.Find != "" || q.Show == ShowFailed {
		return summaryBatch
	}
	return max(1, min(q.Limit, summaryBatch))
}

// selects reports whether a job belongs to the list.
func (q Query) selects(j Summary) bool {
	switch {
	case q.Show == ShowActive && j.State.Final(), q.Show == ShowEnded && !j.State.Final(), q.Show == ShowFailed && j.State != Failed:
		return false
	case q.Find == "":
		return true
	}
	words := []string{j.ID, j.Job, j.Name, string(j.State), j.Trouble}
	for label, value := range j.Labels {
		words = append(words, label+"="+value)
	}
	return strings.Contains(strings.ToLower(strings.Join(words, "\n")), strings.ToLower(q.Find))
}

// Page is a part of the list of jobs, newest first.
type Page struct {
	Jobs   []Summary
	Next   string // value of the argument before for the next page; empty if there are no older jobs
	All    int    // total number of jobs
	Active int    // number of jobs in the index of active jobs
}

const (
	maxLook      = 500  // maximum number of jobs whose records are read for one page
	maxRemember  = 2000 // maximum number of ended jobs in the cache
	maxTrouble   = 300  // maximum length of Summary.Trouble in bytes
	youngIDs     = 200  // number of newest jobs that are always checked, because they may not be in the index of active jobs yet
	summaryBatch = 100  // number of jobs that are read before the next check whether the page is full
)

// Page returns a page of the list of jobs. Page works without a leader. Page reads a bounded number of records, so a
// page may have fewer jobs than Query.Limit although there are older jobs.
func (c *Client) Page(ctx context.Context, q Query) (Page, error) {
	s, err := c.open(ctx)
	if err != nil {
		return Page{}, err
	}
	live := c.recent(ctx)
	ids, err := c.ids(ctx, s)
	if err != nil {
		return Page{}, err
	}
	index, err := s.Active(ctx)
	if err != nil {
		return Page{}, c.explain(fmt.Errorf("list active jobs: %w", err))
	}
	page := Page{All: len(ids), Active: len(index)}
	active := make(map[string]bool, len(index))
	for _, id := range index {
		active[id] = true
	}
	young := ids[max(0, len(ids)-youngIDs):]
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		switch {
		case q.Before != "" && id >= q.Before:
			return true
		case q.Show == ShowActive:
			return !active[id] && !slices.Contains(young, id)
		}
		return false
	})
	slices.Reverse(ids)
	looked := 0
	for batch := range slices.Chunk(ids, q.batch()) {
		list, err := c.summaries(ctx, s, batch, live)
		if err != nil {
			return Page{}, err
		}
		for _, j := range list {
			if len(page.Jobs) == q.Limit {
				page.Next = page.Jobs[q.Limit-1].ID
				return page, nil
			}
			if q.selects(j) {
				page.Jobs = append(page.Jobs, j)
			}
		}
		looked += len(batch)
		if last := batch[len(batch)-1]; last != ids[len(ids)-1] && (len(page.Jobs) == q.Limit || looked >= maxLook) {
			page.Next = last
			return page, nil
		}
	}
	return page, nil
}

// recent asks the leader for its active jobs. The result is nil if no leader answers.
func (c *Client) recent(ctx context.Context) *wire.Jobs {
	answer, err := ask[wire.Jobs](ctx, c, wire.AskJobs, wire.Encode(wire.JobQuery{Recent: true}), liveTimeout)
	if err != nil {
		return nil
	}
	return &answer
}

// summaries reads jobs, and skips jobs that were removed.
func (c *Client) summaries(ctx context.Context, s *store.Store, ids []string, live *wire.Jobs) ([]Summary, error) {
	list := make([]Summary, len(ids))
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(maxParallel)
	for i, id := range ids {
		reads.Go(func() (err error) {
			list[i], err = c.summary(ctx, s, id, live)
			if errors.Is(err, ErrNotFound) {
				return nil
			}
			return err
		})
	}
	err := reads.Wait()
	return slices.DeleteFunc(list, func(j Summary) bool { return j.ID == "" }), err
}

// summary reads a job. Data that cannot change is cached.
func (c *Client) summary(ctx context.Context, s *store.Store, id string, live *wire.Jobs) (Summary, error) {
	j, known := c.known.get(id)
	if known && j.State.Final() {
		return j, nil
	}
	if !known {
		spec, err := s.Spec(ctx, id)
		switch {
		case errors.Is(err, ErrDamaged):
			return Summary{ID: id, Trouble: shorten(err.Error())}, nil
		case err != nil:
			return Summary{}, c.explain(fmt.Errorf("read job %s: %w", id, err))
		}
		j = Summary{ID: id, Job: spec.Job, Version: spec.Version, Name: spec.Name, Labels: spec.Labels, Retries: spec.Retries, Priority: spec.Priority, Submitted: spec.Submitted, State: Queued}
		c.known.put(j)
	}
	if live != nil {
		for _, p := range live.Jobs {
			if p.Job == id {
				j.State, j.Partitions, j.Done, j.MergesLeft, j.Rate, j.Trouble = State(p.State), p.Partitions, p.Done, p.MergesLeft, p.Rate, shorten(p.Trouble)
				j.Needed = Status{Partitions: p.Partitions, Stopped: p.Stopped}.Needed()
				return j, nil
			}
		}
	}
	m, err := c.manifest(ctx, s, id)
	switch {
	case errors.Is(err, ErrDamaged):
		j.State, j.Trouble = "", shorten(err.Error())
		return j, nil
	case err != nil:
		return Summary{}, err
	}
	r := record{manifest: m}
	j.State, j.Partitions, j.Needed, j.Done, j.MergesLeft = m.State, m.Partitions, m.Needed(), r.done(), 0
	j.Trouble, j.Started, j.Finished = shorten(m.Error), m.Started, m.Finished
	if m.State == Running && j.Done == j.Needed {
		j.MergesLeft = r.mergesLeft()
	}
	if j.State.Final() {
		c.known.put(j)
	}
	return j, nil
}

func shorten(text string) string { return text[:min(len(text), maxTrouble)] }

// knownJobs caches data that cannot change: the summaries of ended jobs, and the specs of other jobs.
type knownJobs struct {
	mu   sync.Mutex
	jobs map[string]Summary
}

func (k *knownJobs) get(id string) (Summary, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	j, ok := k.jobs[id]
	return j, ok
}

func (k *knownJobs) put(j Summary) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.jobs == nil || len(k.jobs) >= maxRemember {
		k.jobs = map[string]Summary{}
	}
	k.jobs[j.ID] = j
}
