package page

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// jobsAnswer is the answer to /api/v1/jobs.
type jobsAnswer struct {
	Jobs   []summaryAnswer `json:"jobs"`   // newest first
	Failed []summaryAnswer `json:"failed"` // jobs that failed in the last 24 hours and that no later job retries, the newest first, at most ten
	Next   string          `json:"next"`   // value of the parameter "before" for the next page; empty on the last page
	All    int             `json:"all"`    // total number of jobs
	Active int             `json:"active"`
}

// summaryAnswer is a job in a list.
type summaryAnswer struct {
	ID         string     `json:"id"`
	Job        string     `json:"job"`
	Name       string     `json:"name"`   // the name that the submitter has given
	Labels     labels     `json:"labels"` // the labels that the submitter has given; null if there are none
	Version    string     `json:"version"`
	State      string     `json:"state"` // queued, running, completed, failed or cancelled; damaged if the job's records cannot be read
	Priority   int        `json:"priority"`
	Partitions uint64     `json:"partitions"` // 0 until the job is planned
	Needed     uint64     `json:"needed"`     // number of partitions of the result: all, or those of the prefix that suffices
	Done       uint64     `json:"done"`
	MergesLeft uint64     `json:"merges_left"`
	Rate       float64    `json:"rate"`    // partitions per second
	Trouble    string     `json:"trouble"` // why the job waits or has failed, or its last failure
	Submitted  *time.Time `json:"submitted"`
	Started    *time.Time `json:"started"`
	Finished   *time.Time `json:"finished"`
}

type labels = map[string]string

// jobsAge is how long a list of jobs is cached.
const jobsAge = time.Second

func (p *Page) getJobs(ctx context.Context, c *client.Client, r *http.Request) (any, error) {
	limit, err := limitOf(r)
	if err != nil {
		return nil, err
	}
	return p.jobList(ctx, c, queryOf(r, limit))
}

// queryOf returns the part of the list of jobs for which a request asks.
func queryOf(r *http.Request, limit int) client.Query {
	return client.Query{Show: client.Show(r.FormValue("show")), Find: r.FormValue("find"), Before: r.FormValue("before"), Limit: limit}
}

// maxFind is the maximum length in bytes of the text that a search finds.
const maxFind = 200

func (p *Page) jobList(ctx context.Context, c *client.Client, q client.Query) (jobsAnswer, error) {
	switch q.Show {
	case "":
		q.Show = client.ShowAll
	case client.ShowAll, client.ShowActive, client.ShowEnded, client.ShowFailed:
	default:
		return jobsAnswer{}, badRequest{fmt.Errorf("show %.20q: want all, active, ended or failed", q.Show)}
	}
	switch {
	case q.Before != "" && !store.ValidID(q.Before):
		return jobsAnswer{}, badRequest{fmt.Errorf("before %.60q: want the ID of a job", q.Before)}
	case len(q.Find) > maxFind:
		return jobsAnswer{}, badRequest{fmt.Errorf("find: got %d bytes, want at most %d", len(q.Find), maxFind)}
	}
	page, err := p.pageOfJobs(ctx, c, q)
	if err != nil {
		return jobsAnswer{}, err
	}
	failed, err := p.failedJobs(ctx, c)
	return jobsAnswer{Jobs: summariesOf(page.Jobs), Failed: summariesOf(failed), Next: page.Next, All: page.All, Active: page.Active}, err
}

func (p *Page) pageOfJobs(ctx context.Context, c *client.Client, q client.Query) (client.Page, error) {
	return p.jobs.get(fmt.Sprintf("%+q", []any{q.Show, q.Find, q.Before, q.Limit}), jobsAge, func() (client.Page, error) { return c.Page(ctx, q) })
}

const (
	failedPast = 24 * time.Hour
	maxFailed  = 10
)

