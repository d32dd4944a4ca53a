package progress

import (
	"context"
	"fmt"

	"github.com/bellwether-compute/bellwether/cmd/internal/answer"
	"github.com/bellwether-compute/bellwether/cmd/internal/human"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/dustin/go-humanize/english"
)

// WatchUntil shows progress until the job has ended or the function enough returns true, and then
// returns the job's status. If enough is nil, WatchUntil waits until the job has ended.
func WatchUntil(ctx context.Context, c *client.Client, id string, p *Progress, enough func(client.Status) bool) (client.Status, error) {
	var last client.Status
	for s, err := range c.Watch(ctx, id) {
		if err != nil {
			return s, err
		}
		if last = s; enough != nil && enough(s) {
			break
		}
		p.Show(clusterSnapshot(s))
	}
	return last, nil
}

// clusterSnapshot returns the progress of a job on a cluster.
func clusterSnapshot(s client.Status) Snapshot {
	shown := Snapshot{State: s.State, Done: s.Done + unreported(s), All: s.Needed(), Stage: StageWords(s), Cluster: true, Epoch: s.Epoch, Estimate: answer.Estimate(s.Estimates), Round: answer.Round(s)}
	if s.Live != nil {
		shown.Workers, shown.Trouble = s.Live.Workers, s.Live.Trouble
		if s.Stage() == client.Mapping {
			shown.Rate = s.Live.Rate
		}
	}
	if left, ok := s.Remaining(); ok {
		shown.Left = left
	}
	return shown
}

// unreported returns the number of partitions that have run but do not count as finished yet.
func unreported(s client.Status) uint64 {
	if s.Live == nil {
		return 0
	}
	return s.Live.Unreported
}

// StageWords describes the stage of a running job. StageWords returns "" for the stage mapping,
// because the number of finished partitions is shown instead.
func StageWords(s client.Status) string {
	switch s.Stage() {
	case client.Mapping:
		return mergeWords(s)
	case client.Merging:
		if words := mergeWords(s); words != "" {
			return fmt.Sprintf("%s, %s left: %s", client.Merging, english.Plural(int(s.MergesLeft), "merge", ""), words)
		}
		return fmt.Sprintf("%s, %s left", client.Merging, english.Plural(int(s.MergesLeft), "merge", ""))
	case client.Planning, client.Finishing:
		return string(s.Stage())
	}
	return ""
}

// mergeWords describes the running merges of a job with large partial results.
func mergeWords(s client.Status) string {
	if s.Live == nil || s.Live.HeldBytes == 0 {
		return ""
	}
	words := fmt.Sprintf("%s merged, %s held", human.Size(s.Live.MergedBytes), human.Size(s.Live.HeldBytes))
	if s.Live.MergeRate >= 1 {
		words += fmt.Sprintf(", merging %s/s", human.Size(s.Live.MergeRate))
	}
	return words
}
