package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/cmd/internal/answer"
	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/cmd/internal/human"
	"github.com/bellwether-compute/bellwether/cmd/internal/progress"
	"github.com/bellwether-compute/bellwether/jobs/client"
)

// jobStatus is the JSON that the commands status and list print for a job.
type jobStatus struct {
	ID          string          `json:"id"`
	Job         string          `json:"job"`
	Version     string          `json:"version"`
	Params      json.RawMessage `json:"params"`
	Priority    int             `json:"priority"`
	MaxAttempts int             `json:"max_attempts"`
	MaxSkipped  uint64          `json:"max_skipped"`
	Strict      bool            `json:"strict_builds"`     // only workers of one build run the job
	Timeout     float64         `json:"timeout"`           // time limit of the job in seconds; 0 means no limit
	Partition   float64         `json:"partition_timeout"` // time limit of a partition in seconds; 0 means the limit in the job's definition
	State       client.State    `json:"state"`
	Partitions  uint64          `json:"partitions"` // number of partitions; 0 until the job is planned
	Done        uint64          `json:"done"`       // number of finished partitions; 0 if the job failed or was cancelled
	Stage       client.Stage    `json:"stage"`      // planning, mapping, merging or finishing; empty if the job is not running
	MergesLeft  uint64          `json:"merges_left"`
	Executed    uint64          `json:"executed"`
	Skipped     []uint64        `json:"skipped"` // skipped partitions; only the first thousand for a running job and in a list
	Epochs      []uint64        `json:"epochs"`
	Builds      []string        `json:"builds"`       // builds of the workers that computed parts of the result
	Live        bool            `json:"live"`         // the status comes from the leader; false if it comes from the last checkpoint
	Epoch       uint64          `json:"epoch"`        // epoch of the leader that answered; 0 if no leader answered
	Workers     int             `json:"workers"`      // number of workers that hold spans of the job
	Rate        float64         `json:"rate"`         // finished partitions per second, over the last seconds
	SecondsLeft float64         `json:"seconds_left"` // estimated seconds until all partitions are finished, or until all merges are finished; -1 if unknown
	HeldBytes   uint64          `json:"held_bytes"`   // size in bytes of the large partials that workers hold
	MergedBytes uint64          `json:"merged_bytes"` // size in bytes of the results of merges of large partials since the current leader began
	MergeRate   float64         `json:"merge_rate"`   // bytes of results of merges of large partials per second, over the last seconds
	Merges      []merge         `json:"merges"`       // running merges, at most twenty
	Trouble     string          `json:"trouble"`      // reason why the job does not advance, or the last failure
	Error       string          `json:"error"`
	Errors      []errorText     `json:"errors"`       // the most frequent errors of failed attempts to run partitions
	OtherErrors uint64          `json:"other_errors"` // number of failed attempts with other errors
	SHA256      string          `json:"sha256"`
	Submitted   *time.Time      `json:"submitted"`
	Started     *time.Time      `json:"started"`
	Finished    *time.Time      `json:"finished"`
}

// errorText is the JSON that the command status prints for an error of failed attempts.
type errorText struct {
	Error     string `json:"error"`
	Count     uint64 `json:"count"`     // number of attempts that failed with the error
	Partition uint64 `json:"partition"` // one of the partitions that failed with the error
}

// merge is the JSON that the command status prints for a merge that runs on a worker.
type merge struct {
	Node    string  `json:"node"`
	Worker  string  `json:"worker"`
	Bytes   uint64  `json:"bytes"` // size in bytes of the operands that workers hold
	Seconds float64 `json:"seconds"`
}

