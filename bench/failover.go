package bench

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/bellwether-compute/bellwether/deploy/local/procs"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/field"
	"github.com/bellwether-compute/bellwether/jobs/primes"
)

// How is the method by which a leader is removed.
type How string

const (
	Kill     How = "kill"      // SIGKILL: the leader's process dies at once
	Term     How = "term"      // SIGTERM: the leader's process hands over leadership and drains
	Stop     How = "stop"      // SIGSTOP: the leader's process is suspended, and continued when the failover has been measured
	StepDown How = "step-down" // the leader is asked to hand over leadership, and continues as a worker
)

// FailoverConfig configures Failover.
type FailoverConfig struct {
	Cluster *client.Client

	// Workers is the number of workers before each failover.
	Workers int

	// Flock is the supervisor of the worker processes. Flock must not restart processes that end.
	// Traces is the folder in which the workers' job definitions record executions (see [Traced]).
	// For a cluster that another program runs, Flock is nil and Traces is empty. Without a Flock,
	// How must be [StepDown], and throughput is computed from the number of completed partitions
	// that the leader reports.
	Flock  *procs.Supervisor
	Traces string

	How       How
	Failovers int           // number of failovers, 1 to MaxFailovers
	Watch     time.Duration // time after each failover during which throughput is measured; 1 s to MaxWatch

	// Job is the job that runs during the failovers. The job must last until the last failover is
	// over. If Job is the zero Job, Failover uses the job primes with parameters that last long
	// enough.
	Job    jobs.Job
	Params jobs.Params

	// If Verify is true, Failover lets the job run to its end, runs the same job in this process,
	// and compares the bytes of both results. The run in this process takes about as long as the
	// first run. If Verify is false, Failover cancels the job after the last failover.
	Verify bool

	// Progress, if not nil, is called with the current activity. If the argument all is above 0,
	// done/all is the progress of the activity. Progress may be called from several goroutines.
	Progress func(doing string, done, all uint64)
}

const (
	MaxFailovers = 1000
	MaxWatch     = 10 * time.Minute
)

// ErrJobGoesOn is the error if the benchmark's job could not be cancelled on a cluster that
// continues to run.
var ErrJobGoesOn = errors.New("the job is still running")

func (c FailoverConfig) validate() error {
	return cmp.Or(
		field.Check(c.Workers >= 2, "Workers", c.Workers, "at least 2"),
		field.Check(c.Failovers >= 1 && c.Failovers <= MaxFailovers, "Failovers", c.Failovers, "1 to %d", MaxFailovers),
		field.Check(c.Watch >= time.Second && c.Watch <= MaxWatch, "Watch", c.Watch, "1s to %v", MaxWatch),
		field.Check(c.How == Kill || c.How == Term || c.How == Stop || c.How == StepDown, "How", string(c.How), "kill, term, stop or step-down"),
		field.Check(c.How != Stop || canFreeze, "How", string(c.How), "another way, because this system cannot freeze processes"),
		field.Check((c.How == StepDown) == (c.Flock == nil), "How", string(c.How), "step-down without a Flock, and only then"),
	)
}

// settling is the time that a cluster needs to reach its usual throughput after all workers have
// joined.
const settling = 250 * time.Millisecond

// calm returns the length of the time without faults before each failover, and steady returns the
// length of the time without faults after Watch. Throughput is compared with the rate during the
// steady time. The lengths of calm and steady are whole numbers of windows, and their sum is at
// least Watch.
func (c FailoverConfig) calm() time.Duration {
	return max(steadyBefore, (c.Watch - c.steady()).Truncate(window))
}

func (c FailoverConfig) steady() time.Duration {
	return max(time.Second, (c.Watch * 3 / 5).Truncate(window))
}

// lasts estimates the total duration of all failovers.
func (c FailoverConfig) lasts() time.Duration {
	const replacing = 1500 * time.Millisecond
	return time.Duration(c.Failovers) * (settling + c.calm() + c.Watch + c.steady() + replacing)
}

// Failover measures the cost of losing a leader. Failover keeps a cluster busy and removes the
// leader several times.
func Failover(ctx context.Context, cfg FailoverConfig) (FailoverReport, error) {
	return measure("failover", &cfg.Progress, cfg.validate(), func() (FailoverReport, error) {
		return (&failover{FailoverConfig: cfg}).run(ctx)
	})
}

type failover struct {
	FailoverConfig
	slots     int
	id        string // ID of the job
	takeovers []takeover
	samples   samples
}

