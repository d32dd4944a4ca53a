package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/deploy/local/procs"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/field"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// AggregateConfig is the configuration of [Aggregate].
type AggregateConfig struct {
	// Cluster is a client of a cluster whose workers are the processes of Flock and whose NATS
	// server runs in this process. The workers know the jobs [Vectors] and [VectorShards].
	Cluster *client.Client
	Flock   *procs.Supervisor
	Workers int

	Shapes []AggregateShape
	Shard  uint64 // size in bytes of a shard, a multiple of 64 KiB, if the job is [VectorShards]; 0 if it is [Vectors]
	Rounds int    // number of rounds, each of which measures every shape as a plain loop, as a job in this process and as a job in the cluster
	Kill   Victim

	Progress func(doing string, done, all uint64) // function that is called with the current activity; may be called from several goroutines
}

// AggregateShape is a number of vectors, and the size of each vector in bytes, which is a multiple
// of 8.
type AggregateShape struct {
	Bytes      uint64 `json:"bytes"`
	Partitions uint64 `json:"partitions"`
}

// Victim is the process that is killed while a job runs.
type Victim string

const (
	KillNobody Victim = ""
	KillLeader Victim = "leader"
	KillWorker Victim = "worker" // a worker that is not the leader
)

func (c AggregateConfig) validate() error {
	errs := []error{
		field.Check(c.Flock != nil, "Flock", nil, "the processes of the workers"),
		field.Check(c.Workers >= 1, "Workers", c.Workers, "at least 1"),
		field.Check(c.Rounds >= 1, "Rounds", c.Rounds, "at least 1"),
		field.Check(len(c.Shapes) > 0, "Shapes", nil, "at least one"),
		field.Check(c.Shard%checkedBlock == 0, "Shard", c.Shard, "a multiple of %d", checkedBlock),
		field.Check(c.Kill == KillNobody || c.Kill == KillLeader || c.Kill == KillWorker, "Kill", string(c.Kill), "%q, %q or nothing", KillLeader, KillWorker),
		field.Check(c.Kill == KillNobody || c.Workers >= 2, "Workers", c.Workers, "at least 2 if one is killed"),
	}
	for _, s := range c.Shapes {
		errs = append(errs, field.Check(s.Bytes >= 8 && s.Bytes%8 == 0 && s.Partitions >= 1, "Shapes", s, "at least 1 vector of a multiple of 8 bytes"))
	}
	return cmp.Or(errs...)
}

// Aggregate measures the speed at which a cluster adds vectors. For comparison Aggregate also
// measures two plain loops that reuse their memory, and a run of the same job in this process, each
// with one goroutine per core. One loop adds in turn, the other as the job does: pairwise, so that
// the result does not depend on which worker adds what, or shard by shard.
func Aggregate(ctx context.Context, cfg AggregateConfig) (AggregateReport, error) {
	return measure("aggregation", &cfg.Progress, cfg.validate(), func() (AggregateReport, error) {
		a := &aggregation{cfg, jobs.MustNew(Vectors), runtime.GOMAXPROCS(0)}
		if cfg.Shard > 0 {
			a.job = jobs.MustNewSharded(VectorShards)
		}
		return a.run(ctx)
	})
}

type aggregation struct {
	AggregateConfig
	job   jobs.Job
	cores int
}

func (a *aggregation) run(ctx context.Context) (AggregateReport, error) {
	report := AggregateReport{Workers: a.Workers, Cores: a.cores, Shard: a.Shard, Kill: a.Kill}
	rounds := make([][]aggregateRound, len(a.Shapes))
	all := uint64(a.Rounds * len(a.Shapes))
	for n := range all {
		i := n % uint64(len(a.Shapes))
		r, err := a.round(ctx, a.Shapes[i], n, all)
		if err != nil {
			return report, fmt.Errorf("%v: %w", a.Shapes[i], err)
		}
		rounds[i] = append(rounds[i], r)
	}
	for i, list := range rounds {
		report.Points = append(report.Points, newAggregatePoint(a.Shapes[i], list))
	}
	return report, nil
}

// aggregateRound contains the measurements of a shape in one round.
type aggregateRound struct {
	loop, alike float64 // durations in seconds of the plain loop that adds in turn, and of the one that adds as the job does
	local       float64 // duration in seconds of the job in this process
	first       float64 // duration in seconds of the run before cluster
	cluster     clusterRun
	killed      clusterRun // run in which a process was killed; zero if the round has no such run
}