// failedJobs returns the jobs that need a person: they have failed, and no later job retries them.
func (p *Page) failedJobs(ctx context.Context, c *client.Client) ([]client.Summary, error) {
	newest, err := p.pageOfJobs(ctx, c, client.Query{Show: client.ShowAll, Limit: maxPage})
	if err != nil {
		return nil, err
	}
	retried := map[string]bool{}
	for _, j := range newest.Jobs {
		retried[j.Retries] = true
	}
	failed, err := p.pageOfJobs(ctx, c, client.Query{Show: client.ShowFailed, Limit: maxPage})
	list := slices.DeleteFunc(slices.Clone(failed.Jobs), func(j client.Summary) bool {
		return retried[j.ID] || time.Since(j.Finished) > failedPast
	})
	return list[:min(len(list), maxFailed)], err
}

func summariesOf(list []client.Summary) []summaryAnswer {
	answer := []summaryAnswer{}
	for _, j := range list {
		state := string(j.State)
		if state == "" {
			state = "damaged"
		}
		answer = append(answer, summaryAnswer{
			ID: j.ID, Job: j.Job, Name: j.Name, Labels: j.Labels, Version: j.Version, State: state, Priority: j.Priority, Partitions: j.Partitions, Needed: j.Needed, Done: j.Done,
			MergesLeft: j.MergesLeft, Rate: j.Rate, Trouble: j.Trouble,
			Submitted: instant(j.Submitted), Started: instant(j.Started), Finished: instant(j.Finished),
		})
	}
	return answer
}

// jobAnswer is the answer to /api/v1/jobs/{id}.
type jobAnswer struct {
	client.Status                 // at most the first hundred skipped partitions; the parameters are null if they are larger than 64 kB
	AllSkipped    int             `json:"all_skipped"`
	Again         string          `json:"again"`  // command that runs a partition again; the partition's number must be appended
	Result        json.RawMessage `json:"result"` // null if the job has not completed, or if the result is larger than 64 kB
	Submitted     *time.Time      `json:"submitted"`
	Started       *time.Time      `json:"started"`
	Finished      *time.Time      `json:"finished"`
}

const (
	maxShown   = 64 << 10 // maximum size in bytes of parameters and results that the page shows
	maxSkipped = 100
)

func (p *Page) getJob(ctx context.Context, c *client.Client, r *http.Request) (any, error) {
	id, err := idOf(r)
	if err != nil {
		return nil, err
	}
	return p.job(ctx, c, id)
}

func (p *Page) job(ctx context.Context, c *client.Client, id string) (jobAnswer, error) {
	s, err := c.Status(ctx, id)
	if err != nil {
		return jobAnswer{}, err
	}
	a := newJobAnswer(s, p.cfg.Program)
	if s.State == client.Completed {
		if o, err := c.Outcome(ctx, id); err == nil && len(o.Result) <= maxShown {
			a.Result = o.Result
		}
	}
	return a, nil
}

// newJobAnswer returns the answer about a job without its result.
func newJobAnswer(s client.Status, program string) jobAnswer {
	a := jobAnswer{
		Status: s, AllSkipped: len(s.Skipped),
		Submitted: instant(s.Submitted), Started: instant(s.Started), Finished: instant(s.Finished),
	}
	a.Skipped = append([]uint64{}, s.Skipped[:min(len(s.Skipped), maxSkipped)]...)
	a.Epochs, a.Builds = append([]uint64{}, s.Epochs...), append([]string{}, s.Builds...)
	a.Errors, a.Estimates = append([]client.ErrorText{}, s.Errors...), append([]client.Estimated{}, s.Estimates...)
	if len(s.Params) > maxShown {
		a.Params = nil
	} else {
		a.Again = againCommand(program, s.Job, json.RawMessage(s.Params))
	}
	return a
}

// againCommand returns the command that runs a partition of a job in one process; the caller
// appends the partition's number. The parameters are quoted for a POSIX shell.
func againCommand(program, job string, params json.RawMessage) string {
	var values map[string]json.RawMessage
	if json.Unmarshal(params, &values) != nil {
		return ""
	}
	var pairs strings.Builder
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value := string(values[name])
		switch value[0] {
		case '{', '[', 'n': // pass all parameters as one JSON object
			return fmt.Sprintf("printf %%s %s | %s run %s --params - --partition ", quote(string(params)), program, job)
		case '"':
			if json.Unmarshal(values[name], &value) != nil {
				return ""
			}
		}
		pairs.WriteString(" -p " + quote(name+"="+value))
	}
	return fmt.Sprintf("%s run %s%s --partition ", program, job, pairs.String())
}