type takeover struct {
	at     time.Time   // time at which the leader was lost
	victim int         // ID of the process that was killed or suspended; 0 if no process was killed or suspended
	term   client.Term // term of the next leader
}

func (f *failover) run(ctx context.Context) (FailoverReport, error) {
	f.Progress("waiting for the workers", 0, 0)
	workers, err := awaitWorkers(ctx, f.Cluster, f.Workers)
	if err != nil {
		return FailoverReport{}, err
	}
	f.slots = slots(workers)
	report, err := f.measure(ctx)
	if f.Flock == nil && f.id != "" && (err != nil || !f.Verify) {
		// The cluster continues to run after the benchmark, and its workers would continue the job.
		err = errors.Join(err, f.giveUp(context.WithoutCancel(ctx)))
	}
	return report, err
}

func (f *failover) giveUp(ctx context.Context) error {
	err := cancel(ctx, f.Cluster, f.id)
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrJobGoesOn, err)
}

func (f *failover) measure(ctx context.Context) (FailoverReport, error) {
	if err := f.begin(ctx); err != nil {
		return FailoverReport{}, err
	}
	report := FailoverReport{How: f.How, Workers: f.Workers, Slots: f.slots, Job: f.Job.Name(), Params: f.Params, Failovers: []Outage{}}
	if err := f.measureAll(ctx); err != nil {
		return report, err
	}
	if f.Verify {
		if err := f.verify(ctx, &report); err != nil {
			return report, err
		}
	}
	return report, f.evaluate(ctx, &report)
}

func (f *failover) begin(ctx context.Context) error {
	if f.Job.Name() == "" {
		f.Progress("sizing the load", 0, 0)
		if err := f.size(ctx); err != nil {
			return err
		}
	}
	id, err := f.Cluster.Submit(ctx, f.Job, client.SubmitOptions{Params: f.Params})
	if err != nil {
		return err
	}
	f.id = id
	f.Progress("waiting for the job's first results", 0, 0)
	var ended error
	err = until(ctx, "the job has first results", look, func(ctx context.Context) (bool, error) {
		if ended = f.stillRuns(ctx); ended != nil {
			return true, nil
		}
		p, err := f.Cluster.Progress(ctx, f.id)
		return err == nil && p.Done > 0, err
	})
	return errors.Join(err, ended)
}

// stillRuns returns an error if the job has ended, and nil if storage is unavailable.
func (f *failover) stillRuns(ctx context.Context) error {
	s, err := f.Cluster.Status(ctx, f.id)
	switch {
	case errors.Is(err, client.ErrUnavailable):
		return nil
	case err != nil:
		return err
	case s.State == client.Completed:
		return errors.New("the job ended before the last failover was over: use a longer job")
	case s.State.Final():
		return s.Err()
	}
	return nil
}

// size chooses parameters for the job primes so that it takes a little longer than all failovers.
func (f *failover) size(ctx context.Context) error {
	busy := f.lasts()*5/4 + 5*time.Second // longer than all failovers, because the end of the job, when workers run out of work, must not be measured
	slots := f.slots
	if f.Flock != nil {
		slots = min(slots, runtime.GOMAXPROCS(0))
	}
	p, err := primesFor(ctx, slots, busy)
	if err != nil {
		return err
	}
	if p.Limit == mostLimit {
		return fmt.Errorf("the longest load may end before the failovers, which take %v: want fewer failovers, or a shorter watch", busy.Round(time.Second))
	}
	f.Job = jobs.MustNew(primes.Definition)
	f.Params, err = f.Job.Params(nil, fmt.Sprint("limit=", p.Limit), fmt.Sprint("width=", p.Width))
	return err
}

func (f *failover) measureAll(ctx context.Context) error {
	var sampling sync.WaitGroup
	defer sampling.Wait()
	sampled, stop := context.WithCancel(ctx)
	defer stop()
	if f.Flock == nil {
		sampling.Go(func() { f.samples.take(sampled, f.Cluster, f.id) })
	}
	for i := range f.Failovers {
		f.Progress(fmt.Sprintf("failover %d of %d", i+1, f.Failovers), uint64(i), uint64(f.Failovers))
		if err := f.measureOne(ctx); err != nil {
			return fmt.Errorf("failover %d: %w", i+1, err)
		}
	}
	return nil
}

