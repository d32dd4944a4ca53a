package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/cmd/internal/answer"
	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/cmd/internal/human"
	"github.com/bellwether-compute/bellwether/cmd/internal/progress"
	"github.com/bellwether-compute/bellwether/jobs/client"
)

// jobStatus is the JSON that the commands status and list print for a job. If no leader answers, the
// live figures are zero.
type jobStatus struct {
	client.Status
	client.Live
	IsLive      bool         `json:"live"`              // the status comes from the leader; false if it comes from the last checkpoint
	Timeout     float64      `json:"timeout"`           // time limit of the job in seconds; 0 means no limit
	Partition   float64      `json:"partition_timeout"` // time limit of a partition in seconds; 0 means the limit in the job's definition
	StopAfter   float64      `json:"stop_after"`        // time in seconds after which the job ends with its largest finished prefix; 0 means never
	Stage       client.Stage `json:"stage"`             // planning, mapping, merging or finishing; empty if the job is not running
	SecondsLeft float64      `json:"seconds_left"`      // estimated seconds until all partitions are finished, or until all merges are finished; -1 if unknown
	Merges      []merge      `json:"merges"`
	Submitted   *time.Time   `json:"submitted"`
	Started     *time.Time   `json:"started"`
	Finished    *time.Time   `json:"finished"`
	Cost        *float64     `json:"cost,omitempty"` // price of the time of slots; only with --price
}

// merge is the JSON that the command status prints for a merge that runs on a worker.
type merge struct {
	client.Merge
	Seconds float64 `json:"seconds"`
}

func newJobStatus(s client.Status, price priceFlag) jobStatus {
	j := jobStatus{
		Cost:   price.cost(s.SlotSeconds),
		Status: s, IsLive: s.Live != nil, Timeout: s.Timeout.Seconds(), Partition: s.PartitionTimeout.Seconds(),
		StopAfter: s.StopAfter.Seconds(), Stage: s.Stage(), SecondsLeft: -1, Merges: []merge{},
		Submitted: answer.Timestamp(s.Submitted), Started: answer.Timestamp(s.Started), Finished: answer.Timestamp(s.Finished),
	}
	j.Skipped, j.Epochs, j.Builds = answer.Listed(s.Skipped), answer.Listed(s.Epochs), answer.Listed(s.Builds)
	j.Errors, j.Estimates = answer.Listed(s.Errors), answer.Listed(s.Estimates)
	if s.Live != nil {
		j.Live = *s.Live
	}
	for _, m := range j.Live.Merges {
		j.Merges = append(j.Merges, merge{m, m.For.Seconds()})
	}
	if left, ok := s.Remaining(); ok {
		j.SecondsLeft = left.Seconds()
	}
	return j
}

func (a *app) statusCommand() *cobra.Command {
	var price priceFlag
	cmd := &cobra.Command{
		Use:   "status ID",
		Short: "Show the state of a job",
		Long: `Show the state of a job: live figures if a leader answers, and otherwise those of
the last checkpoint.`,
		Args: console.WantArgs(1, 1),
		RunE: a.OnJob(func(ctx context.Context, c *client.Client, id string) error {
			if err := price.check(); err != nil {
				return err
			}
			s, err := c.Status(ctx, id)
			if err != nil {
				return err
			}
			if isOutdated(s) {
				a.Note("%s: this is what the last checkpoint says", noLeader)
			}
			return a.Show(newJobStatus(s, price), func(w io.Writer) { statusTable(w, s, price) })
		}),
		ValidArgsFunction: a.CompleteID,
	}
	price.register(cmd)
	return cmd
}

func statusTable(w io.Writer, s client.Status, price priceFlag) {
	console.Row(w, "id", s.ID)
	if title := title(s); title != "" {
		console.Row(w, "name", title)
	}
	console.Row(w, "job", s.Job+" "+s.Version)
	console.Row(w, "params", string(s.Params))
	console.Row(w, "state", console.State(s.State))
	if len(s.After) > 0 {
		console.Row(w, "after", strings.Join(s.After, " "))
	}
	if s.Retries != "" {
		console.Row(w, "retries", fmt.Sprintf("%s, and keeps %s of its partitions", s.Retries, human.Count(s.Inherited)))
	}
	if s.From != "" {
		console.Row(w, "from", "the last state of "+s.From)
	}
	if stage := progress.StageWords(s); stage != "" {
		console.Row(w, "stage", stage)
	}
	if s.Partitions > 0 {
		partitions := fmt.Sprintf("%s, %s done (%d%%)", human.Count(s.Partitions), human.Count(s.Done), human.Percent(s.Done, s.Needed()))
		if len(s.Skipped) > 0 {
			partitions += fmt.Sprintf(", of which %s skipped", human.Count(len(s.Skipped)))
		}
		console.Row(w, "partitions", partitions)
		console.Row(w, "executed", human.Count(s.Executed))
		answer.ReuseRows(w, s.Reuse)
	}
	answer.CostRows(w, s.SlotSeconds, s.LostSeconds, answer.Price(price))
	if estimate := answer.Estimate(s.Estimates); estimate != "" {
		console.Row(w, "estimate", estimate)
	}
	if round := answer.Round(s); round != "" {
		console.Row(w, "round", round)
	}
	answer.StoppedRow(w, s.Stopped)
	if s.Live != nil {
		console.Row(w, "workers", s.Live.Workers)
		if s.Stage() == client.Mapping {
			console.Row(w, "rate", human.Rate(s.Live.Rate)+"/s")
		}
		for _, m := range s.Live.Merges {
			console.Row(w, "merge", fmt.Sprintf("node %s on worker %s, %s, for %v", m.Node, m.Worker, human.Size(m.Bytes), m.For.Truncate(100*time.Millisecond)))
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
	if command, does := answer.Rest(s); command != "" {
		console.Row(w, "left", fmt.Sprintf("'%s' %s", command, does))
	}
	failureRows(w, s)
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

// title returns a job's name and labels.
func title(s client.Status) string {
	words := []string{}
	if s.Name != "" {
		words = append(words, s.Name)
	}
	for _, label := range slices.Sorted(maps.Keys(s.Labels)) {
		words = append(words, label+"="+s.Labels[label])
	}
	return strings.Join(words, " ")
}

// failureRows writes what is wrong with a job, and the errors of its partitions.
func failureRows(w io.Writer, s client.Status) {
	if s.Live != nil && s.Live.Trouble != "" {
		console.Row(w, "trouble", human.FirstLine(s.Live.Trouble))
	}
	if s.Error != "" {
		console.Row(w, "error", human.FirstLine(s.Error))
	}
	for _, e := range s.Errors {
		console.Row(w, "failures", fmt.Sprintf("%s, such as partition %d: %s", human.Count(e.Count), e.Partition, human.FirstLine(e.Text)))
	}
	if s.OtherErrors > 0 {
		console.Row(w, "failures", human.Count(s.OtherErrors)+" with other errors")
	}
}
