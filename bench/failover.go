package bench

import (
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
	"github.com/bellwether-compute/bellwether/jobs/primes"
)

// How a leader is made to lead no more.
type How string

// The ways.
const (
	Kill     How = "kill"      // SIGKILL: its process dies at once
	Term     How = "term"      // SIGTERM: its process stops in order and hands over
	Stop     How = "stop"      // SIGSTOP: its process stands still until all is measured, then goes on
	StepDown How = "step-down" // it is asked to hand over, and goes on as a worker
)

// FailoverConfig says what failovers to measure.
type FailoverConfig struct {
	Cluster *client.Client

	// Workers is how many the cluster has before each failover.
	Workers int

	// Flock is the workers' processes, none of which is replaced by itself, and
	// Traces the folder that their definitions leave traces in (see [Traced]). Without
	// a flock, How must be StepDown, and throughput is what the leader says of it,
	// which is only as fine as the reports that it gets.
	Flock  *procs.Supervisor
	Traces string

	How       How
	Failovers int           // 1 to MaxFailovers
	Watch     time.Duration // how long throughput is watched after each; a second to MaxWatch

	// Job is what the cluster works on meanwhile; it must last until the end. The
	// zero Job is primes, as many as it takes.
	Job    jobs.Job
	Params jobs.Params

	// Verify has the job run to its end, and once more in this process, which takes
	// about as long: the bytes must be the same. Otherwise it is cancelled.
	Verify bool

	// Progress is told what is being done and, where all is above 0, how far it is.
	// It may be nil, and is called from several goroutines at once.
	Progress func(doing string, done, all uint64)
}

// What more would say nothing new.
const (
	MaxFailovers = 1000
	MaxWatch     = 10 * time.Minute
)

// ErrJobGoesOn: the job on a running cluster, which nobody needs any more, could not be
// cancelled.
var ErrJobGoesOn = errors.New("the job goes on")

func (c FailoverConfig) validate() error {
	switch {
	case c.Workers < 2:
		return fmt.Errorf("a failover takes at least 2 workers, got %d", c.Workers)
	case c.Failovers < 1 || c.Failovers > MaxFailovers:
		return fmt.Errorf("want 1 to %d failovers, got %d", MaxFailovers, c.Failovers)
	case c.Watch < time.Second || c.Watch > MaxWatch:
		return fmt.Errorf("want to watch for 1s to %v, got %v", MaxWatch, c.Watch)
	case c.How != Kill && c.How != Term && c.How != Stop && c.How != StepDown:
		return fmt.Errorf("a leader is made to lead no more by kill, term, stop or step-down, not by %q", c.How)
	case c.How == Stop && !canFreeze:
		return errors.New("processes of this system cannot be stopped and go on")
	case (c.How == StepDown) != (c.Flock == nil):
		return errors.New("a leader is asked to step down where its process is somebody else's, and only there")
	}
	return nil
}

// settling is how long a cluster that is complete gets to work as such.
const settling = 250 * time.Millisecond

// calm is the time before each failover in which nothing happens, and steady the time
// after Watch that throughput is set against. Both are whole windows, and together at
// least as many as Watch has.
func (c FailoverConfig) calm() time.Duration {
	return max(steadyBefore, (c.Watch - c.steady()).Truncate(window))
}

func (c FailoverConfig) steady() time.Duration {
	return max(time.Second, (c.Watch * 3 / 5).Truncate(window))
}

// lasts is about how long all failovers take.
func (c FailoverConfig) lasts() time.Duration {
	const replacing = 1500 * time.Millisecond
	return time.Duration(c.Failovers) * (settling + c.calm() + c.Watch + c.steady() + replacing)
}

// Failover measures what it costs when a leader dies or leaves: it has a cluster
// work, makes its leader lead no more, watches, and does so again.
func Failover(ctx context.Context, cfg FailoverConfig) (FailoverReport, error) {
	if cfg.Progress == nil {
		cfg.Progress = func(string, uint64, uint64) {}
	}
	if err := cfg.validate(); err != nil {
		return FailoverReport{}, fmt.Errorf("configure failover benchmark: %w", err)
	}
	r, err := (&failover{FailoverConfig: cfg}).run(ctx)
	if err != nil {
		return FailoverReport{}, fmt.Errorf("measure failover: %w", err)
	}
	return r, nil
}

// failover is a run of the benchmark.
type failover struct {
	FailoverConfig
	slots   int
	id      string // of the job
	outages []outage
	samples samples
}

// outage is one leader's end.
type outage struct {
	at     time.Time   // when it came
	victim int         // the process that works no more, or not for a while; 0: none
	term   client.Term // of the next leader
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
		// Nobody needs the job any more; a flock's ends with it.
		err = errors.Join(err, f.giveUp(context.WithoutCancel(ctx)))
	}
	return report, err
}

// giveUp cancels the job unless it has ended by itself.
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
	if err := f.dealAll(ctx); err != nil {
		return report, err
	}
	if f.Verify {
		if err := f.verify(ctx, &report); err != nil {
			return report, err
		}
	}
	return report, f.count(ctx, &report)
}

// begin submits the job and waits until it is under way.
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
	err = until(ctx, "the job is under way", look, func(ctx context.Context) (bool, error) {
		if ended = f.stillRuns(ctx); ended != nil {
			return true, nil
		}
		p, err := f.Cluster.Progress(ctx, f.id)
		return err == nil && p.Done > 0, err
	})
	return errors.Join(err, ended)
}