func (f *failover) measureOne(ctx context.Context) error {
	if _, err := awaitWorkers(ctx, f.Cluster, f.Workers); err != nil {
		return err
	}
	if err := wait(ctx, settling+f.calm()); err != nil {
		return err
	}
	leader, err := leader(ctx, f.Cluster)
	if err != nil {
		return err
	}
	o := takeover{}
	restore, err := f.removeLeader(ctx, leader, &o)
	if err != nil {
		return err
	}
	if err := wait(ctx, f.Watch+f.steady()); err != nil {
		return errors.Join(err, restore())
	}
	err = until(ctx, fmt.Sprintf("a leader after epoch %d can give work", leader.Epoch), look, func(ctx context.Context) (bool, error) {
		if o.term, err = lastTerm(ctx, f.Cluster); err != nil {
			return false, err
		}
		return o.term.Epoch > leader.Epoch && o.term.Resume > 0, nil
	})
	if err := errors.Join(err, restore()); err != nil {
		return err
	}
	if err := f.stillRuns(ctx); err != nil {
		return err
	}
	f.takeovers = append(f.takeovers, o)
	return nil
}

// removeLeader removes the leader. The returned function resumes or replaces the leader's process.
func (f *failover) removeLeader(ctx context.Context, leader client.Leader, o *takeover) (restore func() error, err error) {
	if f.How == StepDown {
		o.at = time.Now()
		_, err := f.Cluster.StepDown(ctx)
		return func() error { return nil }, err
	}
	p := f.Flock.Find(leader.PID)
	if p == nil {
		return nil, fmt.Errorf("the leader, process %d, is not one of the benchmark's workers", leader.PID)
	}
	o.at, o.victim = time.Now(), leader.PID
	switch f.How {
	case Stop:
		freeze(p)
		return func() error { thaw(p); return nil }, nil
	case Term:
		p.Signal(syscall.SIGTERM)
	case Kill:
		p.Kill()
	}
	return func() error {
		<-p.Done()
		_, err := f.Flock.Start()
		return err
	}, nil
}

// verify waits for the job's end and compares the result with that of a run in this process.
func (f *failover) verify(ctx context.Context, report *FailoverReport) error {
	m, err := finish(ctx, f.Cluster, f.id, func(done, all uint64) { f.Progress("waiting for the job's end", done, all) })
	if err != nil {
		return err
	}
	report.Partitions, report.Executed, report.SHA256 = m.Partitions, m.Executed, m.SHA256
	want, err := inOneProcess(ctx, f.Job, f.Params, func(done, all uint64) { f.Progress("running the job in one process", done, all) })
	if err != nil {
		return err
	}
	sum := sha256.Sum256(want)
	same := hex.EncodeToString(sum[:]) == m.SHA256
	report.Same = &same
	return nil
}

func (f *failover) evaluate(ctx context.Context, report *FailoverReport) error {
	if err := f.completeTerms(ctx); err != nil {
		return err
	}
	if f.Flock == nil {
		report.Failovers = f.figures(f.samples.between)
		for i, o := range f.takeovers {
			if !f.fineEnough(o) {
				report.Failovers[i].Shares = nil
			}
		}
	} else {
		executions, err := readTraces(f.Traces)
		if err != nil {
			return err
		}
		report.Failovers = f.figures(countOf(executions))
		for i, repeats := range countRepeats(f.takeovers, executions, f.Watch+f.steady(), f.slots) {
			report.Failovers[i].Repeats = repeats
		}
	}
	report.summarize()
	return nil
}

func (f *failover) figures(done completed) []Outage {
	var all []Outage
	for _, o := range f.takeovers {
		all = append(all, newOutage(o, done, f.calm(), f.Watch, f.steady()))
	}
	return all
}

// fineEnough reports whether the leader receives results at least once per window on average.
func (f *failover) fineEnough(o takeover) bool {
	settled := o.at.Add(f.Watch)
	news := f.samples.news(o.at.Add(-f.calm()), o.at) + f.samples.news(settled, settled.Add(f.steady()))
	return news >= int((f.calm()+f.steady())/window)
}

// completeTerms reads the terms of all failovers again. The first assignment of a term may come
// long after the term's start, because workers hold work in advance.
func (f *failover) completeTerms(ctx context.Context) error {
	terms, err := f.Cluster.History(ctx)
	if err != nil {
		return err
	}
	for i := range f.takeovers {
		for _, t := range terms {
			if t.Epoch == f.takeovers[i].term.Epoch {
				f.takeovers[i].term = t
			}
		}
	}
	return nil
}
