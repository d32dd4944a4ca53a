package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/jobs/client"
)

// change is one change of leader as history prints it. Detect is 0 if it is not
// known, Resume until it has happened; the last two are null until they have happened.
type change struct {
	Epoch           uint64    `json:"epoch"`
	Worker          string    `json:"worker"`
	Cause           string    `json:"cause"`
	At              time.Time `json:"at"`                  // when the lease was held
	Detect          float64   `json:"detect_ms"`           // from the predecessor's last sign of life until it was believed dead
	Elect           float64   `json:"elect_ms"`            // from then until the lease was held
	Fence           float64   `json:"fence_ms"`            // from then until no earlier leader could write
	Resume          float64   `json:"resume_ms"`           // from then until work could be handed out
	FirstAssignment *float64  `json:"first_assignment_ms"` // from then until a worker was given work
	FirstResult     *float64  `json:"first_result_ms"`     // from then until a worker reported a new result
}

func newChange(t client.Term) change {
	return change{
		Epoch: t.Epoch, Worker: t.Worker, Cause: t.Cause, At: t.At,
		Detect: millis(t.Detect), Elect: millis(t.Elect), Fence: millis(t.Fence), Resume: millis(t.Resume),
		FirstAssignment: optionalMillis(t.FirstAssignment), FirstResult: optionalMillis(t.FirstResult),
	}
}

func optionalMillis(d *time.Duration) *float64 {
	if d == nil {
		return nil
	}
	return new(millis(*d))
}

// millis is a duration in milliseconds, to the microsecond.
func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func (a *app) historyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "history",
		Short: "List the changes of leader, the newest last",
		Long: `List the changes of leader, the newest last: why each happened and how long its
steps took, in milliseconds. The steps follow one another: detect, from the last sign of
life of the leader before until it is believed dead; elect, until the lease is
held; fence, until no earlier leader can write; resume, until work can be handed
out; first work, until a worker is given some; first result, until a worker
reports something new.

The causes: first, nobody has led before; handover, the leader before stopped in
order; died, its process was gone; silent, it did not answer; expired, its lease
was waited out; free, nobody had the lease.`,
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

// step writes how long a step took, in milliseconds.
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
