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
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

const (
	demoJob     = "primes"
	demoLimit   = "1.2e11" // about 20 s on two cores
	demoWorkers = 4
	// demoPatience bounds each wait of the demo but that for the job.
	demoPatience = 30 * time.Second
)

func (a *app) demoCommand() *cobra.Command {
	var (
		limit string
		log   logFlags
	)
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch a flock survive its leader's death, and compare the bytes",
		Long: `Start a NATS server and 4 worker processes on this machine, submit a job, kill the
leader's process half-way, show how the others went on, run the same job in this
process alone, and compare the results byte for byte. It takes about a minute and
leaves nothing behind. The exit status is 0 if the bytes are the same.

With --storage azure, Azurite stands in for Azure Storage. It needs Node.js.`,
		Args: takes(0, 0),
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
	cmd.Flags().StringVar(&limit, "limit", demoLimit, "find the primes below it")
	log.register(cmd)
	cmd.Flags().Lookup("log-level").DefValue = "error"
	log.level = "error"
	return cmd
}

// demoReport is what demo prints as JSON.
type demoReport struct {
	Killed   wire.LeaderInfo `json:"killed"`
	Failover change          `json:"failover"`
	Cluster  outcome         `json:"cluster"`
	Run      outcome         `json:"run"`
	Same     bool            `json:"same"`
}

var (
	errInterrupted = errors.New("interrupted; everything is removed")
	errAllGone     = errors.New("all worker processes have ended")
	errTooShort    = errors.New("the job ended before another leader was there: give a larger --limit")
)

// demo does what the command promises.
func (a *app) demo(ctx context.Context, job jobs.Job, params jobs.Params, log logFlags) (err error) {
	s := &story{out: a.Out, began: time.Now(), silent: a.output == outputJSON}
	s.title("%s, by %d worker processes and a NATS server on this machine\n%s", job.Name(), demoWorkers, params)

	var report demoReport
	if err := a.demoCluster(ctx, s, job, params, log, &report); err != nil {
		if ctx.Err() != nil {
			return errInterrupted
		}
		return err
	}
	s.say("all of it is removed; the same job in this process alone:")
	report.Run = a.run(ctx, job, params, runtime.GOMAXPROCS(0), defaultAttempts)
	if ctx.Err() != nil {
		return errInterrupted
	}
	if report.Run.State != store.Completed {
		return fmt.Errorf("the run in this process is %s: %s", report.Run.State, firstLine(report.Run.Error))
	}
	s.say("completed in %s", duration(report.Run.Finished.Sub(*report.Run.Started)))
	report.Same = report.Cluster.SHA256 == report.Run.SHA256 && string(report.Cluster.Result) == string(report.Run.Result)

	if a.output == outputJSON {
		if err := a.show(report, nil); err != nil {
			return err
		}
	} else {
		s.verdict(report)
	}
	if !report.Same {
		return errors.New("the bytes differ")
	}
	return nil
}

// demoCluster is the part of the demo that needs a cluster. Nothing of it is left
// when it returns.
func (a *app) demoCluster(ctx context.Context, s *story, job jobs.Job, params jobs.Params, log logFlags, report *demoReport) error {
	dir, err := os.MkdirTemp("", "bellwether-demo-")
	if err != nil {
		return fmt.Errorf("make a folder for the demo: %w", err)
	}
	defer os.RemoveAll(dir)
	logger, err := log.logger(a)
	if err != nil {
		return err
	}
	// A cluster or an account that flags or the environment name is left alone.
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
	workers, err := a.newWorkers(base, slotsEach(demoWorkers), log, false)
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
	c, err := a.open(alive, base.cfg)
	if err != nil {
		return err
	}
	defer c.close()
	if err := a.demoJob(alive, s, c, workers, job, params, report); err != nil {
		return cmp.Or(context.Cause(alive), err)
	}
	return nil
}

