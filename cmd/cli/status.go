package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// jobStatus is what status and list print of a job.
type jobStatus struct {
	ID          string          `json:"id"`
	Job         string          `json:"job"`
	Version     string          `json:"version"`
	Params      json.RawMessage `json:"params"`
	Priority    int             `json:"priority"`
	MaxAttempts int             `json:"max_attempts"`
	MaxSkipped  uint64          `json:"max_skipped"`
	State       store.State     `json:"state"`
	Partitions  uint64          `json:"partitions"` // 0 until planned
	Done        uint64          `json:"done"`       // 0 where the job failed or was cancelled
	Executed    uint64          `json:"executed"`
	Skipped     []uint64        `json:"skipped"`
	Epochs      []uint64        `json:"epochs"`
	Live        bool            `json:"live"`         // from the leader, not from the last checkpoint
	Epoch       uint64          `json:"epoch"`        // of the leader that answered; 0: none did
	Workers     int             `json:"workers"`      // that hold work of the job
	Rate        float64         `json:"rate"`         // partitions per second of late
	SecondsLeft float64         `json:"seconds_left"` // at that rate; -1: not known
	Trouble     string          `json:"trouble"`      // what keeps it from going on, or the last failure
	Error       string          `json:"error"`
	SHA256      string          `json:"sha256"`
	Submitted   *time.Time      `json:"submitted"`
	Started     *time.Time      `json:"started"`
	Finished    *time.Time      `json:"finished"`
}

// newJobStatus joins what storage has with what the leader says. live may be nil.
func newJobStatus(r record, live *wire.Jobs) jobStatus {
	m := r.manifest
	s := jobStatus{
		ID: r.spec.ID, Job: r.spec.Job, Version: r.spec.Version, Params: json.RawMessage(r.spec.Params),
		Priority: r.spec.Priority, MaxAttempts: r.spec.MaxAttempts, MaxSkipped: r.spec.MaxSkipped,
		State: m.State, Partitions: m.Partitions, Done: r.done(), Executed: m.Executed,
		Skipped: listed(m.Skipped), Epochs: listed(m.Epochs), Error: m.Error, SHA256: m.SHA256, SecondsLeft: -1,
		Submitted: timestamp(r.spec.Submitted), Started: timestamp(m.Started), Finished: timestamp(m.Finished),
	}
	if live != nil {
		s.Epoch = live.Epoch
		if !m.State.Final() {
			s.takeLive(live)
		}
	}
	return s
}

func (s *jobStatus) takeLive(live *wire.Jobs) {
	for _, p := range live.Jobs {
		if p.Job != s.ID {
			continue
		}
		s.Live, s.State, s.Partitions = true, store.State(p.State), p.Partitions
		s.Done, s.Executed, s.Skipped = p.Done, p.Executed, listed(p.Skipped)
		s.Workers, s.Rate, s.Trouble = p.Workers, p.Rate, p.Trouble
		if left, ok := s.snapshot().left(); ok {
			s.SecondsLeft = left.Seconds()
		}
	}
}

func (s *jobStatus) snapshot() snapshot {
	return snapshot{
		State: s.State, Done: s.Done, All: s.Partitions, Rate: s.Rate,
		Cluster: true, Workers: s.Workers, Epoch: s.Epoch, Trouble: s.Trouble,
	}
}

// status reads where a job stands. Whether somebody leads shows in its Epoch.
func (c *clusterConn) status(ctx context.Context, id string) (jobStatus, record, error) {
	live, err := c.live(ctx, id) // first: a job that ends between the two is seen as ended
	if err != nil {
		return jobStatus{}, record{}, err
	}
	r, err := c.record(ctx, id)
	if err != nil {
		return jobStatus{}, record{}, err
	}
	return newJobStatus(r, live), r, nil
}

func (a *app) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status ID",
		Short: "Show where a job stands",
		Long: `Show where a job stands: live numbers where a leader answers, those of the last
checkpoint where none does.`,
		Args: takes(1, 1),
		RunE: a.onJob(func(ctx context.Context, c *clusterConn, id string) error {
			s, _, err := c.status(ctx, id)
			if err != nil {
				return err
			}
			if s.Epoch == 0 && !s.State.Final() {
				a.note("%v: this is what the last checkpoint says", errNoLeader)
			}
			return a.show(s, s.table)
		}),
		ValidArgsFunction: a.completeID,
	}
}

// knowsDone reports whether Done means something: the checkpoint of a job that
// failed or was cancelled no longer tells.
func (s jobStatus) knowsDone() bool { return !s.State.Final() || s.State == store.Completed }

func (s jobStatus) table(w io.Writer) {
	row(w, "id", s.ID)
	row(w, "job", s.Job+" "+s.Version)
	row(w, "params", string(s.Params))
	row(w, "state", s.State)
	if s.Partitions > 0 {
		partitions := humanize.Comma(int64(s.Partitions))
		if s.knowsDone() {
			partitions += fmt.Sprintf(", %s done (%d%%)", humanize.Comma(int64(s.Done)), percent(s.Done, s.Partitions))
		}
		row(w, "partitions", partitions)
		row(w, "executed", humanize.Comma(int64(s.Executed)))
	}
	if s.Live {
		row(w, "workers", s.Workers)
		row(w, "rate", rate(s.Rate)+"/s")
	}
	if s.SecondsLeft >= 0 {
		row(w, "time left", (time.Duration(s.SecondsLeft) * time.Second).String())
	}
	if len(s.Epochs) > 0 {
		row(w, "epochs", numbers(s.Epochs))
	}
	if len(s.Skipped) > 0 {
		row(w, "skipped", numbers(s.Skipped))
	}
	if s.Trouble != "" {
		row(w, "trouble", firstLine(s.Trouble))
	}
	if s.Error != "" {
		row(w, "error", firstLine(s.Error))
	}
	for _, t := range []struct {
		name string
		at   *time.Time
	}{{"submitted", s.Submitted}, {"started", s.Started}, {"finished", s.Finished}} {
		if t.at != nil {
			row(w, t.name, clock(*t.at))
		}
	}
	if s.SHA256 != "" {
		row(w, "sha256", s.SHA256)
	}
}