// plain matches text that needs no quotes in a shell.
var plain = regexp.MustCompile(`^[A-Za-z0-9_=.,:/@%+-]+$`)

func quote(text string) string {
	if plain.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// mapAnswer is the answer to /api/v1/jobs/{id}/map: the live statistics of an active job.
type mapAnswer struct {
	State      string `json:"state"`
	Partitions uint64 `json:"partitions"`
	Done       uint64 `json:"done"`
	MergesLeft uint64 `json:"merges_left"` // number of merges that remain after all partitions are finished
	Executed   uint64 `json:"executed"`
	Earlier    uint64 `json:"earlier,omitempty"` // partitions that earlier rounds have finished; only for a job with rounds
	Error      string `json:"error"`             // reason why the other members are unknown: no leader answers, or the job is not active

	Left *float64 `json:"left_ms"` // estimated time until all partitions are finished, or until all merges of large partials are finished; null if unknown
	client.Live
	Merges []mergeAnswer `json:"merges"`

	Elapsed     float64           `json:"elapsed_ms"`    // time since the job began
	Checkpoint  *float64          `json:"checkpoint_ms"` // time since the last checkpoint; null before this leader's first checkpoint
	Total       wire.Cell         `json:"total"`         // numbers of partitions by state, in the whole job
	Reassigned  uint64            `json:"reassigned"`    // number of unfinished partitions that a worker held when it died, and that others hold now or will get
	Durations   *client.Durations `json:"durations"`     // how long partitions took; null until something was measured
	Tree        []wire.TreeNode   `json:"tree"`          // upper levels of the tree from the root down, each level from left to right
	Errors      []wire.ErrorCount `json:"errors"`
	OtherErrors uint64            `json:"other_errors"`
	Holders     []string          `json:"holders"` // IDs of the workers to which the windows refer
	Windows     []windowAnswer    `json:"windows"`
}

// mergeAnswer is a merge of large partials that runs on a worker.
type mergeAnswer struct {
	client.Merge
	For float64 `json:"for_ms"` // time since the merge began
}

// windowAnswer is the map of one window of partitions. A run describes consecutive equal cells by
// seven numbers: the number of cells; the numbers of held, computed, durable, retrying and failed
// partitions in each cell; and 1 + the index in Holders of a worker that holds some of the
// partitions, or 0 if there is none.
type windowAnswer struct {
	Lo   uint64      `json:"lo"`
	Step uint64      `json:"step"` // number of partitions per cell
	Runs [][7]uint64 `json:"runs"`

	// Retried contains ranges of cells with partitions that ran again after a failure or the death
	// of a worker. Each range of Retried is its first cell, and its last cell plus 1.
	Retried [][2]uint64 `json:"retried"`
}

// maxWindows is the largest number of windows in a request. wire.MaxCells bounds the number of
// cells in all windows.
const maxWindows = 4

// windowsOf reads the parameters window, each of the form LO:STEP:CELLS.
func windowsOf(r *http.Request) (windows []client.Window, err error) {
	texts := r.URL.Query()["window"]
	if len(texts) > maxWindows {
		return nil, badRequest{fmt.Errorf("%d windows: want at most %d", len(texts), maxWindows)}
	}
	for _, text := range texts {
		bad := badRequest{fmt.Errorf("window %.60q: want LO:STEP:CELLS, at most %d cells", text, wire.MaxCells)}
		f := strings.Split(text, ":")
		if len(f) != 3 {
			return nil, bad
		}
		lo, loErr := strconv.ParseUint(f[0], 10, 64)
		step, stepErr := strconv.ParseUint(f[1], 10, 64)
		cells, cellsErr := strconv.Atoi(f[2])
		if loErr != nil || stepErr != nil || cellsErr != nil || step == 0 || cells < 1 || cells > wire.MaxCells {
			return nil, bad
		}
		windows = append(windows, client.Window{Lo: lo, Step: step, Cells: cells})
	}
	return windows, nil
}

func (p *Page) getMap(ctx context.Context, c *client.Client, r *http.Request) (any, error) {
	id, err := idOf(r)
	if err != nil {
		return nil, err
	}
	windows, err := windowsOf(r)
	if err != nil {
		return nil, err
	}
	m, err := p.mapOf(ctx, c, id, windows)
	if errors.Is(err, client.ErrNoLeader) || errors.Is(err, client.ErrNotFound) {
		m.Error, err = textOf(err), nil // not an error: during a failover no leader answers, and an ended job is not active
	}
	return m, err
}

// mapOf asks the leader for the live statistics of a job.
func (p *Page) mapOf(ctx context.Context, c *client.Client, id string, windows []client.Window) (mapAnswer, error) {
	return p.maps.get(fmt.Sprint(id, windows), liveAge, func() (mapAnswer, error) { return newMapAnswer(ctx, c, id, windows) })
}

func newMapAnswer(ctx context.Context, c *client.Client, id string, windows []client.Window) (mapAnswer, error) {
	if len(windows) == 0 {
		windows = []client.Window{{Step: 1, Cells: 1}} // the leader returns no map for a request without windows
	}
	progress, m, err := c.Map(ctx, id, windows...)
	status := client.StatusOf(progress)
	a := mapAnswer{
		State: progress.State, Partitions: progress.Partitions, Done: progress.Done, MergesLeft: progress.MergesLeft, Executed: progress.Executed, Earlier: progress.Earlier,
		Live: *status.Live, Merges: []mergeAnswer{}, Tree: []wire.TreeNode{}, Errors: []wire.ErrorCount{}, Holders: []string{}, Windows: []windowAnswer{},
	}
	if left, known := status.Remaining(); known {
		a.Left = new(milliseconds(left))
	}
	for _, merge := range status.Live.Merges {
		a.Merges = append(a.Merges, mergeAnswer{merge, milliseconds(merge.For)})
	}
	if err != nil || m == nil {
		return a, err
	}
	a.Elapsed, a.Total, a.Tree, a.OtherErrors, a.Reassigned = milliseconds(ageOf(m.Elapsed, m.Started)), m.Total, m.Tree, m.OtherErrors, m.Reassigned
	if len(m.Durations.Counts) > 0 {
		a.Durations = &m.Durations
	}
	if !m.Checkpoint.IsZero() {
		a.Checkpoint = new(milliseconds(ageOf(m.CheckpointAge, m.Checkpoint)))
	}
	a.Errors, a.Holders = append(a.Errors, m.Errors...), append(a.Holders, m.Holders...)
	for _, w := range m.Maps {
		answer := windowAnswer{Lo: w.Window.Lo, Step: w.Window.Step, Runs: make([][7]uint64, 0, len(w.Runs)), Retried: pairsOf(w.Retried)}
		for _, r := range w.Runs {
			answer.Runs = append(answer.Runs, [7]uint64{r.Repeat, r.Held, r.Computed, r.Durable, r.Retrying, r.Failed, r.Holder})
		}
		a.Windows = append(a.Windows, answer)
	}
	return a, nil
}

// pairsOf converts spans to pairs of numbers, as in the API.
func pairsOf(spans []engine.Span) [][2]uint64 {
	list := make([][2]uint64, 0, len(spans))
	for _, s := range spans {
		list = append(list, [2]uint64{s.Lo, s.Hi})
	}
	return list
}

// ageOf returns an age that the leader has measured. Leaders of earlier versions give only a time, by
// their own clock.
func ageOf(measured time.Duration, since time.Time) time.Duration {
	if measured > 0 {
		return measured
	}
	return max(0, time.Since(since))
}
