package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/deploy/local/procs"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
)

const (
	demoJob     = "primes"
	demoLimit   = "1.2e11" // with this limit the job takes about 20 s on two cores
	demoWorkers = 4
	demoTimeout = 30 * time.Second // timeout of each wait of the demo except the wait for the job
)

func (a *app) demoCommand() *cobra.Command {
	var (
		limit string
		log   logFlags
	)
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Kill the leader of a cluster on this machine, and compare the bytes",
		Long: `Start a NATS server and 4 worker processes on this machine, submit a job, kill the
leader's process half-way, show how the others continue, run the same job in this
process alone, and compare the results byte for byte. It takes about a minute and
removes everything it made. The exit status is 0 if the bytes are the same. A page at the
printed address shows what happens.

With --storage azure, Azurite stands in for Azure Storage. It needs Node.js.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			job, err := a.job(demoJob)
			if err != nil {
				return err
			}
			params, err := job.Params(nil, "limit="+limit)
			if err != nil {
				return usage(err)
			}
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			return a.demo(ctx, job, params, log)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().StringVar(&limit, "limit", demoLimit, "find the primes below this number")
	log.register(cmd)
	cmd.Flags().Lookup("log-level").DefValue = "error"
	log.level = "error"
	return cmd
}

// demoReport is the JSON that the command demo prints.
type demoReport struct {
	Killed   client.Leader `json:"killed"`
	Failover change        `json:"failover"`
	Cluster  outcome       `json:"cluster"`
	Run      outcome       `json:"run"`
	Same     bool          `json:"same"`
}

var (
	errInterrupted = errors.New("interrupted; everything is removed")
	errAllGone     = errors.New("all worker processes have ended")
	errTooShort    = errors.New("the job ended before another worker led: give a larger --limit")
)

// demo runs the job on a cluster and in this process, and compares the bytes of the two
// results.
func (a *app) demo(ctx context.Context, job jobs.Job, params jobs.Params, log logFlags) (err error) {
	n := &narrator{out: a.Out, began: time.Now(), silent: a.output == outputJSON}
	n.title("%s, by %d worker processes and a NATS server on this machine\n%s", job.Name(), demoWorkers, params)

	var report demoReport
	if err := a.demoCluster(ctx, n, job, params, log, &report); err != nil {
		if ctx.Err() != nil {
			return errInterrupted
		}
		return err
	}
	n.say("the cluster is stopped and removed; the same job in this process alone:")
	report.Run, _ = a.runLocal(ctx, job, params, jobs.Local{Slots: runtime.GOMAXPROCS(0), Attempts: client.DefaultMaxAttempts}, false)
	if ctx.Err() != nil {
		return errInterrupted
	}
	if report.Run.State != client.Completed {
		return fmt.Errorf("in this process, the job %s: %s", report.Run.State, firstLine(report.Run.Error))
	}
	n.say("completed in %s", duration(report.Run.Finished.Sub(*report.Run.Started)))
	report.Same = report.Cluster.SHA256 == report.Run.SHA256 && string(report.Cluster.Result) == string(report.Run.Result)

	if a.output == outputJSON {
		if err := a.show(report, nil); err != nil {
			return err
		}
	} else {
		n.verdict(report)
	}
	if !report.Same {
		return errors.New("the bytes differ")
	}
	return nil
}

// demoCluster runs the part of the demo that needs a cluster. demoCluster stops all processes and
// removes all files before it returns.
func (a *app) demoCluster(ctx context.Context, n *narrator, job jobs.Job, params jobs.Params, log logFlags, report *demoReport) error {
	dir, err := os.MkdirTemp("", "bellwether-demo-")
	if err != nil {
		return fmt.Errorf("make a folder for the demo: %w", err)
	}
	defer os.RemoveAll(dir)
	logger, err := log.logger(a)
	if err != nil {
		return err
	}
	// The demo ignores the cluster and the account in flags or in the environment.
	cfg, err := a.target.config()
	if err != nil {
		return err
	}
	cfg = cluster.Config{Name: cluster.DefaultName, Storage: cfg.Storage}
	base, err := a.startLocal(ctx, cfg, dir, 0, cfg.Storage == cluster.Azure, logger)
	if err != nil {
		return err
	}
	defer base.close(logger)
	workers, err := a.newWorkers(base, slotsEach(demoWorkers), memoryEach(demoWorkers), log, allowFlag{}, false)
	if err != nil {
		return err
	}
	alive, allGone := context.WithCancelCause(ctx)
	defer allGone(nil)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer workers.Stop(stopTimeout, ctx.Done())
	for range demoWorkers {
		if _, err := workers.Start(); err != nil {
			return err
		}
	}
	processes := workers.Running()
	watching.Go(func() {
		for _, p := range processes {
			<-p.Done()
		}
		allGone(errAllGone)
	})
	c, err := a.connectTo(alive, base.cfg, demoTimeout)
	if err != nil {
		return err
	}
	defer c.Close()
	page, err := a.servePage(base.cfg, httpFlags{address: "127.0.0.1:0"}, logger)
	if err != nil {
		return err
	}
	defer page.close()
	n.say("to look at it: %s", page.url)
	if err := a.demoJob(alive, n, c, workers, job, params, report); err != nil {
		return cmp.Or(context.Cause(alive), err)
	}
	return nil
}

// demoJob submits the job, kills the leader when half of the job is done, and waits for the
// job's end.
func (a *app) demoJob(ctx context.Context, n *narrator, c *client.Client, workers *procs.Supervisor, job jobs.Job, params jobs.Params, report *demoReport) error {
	leader, err := awaitDemoWorkers(ctx, c)
	if err != nil {
		return err
	}
	n.say("%d workers are ready; process %d leads, epoch %d", demoWorkers, leader.PID, leader.Epoch)

	id, err := c.Submit(ctx, job, client.SubmitOptions{Params: params})
	if err != nil {
		return err
	}
	n.say("job %s submitted", id)

	p := newProgress(a.Err)
	defer p.clear()
	s, err := watchUntil(ctx, c, id, p, func(s client.Status) bool { return s.Partitions > 0 && s.Done >= s.Partitions/2 })
	if err != nil {
		return err
	}
	if s.State.Final() {
		return errTooShort
	}
	if leader, err = c.Leader(ctx); err != nil {
		return err
	}
	victim := workers.Find(leader.PID)
	if victim == nil {
		return fmt.Errorf("process %d leads, but this program did not start it", leader.PID)
	}
	victim.Kill()
	report.Killed = leader
	p.clear()
	n.say("half-way: SIGKILL to process %d, the leader", leader.PID)

	// When the new leader has assigned work, the history contains every step of the change of
	// leader.
	takenOver := func(s client.Status) bool {
		if s.Epoch <= leader.Epoch {
			return false
		}
		change, err := changeAfter(ctx, c, leader.Epoch)
		return err == nil && change.FirstAssignment != nil
	}
	if s, err = watchUntil(ctx, c, id, p, takenOver); err != nil {
		return err
	}
	if report.Failover, err = changeAfter(ctx, c, leader.Epoch); err != nil {
		if s.State.Final() {
			return errTooShort
		}
		return err
	}
	p.clear()
	n.failover(report.Failover)

	if s, err = watchUntil(ctx, c, id, p, nil); err != nil {
		return err
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("on the cluster: %w", err)
	}
	o, err := c.Outcome(ctx, id)
	if err != nil {
		return err
	}
	report.Cluster = newOutcome(o)
	p.clear()
	n.say("completed in %s; partitions: %s, executed: %s, of them repeated: %s", duration(o.Finished.Sub(o.Started)),
		humanize.Comma(int64(o.Partitions)), humanize.Comma(int64(o.Executed)), humanize.Comma(int64(o.Repeated)))
	return nil
}

// awaitDemoWorkers waits until the leader knows all workers, and returns the leader.
func awaitDemoWorkers(ctx context.Context, c *client.Client) (client.Leader, error) {
	deadline := time.Now().Add(demoTimeout)
	for {
		answer, err := c.Workers(ctx)
		switch {
		case err != nil:
			return client.Leader{}, err
		case len(answer.Workers) >= demoWorkers:
			return c.Leader(ctx)
		case time.Now().After(deadline):
			return client.Leader{}, absentf("%d workers were started, but only %d have joined after %v", demoWorkers, len(answer.Workers), demoTimeout)
		}
		select {
		case <-ctx.Done():
			return client.Leader{}, ctx.Err()
		case <-time.After(pollInterval):
		}
	}
}

// changeAfter returns the first change of leader after the given epoch.
func changeAfter(ctx context.Context, c *client.Client, epoch uint64) (change, error) {
	terms, err := c.History(ctx)
	if err != nil {
		return change{}, err
	}
	for _, t := range terms {
		if t.Epoch > epoch {
			return newChange(t), nil
		}
	}
	return change{}, fmt.Errorf("the history has no leader after epoch %d", epoch)
}

// narrator prints each event of the demo with the time since the demo's start.
type narrator struct {
	out    io.Writer
	began  time.Time
	silent bool
}

func (n *narrator) printf(format string, args ...any) {
	if !n.silent {
		fmt.Fprintf(n.out, format, args...)
	}
}

func (n *narrator) title(format string, args ...any) { n.printf(format+"\n\n", args...) }

func (n *narrator) say(format string, args ...any) {
	n.printf("%6.1fs  %s\n", time.Since(n.began).Seconds(), fmt.Sprintf(format, args...))
}

// failover prints the steps of the change of leader.
func (n *narrator) failover(c change) {
	n.say("epoch %d is led by %s (cause: %s). After the old leader's last sign of life,", c.Epoch, c.Worker, c.Cause)
	total := 0.0
	for _, step := range []struct {
		until string
		ms    *float64
	}{
		{"it was believed dead", known(c.Detect)},
		{"its lease was taken over", known(c.Elect)},
		{"its writes were fenced off", known(c.Fence)},
		{"work could be assigned again", known(c.Resume)},
		{"a worker was assigned work", c.FirstAssignment},
		{"a worker reported a new result", c.FirstResult},
	} {
		if step.ms != nil {
			total += *step.ms
			n.printf("         %8.1f ms  %s\n", total, step.until)
		}
	}
}

func (n *narrator) verdict(r demoReport) {
	n.printf("\ncluster  sha256 %s\nrun      sha256 %s\n", r.Cluster.SHA256, r.Run.SHA256)
	if r.Same {
		n.printf("\nThe same bytes: %s\n", r.Run.Result)
		return
	}
	n.printf("\nThe bytes differ.\ncluster  %s\nrun      %s\n", r.Cluster.Result, r.Run.Result)
}

// known returns a pointer to ms, or nil if ms is 0, which stands for an unknown duration.
func known(ms float64) *float64 {
	if ms == 0 {
		return nil
	}
	return &ms
}