// demoJob submits the job, kills its leader half-way and waits for the end.
func (a *app) demoJob(ctx context.Context, s *story, c *clusterConn, workers *procs.Supervisor, job jobs.Job, params jobs.Params, report *demoReport) error {
	leader, err := c.awaitWorkers(ctx, demoWorkers)
	if err != nil {
		return err
	}
	s.say("%d workers are there; process %d leads, epoch %d", demoWorkers, leader.PID, leader.Epoch)

	spec := store.Spec{Job: job.Name(), Version: job.Version(), Params: params, MaxAttempts: defaultAttempts}
	if err := c.submit(ctx, &spec); err != nil {
		return err
	}
	s.say("job %s submitted", spec.ID)

	p := newProgress(a.Err)
	defer p.clear()
	half := func(j jobStatus) bool { return j.Partitions > 0 && j.Done >= j.Partitions/2 }
	r, err := c.awaitStatus(ctx, spec.ID, p, half)
	if err != nil {
		return err
	}
	if r.manifest.State.Final() {
		return errTooShort
	}
	if leader, err = insist[wire.LeaderInfo](ctx, c, wire.AskLeader, nil); err != nil {
		return err
	}
	victim := workers.Find(leader.PID)
	if victim == nil {
		return fmt.Errorf("process %d leads, but is none of the flock", leader.PID)
	}
	victim.Kill()
	report.Killed = leader
	p.clear()
	s.say("half-way: SIGKILL to process %d, the leader", leader.PID)

	// The history has the whole change of leader once work was given out again.
	takenOver := func(j jobStatus) bool {
		if j.Epoch <= leader.Epoch {
			return false
		}
		change, err := c.changeAfter(ctx, leader.Epoch)
		return err == nil && change.FirstAssignment > 0
	}
	if r, err = c.awaitStatus(ctx, spec.ID, p, takenOver); err != nil {
		return err
	}
	if report.Failover, err = c.changeAfter(ctx, leader.Epoch); err != nil {
		if r.manifest.State.Final() {
			return errTooShort
		}
		return err
	}
	p.clear()
	s.failover(report.Failover)

	if r, err = c.awaitStatus(ctx, spec.ID, p, nil); err != nil {
		return err
	}
	if report.Cluster, err = c.outcome(ctx, r); err != nil {
		return err
	}
	if report.Cluster.State != store.Completed {
		return fmt.Errorf("the cluster's job is %s: %s", report.Cluster.State, firstLine(report.Cluster.Error))
	}
	p.clear()
	o := report.Cluster
	s.say("completed in %s; partitions: %s, executed: %s, of them repeated: %s",
		duration(o.Finished.Sub(*o.Started)), humanize.Comma(int64(o.Partitions)), humanize.Comma(int64(o.Executed)), humanize.Comma(int64(o.Repeated)))
	return nil
}

// awaitWorkers waits until so many workers are there, and returns who leads.
func (c *clusterConn) awaitWorkers(ctx context.Context, n int) (wire.LeaderInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, demoPatience)
	defer cancel()
	for {
		answer, err := ask[wire.Workers](ctx, c, wire.AskWorkers, nil, askTimeout)
		if err == nil && len(answer.Workers) >= n {
			return insist[wire.LeaderInfo](ctx, c, wire.AskLeader, nil)
		}
		if err != nil && !errors.Is(err, errNoLeader) {
			return wire.LeaderInfo{}, err
		}
		select {
		case <-ctx.Done():
			return wire.LeaderInfo{}, absentf("%d workers were started, but %d are there after %v", n, len(answer.Workers), demoPatience)
		case <-time.After(askInterval):
		}
	}
}

// changeAfter is the first change of leader after an epoch.
func (c *clusterConn) changeAfter(ctx context.Context, epoch uint64) (change, error) {
	terms, err := c.store.Terms(ctx)
	if err != nil {
		return change{}, c.explain(fmt.Errorf("read the history: %w", err))
	}
	for _, t := range terms {
		if t.Epoch > epoch {
			return newChange(t), nil
		}
	}
	return change{}, fmt.Errorf("the history has no leader after epoch %d", epoch)
}

// story tells what happens, with the time since it began.
type story struct {
	out    io.Writer
	began  time.Time
	silent bool
}

func (s *story) printf(format string, args ...any) {
	if !s.silent {
		fmt.Fprintf(s.out, format, args...)
	}
}

func (s *story) title(format string, args ...any) { s.printf(format+"\n\n", args...) }

func (s *story) say(format string, args ...any) {
	s.printf("%6.1fs  %s\n", time.Since(s.began).Seconds(), fmt.Sprintf(format, args...))
}

// failover tells how the change of leader went.
func (s *story) failover(c change) {
	s.say("epoch %d is led by %s (cause: %s). After the old leader's last sign of life,", c.Epoch, c.Worker, c.Cause)
	total := 0.0
	for _, step := range []struct {
		until string
		ms    float64
	}{
		{"it was believed dead", c.Detect},
		{"its lease was taken over", c.Elect},
		{"its writes were fenced off", c.Fence},
		{"work could be handed out again", c.Resume},
		{"a worker was given work", c.FirstAssignment},
		{"a worker reported something new", c.FirstResult},
	} {
		if step.ms > 0 {
			total += step.ms
			s.printf("         %8.1f ms  %s\n", total, step.until)
		}
	}
}

func (s *story) verdict(r demoReport) {
	s.printf("\ncluster  sha256 %s\nrun      sha256 %s\n", r.Cluster.SHA256, r.Run.SHA256)
	if r.Same {
		s.printf("\nThe same bytes: %s\n", r.Run.Result)
		return
	}
	s.printf("\nThe bytes differ.\ncluster  %s\nrun      %s\n", r.Cluster.Result, r.Run.Result)
}