func newJobStatus(s client.Status) jobStatus {
	j := jobStatus{
		ID: s.ID, Job: s.Job, Version: s.Version, Params: json.RawMessage(s.Params),
		Priority: s.Priority, MaxAttempts: s.MaxAttempts, MaxSkipped: s.MaxSkipped, Strict: s.StrictBuilds,
		Timeout: s.Timeout.Seconds(), Partition: s.PartitionTimeout.Seconds(),
		State: s.State, Partitions: s.Partitions, Done: s.Done, Executed: s.Executed,
		Stage: s.Stage(), MergesLeft: s.MergesLeft,
		Skipped: answer.Listed(s.Skipped), Epochs: answer.Listed(s.Epochs), Epoch: s.Epoch, Error: s.Error, SHA256: s.SHA256, SecondsLeft: -1,
		Merges: []merge{}, Errors: []errorText{}, OtherErrors: s.OtherErrors, Builds: append([]string{}, s.Builds...),
		Submitted: answer.Timestamp(s.Submitted), Started: answer.Timestamp(s.Started), Finished: answer.Timestamp(s.Finished),
	}
	for _, e := range s.Errors {
		j.Errors = append(j.Errors, errorText{e.Text, e.Count, e.Partition})
	}
	if s.Live != nil {
		j.Live, j.Workers, j.Rate, j.Trouble = true, s.Live.Workers, s.Live.Rate, s.Live.Trouble
		j.HeldBytes, j.MergedBytes, j.MergeRate = s.Live.HeldBytes, s.Live.MergedBytes, s.Live.MergeRate
		for _, m := range s.Live.Merges {
			j.Merges = append(j.Merges, merge{m.Node, m.Worker, m.Bytes, m.For.Seconds()})
		}
	}
	if left, ok := s.Remaining(); ok {
		j.SecondsLeft = left.Seconds()
	}
	return j
}

func (a *app) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status ID",
		Short: "Show the state of a job",
		Long: `Show the state of a job: live figures if a leader answers, and otherwise those of
the last checkpoint.`,
		Args: console.WantArgs(1, 1),
		RunE: a.OnJob(func(ctx context.Context, c *client.Client, id string) error {
			s, err := c.Status(ctx, id)
			if err != nil {
				return err
			}
			if isOutdated(s) {
				a.Note("%s: this is what the last checkpoint says", noLeader)
			}
			return a.Show(newJobStatus(s), func(w io.Writer) { statusTable(w, s) })
		}),
		ValidArgsFunction: a.CompleteID,
	}
}

func statusTable(w io.Writer, s client.Status) {
	console.Row(w, "id", s.ID)
	console.Row(w, "job", s.Job+" "+s.Version)
	console.Row(w, "params", string(s.Params))
	console.Row(w, "state", s.State)
	if stage := progress.StageWords(s); stage != "" {
		console.Row(w, "stage", stage)
	}
	if s.Partitions > 0 {
		partitions := humanize.Comma(int64(s.Partitions))
		if s.DoneKnown() {
			partitions += fmt.Sprintf(", %s done (%d%%)", humanize.Comma(int64(s.Done)), human.Percent(s.Done, s.Partitions))
		}
		console.Row(w, "partitions", partitions)
		console.Row(w, "executed", humanize.Comma(int64(s.Executed)))
	}
	if s.Live != nil {
		console.Row(w, "workers", s.Live.Workers)
		if s.Stage() == client.Mapping {
			console.Row(w, "rate", human.Rate(s.Live.Rate)+"/s")
		}
		for _, m := range s.Live.Merges {
			console.Row(w, "merge", fmt.Sprintf("node %s on worker %s, %s, for %v", m.Node, m.Worker, humanize.Bytes(m.Bytes), m.For.Truncate(100*time.Millisecond)))
		}
	}
	if left, ok := s.Remaining(); ok {
		console.Row(w, "time left", left.Truncate(time.Second).String())
	}
	if len(s.Epochs) > 0 {
		console.Row(w, "epochs", answer.Numbers(s.Epochs))
	}
	switch {
	case s.StrictBuilds && len(s.Builds) > 0:
		console.Row(w, "only build", s.Builds[0])
	case s.MixedBuilds():
		console.Row(w, "builds", answer.Mixed(s.Builds))
	}
	if len(s.Skipped) > 0 {
		console.Row(w, "skipped", answer.Numbers(s.Skipped))
	}
	if s.Live != nil && s.Live.Trouble != "" {
		console.Row(w, "trouble", human.FirstLine(s.Live.Trouble))
	}
	if s.Error != "" {
		console.Row(w, "error", human.FirstLine(s.Error))
	}
	for _, e := range s.Errors {
		console.Row(w, "failures", fmt.Sprintf("%s, such as partition %d: %s", humanize.Comma(int64(e.Count)), e.Partition, human.FirstLine(e.Text)))
	}
	if s.OtherErrors > 0 {
		console.Row(w, "failures", humanize.Comma(int64(s.OtherErrors))+" with other errors")
	}
	for _, t := range []struct {
		name string
		at   time.Time
	}{{"submitted", s.Submitted}, {"started", s.Started}, {"finished", s.Finished}} {
		if !t.at.IsZero() {
			console.Row(w, t.name, human.Time(t.at))
		}
	}
	if s.SHA256 != "" {
		console.Row(w, "sha256", s.SHA256)
	}
}
