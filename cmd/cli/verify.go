package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/cmd/internal/human"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
)

// verified is the output of the command verify.
type verified struct {
	ID         string      `json:"id"`
	Nodes      int         `json:"nodes"`      // number of kept partial results that were computed again
	All        int         `json:"all"`        // number of those from which they were chosen
	Partitions uint64      `json:"partitions"` // number of partitions that were computed again
	Wrong      [][2]uint64 `json:"wrong"`      // first partition and last partition plus one of what differs
	Lacking    uint64      `json:"lacking"`    // number of partitions of which nothing is kept; the result is then not checked
	Result     bool        `json:"result"`     // the job's result follows from what is kept
	Finds      float64     `json:"finds"`      // share of wrong partial results that such a sample finds with a probability of 95 %
}

func (a *app) verifyCommand() *cobra.Command {
	var sample string
	cmd := &cobra.Command{
		Use:   "verify ID",
		Short: "Compute a sample of a job again, and compare the bytes",
		Long: `Compute a sample of the partial results that a job with --reuse has kept again, in this
process, and compare the bytes. Also compute the result that follows from all that is
kept, and compare its SHA-256. This machine must read the job's input, and this program
must be of the same build as the workers. The exit status is 1 if something differs.`,
		Args: console.WantArgs(1, 1),
		RunE: a.OnJob(func(ctx context.Context, c *client.Client, id string) error {
			share, err := parseShare("sample", sample)
			if err != nil {
				return err
			}
			s, err := c.Status(ctx, id)
			if err != nil {
				return err
			}
			job, err := a.Job(s.Job)
			if err != nil {
				return err
			}
			local := jobs.Local{Slots: runtime.GOMAXPROCS(0), Attempts: 1, Grant: a.OwnGrant()}
			s, v, err := c.Verify(a.OnTarget(ctx), job, id, local, jobs.Audit{Share: share, Seed: id})
			if err != nil {
				return err
			}
			return a.showVerified(newVerified(s, v))
		}),
		ValidArgsFunction: a.CompleteID,
	}
	cmd.Flags().StringVar(&sample, "sample", "1%", "share of the partitions to compute again")
	return cmd
}

func newVerified(s client.Status, v jobs.Verified) verified {
	o := verified{ID: s.ID, Nodes: v.Nodes, All: v.All, Partitions: v.Partitions, Wrong: [][2]uint64{}, Lacking: v.Lacking, Finds: 1}
	o.Result = v.Result != nil && client.Fingerprint(v.Result) == s.SHA256
	for _, w := range v.Wrong {
		o.Wrong = append(o.Wrong, [2]uint64{w.Lo, w.Hi})
	}
	if v.Nodes > 0 {
		o.Finds = 1 - math.Pow(0.05, 1/float64(v.Nodes)) // n samples miss a share f with the probability (1-f)^n
	}
	return o
}

func (a *app) showVerified(o verified) error {
	err := a.Show(o, func(w io.Writer) {
		console.Row(w, "computed", fmt.Sprintf("%s of %s kept partial results, with %s partitions", human.Count(o.Nodes), human.Count(o.All), human.Count(o.Partitions)))
		console.Row(w, "finds", fmt.Sprintf("a share of %.2g %% of wrong ones, with 95 %%", 100*o.Finds))
		switch {
		case o.Lacking > 0:
			console.Row(w, "result", fmt.Sprintf("not checked: of %s partitions nothing is kept", human.Count(o.Lacking)))
		case o.Result:
			console.Row(w, "result", "follows from what is kept")
		default:
			console.Row(w, "result", "does not follow from what is kept")
		}
	})
	switch {
	case err != nil:
		return err
	case len(o.Wrong) > 0:
		return fmt.Errorf("job %s: %d kept partial results differ, the first is that of the partitions %d to %d", o.ID, len(o.Wrong), o.Wrong[0][0], o.Wrong[0][1]-1)
	case o.Lacking == 0 && !o.Result:
		return errors.New("the result of job " + o.ID + " does not follow from what is kept")
	}
	return nil
}