// clusterRun contains the measurements of one run of the job in the cluster.
type clusterRun struct {
	seconds   float64 // time from the submission to the durable result
	processes []ProcessUse
	epochs    int
	repeated  uint64    // number of repeated executions of partitions, or of partitions that were lost with the leader
	pings     []float64 // times in seconds until the leader answered pings
}

func (a *aggregation) round(ctx context.Context, s AggregateShape, done, all uint64) (r aggregateRound, err error) {
	params := VectorParams{Partitions: s.Partitions, Length: int(s.Bytes / 8)}
	stored, err := a.params(params)
	if err != nil {
		return r, err
	}
	a.Progress(fmt.Sprintf("%v: plain loop", s), done, all)
	began := time.Now()
	want, err := vectorLoop(ctx, params, adders(a.cores, newInTurn))
	if err != nil {
		return r, err
	}
	r.loop = time.Since(began).Seconds()
	debug.FreeOSMemory() // must happen before the cluster's run, which measures the memory of this process

	a.Progress(fmt.Sprintf("%v: plain loop, %s", s, a.manner()), done, all)
	if r.alike, err = a.loopAlike(ctx, params, want); err != nil {
		return r, err
	}
	debug.FreeOSMemory()

	a.Progress(fmt.Sprintf("%v: in one process", s), done, all)
	began = time.Now()
	local, err := jobs.Local{Slots: a.cores, Attempts: 1}.Run(ctx, a.job, stored)
	if err != nil {
		return r, err
	}
	r.local = time.Since(began).Seconds()
	if string(local.Result) != string(want) {
		return r, fmt.Errorf("the result of the run in one process is %s, that of the loop %s", local.Result, want)
	}
	debug.FreeOSMemory()

	// The first run does not count: the first write to the memory of a new process may take ten times as
	// long as the computation of a partial.
	a.Progress(fmt.Sprintf("%v: cluster, first run", s), done, all)
	first, err := a.runCluster(ctx, stored, want, KillNobody)
	if err != nil {
		return r, err
	}
	r.first = first.seconds
	a.Progress(fmt.Sprintf("%v: cluster", s), done, all)
	if r.cluster, err = a.runCluster(ctx, stored, want, KillNobody); err != nil || a.Kill == KillNobody {
		return r, err
	}
	a.Progress(fmt.Sprintf("%v: cluster, killing a process", s), done, all)
	r.killed, err = a.runCluster(ctx, stored, want, a.Kill)
	return r, err
}

// params returns the stored parameters of the job.
func (a *aggregation) params(p VectorParams) (jobs.Params, error) {
	if a.Shard > 0 {
		return a.job.EncodeParams(VectorShardsParams{p.Partitions, p.Length, int(a.Shard / 8)})
	}
	return a.job.EncodeParams(p)
}

// manner says in which order the job adds.
func (c AggregateConfig) manner() string {
	if c.Shard > 0 {
		return "in shards"
	}
	return "pairwise"
}

// loopAlike measures the plain loop that adds as the job does, and compares its result with want. The first
// run does not count, because it writes to new memory.
func (a *aggregation) loopAlike(ctx context.Context, params VectorParams, want []byte) (seconds float64, err error) {
	same := adders(a.cores, newPairwise)
	for range 2 {
		began := time.Now()
		var got []byte
		if a.Shard > 0 {
			got, err = shardLoop(ctx, params, int(a.Shard/8), a.cores)
		} else {
			got, err = vectorLoop(ctx, params, same)
		}
		if err != nil {
			return 0, err
		}
		seconds = time.Since(began).Seconds()
		if string(got) != string(want) {
			return 0, fmt.Errorf("the result of the loop that adds %s is %s, that of the loop %s", a.manner(), got, want)
		}
	}
	return seconds, nil
}

// runCluster runs the job and compares its result with want. A victim is killed and replaced when half is done.
func (a *aggregation) runCluster(ctx context.Context, params jobs.Params, want []byte, victim Victim) (r clusterRun, err error) {
	if _, err := awaitWorkers(ctx, a.Cluster, a.Workers); err != nil {
		return r, err
	}
	lead, err := leader(ctx, a.Cluster)
	if err != nil {
		return r, err
	}
	subjects, err := a.Cluster.Cluster().Subjects()
	if err != nil {
		return r, err
	}
	observer, err := observe(a.roles(lead.PID))
	if err != nil {
		return r, err
	}
	began := time.Now().UTC()
	id, err := a.Cluster.Submit(ctx, a.job, client.SubmitOptions{Params: params})
	if err != nil {
		return r, errors.Join(err, observer.stop())
	}
	stopPinging := a.pingLeader(ctx, subjects, lead.Epoch)
	lost := uint64(0)
	if victim != KillNobody {
		lost, err = a.killHalfWay(ctx, id, a.choose(victim, lead.PID), lead)
	}
	var m client.Status
	if err == nil {
		m, err = finish(ctx, a.Cluster, id, func(uint64, uint64) {})
	}
	pings := stopPinging()
	err = errors.Join(err, observer.stop())
	if err != nil {
		return r, errors.Join(err, cancel(context.WithoutCancel(ctx), a.Cluster, id))
	}
	r = clusterRun{m.Finished.Sub(began).Seconds(), observer.uses, len(m.Epochs), max(m.Repeated, lost), pings}
	if err := sameResult(ctx, a.Cluster, id, want); err != nil {
		return r, err
	}
	_, err = a.Cluster.Remove(ctx, id)
	return r, err
}

