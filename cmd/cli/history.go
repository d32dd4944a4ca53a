package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/jobs/client"
)

// change is the JSON that the command history prints for one change of leader. change.Detect is 0
// if the duration is unknown. Before its step has ended, Resume is 0, and FirstAssignment or
// FirstResult is null.
type change struct {
	Epoch           uint64    `json:"epoch"`
	Worker          string    `json:"worker"`
	Cause           string    `json:"cause"`
	At              time.Time `json:"at"`                  // time at which the lease was acquired
	Detect          float64   `json:"detect_ms"`           // time from the predecessor's last sign of life to the decision to replace it
	Elect           float64   `json:"elect_ms"`            // time from the decision to replace the predecessor to the acquisition of the lease
	Fence           float64   `json:"fence_ms"`            // time from the acquisition of the lease until earlier leaders could no longer write
	Resume          float64   `json:"resume_ms"`           // time from the end of fencing until work could be assigned
	FirstAssignment *float64  `json:"first_assignment_ms"` // time from the end of resuming until work was assigned to a worker
	FirstResult     *float64  `json:"first_result_ms"`     // time from the first assignment until a worker reported a new result
}

func newChange(t client.Term) change {
	return change{
		Epoch: t.Epoch, Worker: t.Worker, Cause: t.Cause, At: t.At,
		Detect: millis(t.Detect), Elect: millis(t.Elect), Fence: millis(t.Fence), Resume: millis(t.Resume),
		FirstAssignment: optionalMillis(t.FirstAssignment), FirstResult: optionalMillis(t.FirstResult),
	}
}

// optionalMillis converts a duration to milliseconds, or returns nil if d is nil.
func optionalMillis(d *time.Duration) *float64 {
	if d == nil {
		return nil
	}
	return new(millis(*d))
}

// millis returns a duration in milliseconds, with microsecond precision.
func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func (a *app) historyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "history",
		Short: "List the changes of leader, the newest last",
		Long: `List the changes of leader, the newest last: the cause of each and how long its
steps took, in milliseconds. Each step begins when the one before ends:

  detect        from the previous leader's last sign of life to the decision to replace it
  elect         until the lease is acquired
  fence         until no earlier leader can write
  resume        until work can be assigned
  first work    until a worker is assigned work
  first result  until a worker reports a new result

The causes:

  first     the cluster had no leader before
  handover  the previous leader stopped and handed over
  died      its process had ended
  silent    its process did not answer
  expired   its lease expired
  free      no worker held the lease`,
		Args: cobra.NoArgs,
		RunE: a.onCluster(func(ctx context.Context, c *client.Client) error {
			terms, err := c.History(ctx)
			if err != nil {
				return err
			}
			changes := []change{}
			for _, t := range terms {
				changes = append(changes, newChange(t))
			}
			return a.show(changes, func(w io.Writer) { showChanges(w, changes) })
		}),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
}

func showChanges(w io.Writer, changes []change) {
	row(w, "EPOCH", "AT", "CAUSE", "DETECT", "ELECT", "FENCE", "RESUME", "FIRST WORK", "FIRST RESULT", "WORKER")
	for _, c := range changes {
		row(w, c.Epoch, clock(c.At), c.Cause, step(c.Detect), step(c.Elect), step(c.Fence), step(c.Resume), optionalStep(c.FirstAssignment), optionalStep(c.FirstResult), c.Worker)
	}
}

// step formats the duration of a step, in milliseconds.
func step(ms float64) string {
	if ms == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", ms)
}

func optionalStep(ms *float64) string {
	if ms == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f", *ms)
}