// stillRuns fails where the job has ended. Where storage is away, it has not.
func (f *failover) stillRuns(ctx context.Context) error {
	s, err := f.Cluster.Status(ctx, f.id)
	switch {
	case errors.Is(err, client.ErrUnavailable):
		return nil
	case err != nil:
		return err
	case s.State == client.Completed:
		return errors.New("the job ended before the last failover was over: it is too short")
	case s.State.Final():
		return s.Err()
	}
	return nil
}

// size makes the job of primes that last a bit longer than the failovers.
func (f *failover) size(ctx context.Context) error {
	busy := f.lasts()*5/4 + 5*time.Second // of which the last are the job's end, where work is short
	slots := f.slots
	if f.Flock != nil {
		slots = min(slots, runtime.GOMAXPROCS(0))
	}
	p, err := primesFor(ctx, slots, busy)
	if err != nil {
		return err
	}
	if p.Limit == mostLimit {
		return fmt.Errorf("the longest load that there is may end before %v, which this takes: fewer failovers, or a shorter watch", busy.Round(time.Second))
	}
	f.Job = jobs.MustNew(primes.Definition)
	f.Params, err = f.Job.Params(nil, fmt.Sprint("limit=", p.Limit), fmt.Sprint("width=", p.Width))
	return err
}

// dealAll deals with one leader after the other.
func (f *failover) dealAll(ctx context.Context) error {
	var sampling sync.WaitGroup
	defer sampling.Wait()
	sampled, stop := context.WithCancel(ctx)
	defer stop()
	if f.Flock == nil {
		sampling.Go(func() { f.samples.take(sampled, f.Cluster, f.id) })
	}
	for i := range f.Failovers {
		f.Progress(fmt.Sprintf("failover %d of %d", i+1, f.Failovers), uint64(i), uint64(f.Failovers))
		if err := f.deal(ctx); err != nil {
			return fmt.Errorf("failover %d: %w", i+1, err)
		}
	}
	return nil
}

func (f *failover) deal(ctx context.Context) error {
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
	o := outage{}
	recover, err := f.strike(ctx, leader, &o)
	if err != nil {
		return err
	}
	if err := wait(ctx, f.Watch+f.steady()); err != nil {
		return errors.Join(err, recover())
	}
	err = until(ctx, fmt.Sprintf("a leader after epoch %d can give work", leader.Epoch), look, func(ctx context.Context) (bool, error) {
		if o.term, err = lastTerm(ctx, f.Cluster); err != nil {
			return false, err
		}
		return o.term.Epoch > leader.Epoch && o.term.Resume > 0, nil
	})
	if err := errors.Join(err, recover()); err != nil {
		return err
	}
	if err := f.stillRuns(ctx); err != nil {
		return err
	}
	f.outages = append(f.outages, o)
	return nil
}

// strike makes the leader lead no more. What it returns makes the cluster what it
// was.
func (f *failover) strike(ctx context.Context, leader client.Leader, o *outage) (recover func() error, err error) {
	if f.How == StepDown {
		o.at = time.Now()
		_, err := f.Cluster.StepDown(ctx)
		return func() error { return nil }, err
	}
	p := f.Flock.Find(leader.PID)
	if p == nil {
		return nil, fmt.Errorf("the leader, process %d, is none of the flock", leader.PID)
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

// verify lets the job end and compares its bytes with those of one process.
func (f *failover) verify(ctx context.Context, report *FailoverReport) error {
	m, err := finish(ctx, f.Cluster, f.id, func(done, all uint64) { f.Progress("waiting for the job's end", done, all) })
	if err != nil {
		return err
	}
	report.Partitions, report.Executed, report.SHA256 = m.Partitions, m.Executed, m.SHA256
	want, err := inOneProcess(ctx, f.Job, f.Params, func(done, all uint64) { f.Progress("the same in one process", done, all) })
	if err != nil {
		return err
	}
	sum := sha256.Sum256(want)
	same := hex.EncodeToString(sum[:]) == m.SHA256
	report.Same = &same
	return nil
}

// count turns what was seen into figures.
func (f *failover) count(ctx context.Context, report *FailoverReport) error {
	if err := f.completeTerms(ctx); err != nil {
		return err
	}
	if f.Flock == nil {
		report.Failovers = f.outagesBy(f.samples.between)
		for i, o := range f.outages {
			if !f.fineEnough(o) {
				report.Failovers[i].Shares = nil
			}
		}
	} else {
		executions, err := readTraces(f.Traces)
		if err != nil {
			return err
		}
		report.Failovers = f.outagesBy(countOf(executions))
		for i, repeats := range countAgain(f.outages, executions, f.Watch+f.steady(), f.slots) {
			report.Failovers[i].Repeats = repeats
		}
	}
	report.summarize()
	return nil
}

func (f *failover) outagesBy(done completed) []Outage {
	var all []Outage
	for _, o := range f.outages {
		all = append(all, newOutage(o, done, f.calm(), f.Watch, f.steady()))
	}
	return all
}

// fineEnough reports whether the leader hears of results so often that windows mean
// something, while nothing happens.
func (f *failover) fineEnough(o outage) bool {
	settled := o.at.Add(f.Watch)
	news := f.samples.news(o.at.Add(-f.calm()), o.at) + f.samples.news(settled, settled.Add(f.steady()))
	return news >= int((f.calm()+f.steady())/window)
}

// completeTerms reads what became of the terms after they were looked at: workers
// hold work ahead, and a leader gives them some only once they want more.
func (f *failover) completeTerms(ctx context.Context) error {
	terms, err := f.Cluster.History(ctx)
	if err != nil {
		return err
	}
	for i := range f.outages {
		for _, t := range terms {
			if t.Epoch == f.outages[i].term.Epoch {
				f.outages[i].term = t
			}
		}
	}
	return nil
}