// pingTimeout is the default of election.Config.PingTimeout.
const pingTimeout = 400 * time.Millisecond

// pingLeader pings the leader of an epoch every few milliseconds, as followers do less often. The
// returned function ends the pings and returns the times in seconds until their answers arrived. A
// ping that is not answered within pingTimeout counts as pingTimeout.
func (a *aggregation) pingLeader(ctx context.Context, subjects wire.Subjects, epoch uint64) (stop func() []float64) {
	ctx, cancel := context.WithCancel(ctx)
	result := make(chan []float64, 1)
	go func() {
		var took []float64
		ping := wire.Encode(wire.Ping{Epoch: epoch})
		for wait(ctx, 4*glance) == nil {
			began := time.Now()
			_, err := a.Cluster.Conn().Request(subjects.Ping(epoch), ping, pingTimeout)
			if errors.Is(err, nats.ErrNoResponders) { // the leader was killed
				break
			}
			took = append(took, time.Since(began).Seconds())
		}
		result <- took
	}()
	return func() []float64 {
		cancel()
		return <-result
	}
}

func (a *aggregation) roles(leader int) map[int]string {
	roles := map[int]string{os.Getpid(): roleNATS}
	for _, p := range a.Flock.Running() {
		roles[p.PID()] = roleWorker
	}
	roles[leader] = roleLeader
	return roles
}

func (a *aggregation) choose(victim Victim, leader int) *procs.Process {
	for _, p := range a.Flock.Running() {
		if (p.PID() == leader) == (victim == KillLeader) {
			return p
		}
	}
	return nil
}

// killHalfWay kills a process when half of a job's partitions are done, and starts another process. If
// the process was the leader, killHalfWay returns the number of partitions that were lost with it.
func (a *aggregation) killHalfWay(ctx context.Context, id string, p *procs.Process, lead client.Leader) (lost uint64, err error) {
	if p == nil {
		return 0, errors.New("the process to kill is not one of the workers' processes")
	}
	done := uint64(0)
	for seen := false; ; {
		s, err := a.Cluster.Progress(ctx, id)
		switch {
		case errors.Is(err, client.ErrNotFound) && seen:
			return 0, errors.New("the job ended before a process could be killed: want a longer job, with more input")
		case err == nil:
			seen = true
		}
		if done = s.Done + s.Unreported; err == nil && s.Partitions > 0 && 2*done >= s.Partitions {
			break
		}
		if err := wait(ctx, glance); err != nil {
			return 0, err
		}
	}
	p.Kill()
	<-p.Done()
	if _, err = a.Flock.Start(); err != nil || p.PID() != lead.PID {
		return 0, err
	}
	return a.missing(ctx, id, done, lead.Epoch)
}

// missing returns how many fewer partitions are done when the other workers have reported to the next
// leader than when the leader of an epoch died. This is less than what the dead process held, because
// the other workers go on in between. The next leader does not know what the dead process held.
func (a *aggregation) missing(ctx context.Context, id string, done, epoch uint64) (uint64, error) {
	if _, err := a.Cluster.LeaderAfter(ctx, epoch); err != nil {
		return 0, err
	}
	err := until(ctx, "the other workers have reported", glance, func(ctx context.Context) (bool, error) {
		known, err := a.Cluster.Workers(ctx)
		return len(known.Workers)+known.More >= a.Workers-1, err
	})
	if err != nil {
		return 0, err
	}
	s, err := a.Cluster.Progress(ctx, id)
	if errors.Is(err, client.ErrNotFound) || err == nil && s.Partitions == 0 {
		return 0, nil // the job has ended, or is too new for the next leader
	}
	return done - min(done, s.Done+s.Unreported), err
}
