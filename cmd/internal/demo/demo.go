// Package demo is the command demo: a cluster on this machine loses its leader.
package demo

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

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/cmd/internal/answer"
	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/cmd/internal/human"
	"github.com/bellwether-compute/bellwether/cmd/internal/inprocess"
	"github.com/bellwether-compute/bellwether/cmd/internal/machine"
	"github.com/bellwether-compute/bellwether/cmd/internal/progress"
	"github.com/bellwether-compute/bellwether/deploy/local/procs"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
)

const (
	jobName      = "primes"
	defaultLimit = "1.2e11" // with this limit the job takes about 20 s on two cores
	workerCount  = 4
	waitTimeout  = 30 * time.Second // timeout of each wait of the demo except the wait for the job
)

// Command returns the command demo.
func Command(a *console.App) *cobra.Command {
	var (
		limit string
		log   console.LogFlags
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
			job, err := a.Job(jobName)
			if err != nil {
				return err
			}
			params, err := job.Params(nil, "limit="+limit)
			if err != nil {
				return console.Usage(err)
			}
			ctx, stop := console.Interruptible(cmd.Context())
			defer stop()
			return run(ctx, a, job, params, log)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().StringVar(&limit, "limit", defaultLimit, "find the primes below this number")
	log.Register(cmd, "error")
	return cmd
}

// comparison is the JSON that the command demo prints.
type comparison struct {
	Killed   client.Leader  `json:"killed"`
	Failover client.Term    `json:"failover"`
	Cluster  answer.Outcome `json:"cluster"`
	Run      answer.Outcome `json:"run"`
	Same     bool           `json:"same"`
}

var (
	errAllGone  = errors.New("all worker processes have ended")
	errTooShort = errors.New("the job ended before another worker led: give a larger --limit")
)

// run runs the job on a cluster and in this process, and compares the bytes of the two
// results.
func run(ctx context.Context, a *console.App, job jobs.Job, params jobs.Params, log console.LogFlags) (err error) {
	n := &narrator{out: a.Out, began: time.Now(), silent: a.Output == console.OutputJSON}
	n.title("%s, by %d worker processes and a NATS server on this machine\n%s", job.Name(), workerCount, params)

	var report comparison
	if err := onCluster(ctx, a, n, job, params, log, &report); err != nil {
		if ctx.Err() != nil {
			return machine.ErrInterrupted
		}
		return err
	}
	n.say("the cluster is stopped and removed; the same job in this process alone:")
	report.Run, _ = inprocess.Run(ctx, a, job, params, jobs.Local{Slots: runtime.GOMAXPROCS(0), Attempts: client.DefaultMaxAttempts}, false)
	if ctx.Err() != nil {
		return machine.ErrInterrupted
	}
	if report.Run.State != client.Completed {
		return fmt.Errorf("in this process, the job %s: %s", report.Run.State, human.FirstLine(report.Run.Error))
	}
	n.say("completed in %s", human.Duration(report.Run.Finished.Sub(*report.Run.Started)))
	report.Same = report.Cluster.SHA256 == report.Run.SHA256 && string(report.Cluster.Result) == string(report.Run.Result)

	if a.Output == console.OutputJSON {
		if err := a.Show(report, nil); err != nil {
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

// onCluster runs the part of the demo that needs a cluster. It stops all processes and
// removes all files before it returns.
func onCluster(ctx context.Context, a *console.App, n *narrator, job jobs.Job, params jobs.Params, log console.LogFlags, report *comparison) error {
	dir, err := os.MkdirTemp("", "bellwether-demo-")
	if err != nil {
		return fmt.Errorf("make a folder for the demo: %w", err)
	}
	defer os.RemoveAll(dir)
	logger, err := log.Logger(a)
	if err != nil {
		return err
	}
	// The demo ignores the cluster and the account in flags or in the environment.
	cfg, err := a.Target.Config()
	if err != nil {
		return err
	}
	cfg = cluster.Config{Name: cluster.DefaultName, Storage: cfg.Storage}
	base, err := machine.Start(ctx, a, cfg, dir, 0, cfg.Storage == cluster.Azure, logger)
	if err != nil {
		return err
	}
	defer base.Close(logger)
	workers, err := machine.NewWorkers(a, base, machine.SlotsEach(workerCount), machine.MemoryEach(workerCount), log, false)
	if err != nil {
		return err
	}
	alive, allGone := context.WithCancelCause(ctx)
	defer allGone(nil)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer workers.Stop(machine.StopTimeout, ctx.Done())
	for range workerCount {
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
	c, err := a.ConnectTo(alive, base.Config, waitTimeout)
	if err != nil {
		return err
	}
	defer c.Close()
	page, err := machine.ServePage(a, base.Config, machine.PageFlags{Address: "127.0.0.1:0"}, logger)
	if err != nil {
		return err
	}
	defer page.Close()
	n.say("to look at it: %s", page.URL)
	if err := runJob(alive, a, n, c, workers, job, params, report); err != nil {
		return cmp.Or(context.Cause(alive), err)
	}
	return nil
}

// runJob submits the job, kills the leader when half of the job is done, and waits for the
// job's end.
func runJob(ctx context.Context, a *console.App, n *narrator, c *client.Client, workers *procs.Supervisor, job jobs.Job, params jobs.Params, report *comparison) error {
	leader, err := awaitWorkers(ctx, c)
	if err != nil {
		return err
	}
	n.say("%d workers are ready; process %d leads, epoch %d", workerCount, leader.PID, leader.Epoch)

	id, err := c.Submit(ctx, job, client.SubmitOptions{Params: params})
	if err != nil {
		return err
	}
	n.say("job %s submitted", id)

	p := progress.New(a.Err)
	defer p.Clear()
	s, err := progress.WatchUntil(ctx, c, id, p, func(s client.Status) bool { return s.Partitions > 0 && s.Done >= s.Partitions/2 })
	if err != nil {
		return err
	}
	if s.State.Final() {
		return errTooShort
	}
	if report.Killed, err = killLeader(ctx, c, workers); err != nil {
		return err
	}
	p.Clear()
	n.say("half-way: SIGKILL to process %d, the leader", report.Killed.PID)
	if report.Failover, err = awaitTakeover(ctx, c, id, p, report.Killed.Epoch); err != nil {
		return err
	}
	p.Clear()
	n.failover(report.Failover)

	if s, err = progress.WatchUntil(ctx, c, id, p, nil); err != nil {
		return err
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("on the cluster: %w", err)
	}
	o, err := c.Outcome(ctx, id)
	if err != nil {
		return err
	}
	report.Cluster = answer.NewOutcome(o)
	p.Clear()
	n.say("completed in %s; partitions: %s, executed: %s, of them repeated: %s", human.Duration(o.Finished.Sub(o.Started)),
		human.Count(o.Partitions), human.Count(o.Executed), human.Count(o.Repeated))
	return nil
}

// awaitWorkers waits until the leader knows all workers, and returns the leader.
func awaitWorkers(ctx context.Context, c *client.Client) (client.Leader, error) {
	deadline := time.Now().Add(waitTimeout)
	for {
		answer, err := c.Workers(ctx)
		switch {
		case err != nil:
			return client.Leader{}, err
		case len(answer.Workers) >= workerCount:
			return c.Leader(ctx)
		case time.Now().After(deadline):
			return client.Leader{}, console.Absentf("%d workers were started, but only %d have joined after %v", workerCount, len(answer.Workers), waitTimeout)
		}
		select {
		case <-ctx.Done():
			return client.Leader{}, ctx.Err()
		case <-time.After(console.PollInterval):
		}
	}
}

// killLeader kills the process that leads and returns it.
func killLeader(ctx context.Context, c *client.Client, workers *procs.Supervisor) (client.Leader, error) {
	leader, err := c.Leader(ctx)
	if err != nil {
		return leader, err
	}
	victim := workers.Find(leader.PID)
	if victim == nil {
		return leader, fmt.Errorf("process %d leads, but this program did not start it", leader.PID)
	}
	victim.Kill()
	return leader, nil
}

// awaitTakeover waits until a leader after the given epoch has assigned work of the job, and returns
// the change of leader. The history then contains every step of the change.
func awaitTakeover(ctx context.Context, c *client.Client, id string, p *progress.Progress, epoch uint64) (client.Term, error) {
	takenOver := func(s client.Status) bool {
		if s.Epoch <= epoch {
			return false
		}
		change, err := changeAfter(ctx, c, epoch)
		return err == nil && change.FirstAssignment != nil
	}
	s, err := progress.WatchUntil(ctx, c, id, p, takenOver)
	if err != nil {
		return client.Term{}, err
	}
	change, err := changeAfter(ctx, c, epoch)
	if err != nil && s.State.Final() {
		return change, errTooShort
	}
	return change, err
}

// changeAfter returns the first change of leader after the given epoch.
func changeAfter(ctx context.Context, c *client.Client, epoch uint64) (client.Term, error) {
	terms, err := c.History(ctx)
	if err != nil {
		return client.Term{}, err
	}
	for _, t := range terms {
		if t.Epoch > epoch {
			return t, nil
		}
	}
	return client.Term{}, fmt.Errorf("the history has no leader after epoch %d", epoch)
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
func (n *narrator) failover(c client.Term) {
	n.say("epoch %d is led by %s (cause: %s). After the old leader's last sign of life,", c.Epoch, c.Worker, c.Cause)
	var total time.Duration
	until := []string{
		"it was believed dead", "its lease was taken over", "its writes were fenced off",
		"work could be assigned again", "a worker was assigned work", "a worker reported a new result",
	}
	for i, took := range c.Phases() {
		if took != nil {
			total += *took
			n.printf("         %8.1f ms  %s\n", total.Seconds()*1000, until[i])
		}
	}
}

func (n *narrator) verdict(r comparison) {
	n.printf("\ncluster  sha256 %s\nrun      sha256 %s\n", r.Cluster.SHA256, r.Run.SHA256)
	if r.Same {
		n.printf("\nThe same bytes: %s\n", r.Run.Result)
		return
	}
	n.printf("\nThe bytes differ.\ncluster  %s\nrun      %s\n", r.Cluster.Result, r.Run.Result)
}
