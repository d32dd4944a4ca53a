package ledger

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// eviction is a fleet whose workers are killed from outside at regular intervals. Each worker has one
// slot. The fleet checks that work which a living worker runs is never started elsewhere.
type eviction struct {
	*fleet
	*testing.T
	random *rand.Rand
	number int // number of workers that were started

	killEvery time.Duration            // 0 if no worker is killed from outside
	poison    map[uint64]time.Duration // partitions that kill their worker, and after which time
	began     map[string]time.Duration // when each worker began its running partition
	runs      map[string]uint64        // running partition of each worker
	restart   []time.Duration          // times at which workers join
	killed    int                      // number of workers that partitions have killed
}

func evict(t *testing.T, seed uint64, workers int, each, killEvery time.Duration) *eviction {
	e := &eviction{
		fleet: newFleet(t, workers, 1, 1/each.Seconds()), T: t, random: rand.New(rand.NewPCG(seed, 1)), number: workers,
		killEvery: killEvery, poison: map[uint64]time.Duration{}, began: map[string]time.Duration{}, runs: map[string]uint64{},
	}
	return e
}

// live runs the fleet until all jobs have ended, or for limit.
func (e *eviction) live(limit time.Duration) {
	const step = 100 * time.Millisecond
	for next, end := e.now+e.killEvery, e.now+limit; e.ended < len(e.trees) && e.now < end; e.now += step {
		for len(e.restart) > 0 && e.restart[0] <= e.now {
			e.restart = e.restart[1:]
			e.join()
		}
		if e.killEvery > 0 && e.now >= next && len(e.workers) > 0 {
			next += e.killEvery
			e.kill(e.workers[e.random.IntN(len(e.workers))])
		}
		for _, w := range slices.Clone(e.workers) {
			e.report(w)
			e.observe(w)
		}
		e.drain()
		e.step(Tick{})
	}
}

// observe checks what a worker runs, and lets a poisonous partition kill it.
func (e *eviction) observe(w *fleetWorker) {
	if len(w.spans) == 0 {
		delete(e.runs, w.id)
		return
	}
	p := w.spans[0].Span.Lo
	if last, running := e.runs[w.id]; !running || last != p {
		for _, o := range e.workers {
			if q, running := e.runs[o.id]; running && o != w && q == p {
				e.Errorf("%s begins partition %d, which %s has run for %v", w.id, p, o.id, e.now-e.began[o.id])
			}
		}
		e.runs[w.id], e.began[w.id] = p, e.now
	}
	if after, kills := e.poison[p]; kills && e.now-e.began[w.id] >= after {
		e.killed++
		e.kill(w)
	}
}

// kill ends a worker, and the leader if the worker is the leader's own. A worker joins 2 s later.
func (e *eviction) kill(w *fleetWorker) {
	e.workers = slices.DeleteFunc(e.workers, func(o *fleetWorker) bool { return o == w })
	delete(e.runs, w.id)
	e.restart = append(e.restart, e.now+2*time.Second)
	if w.id == e.ledger.cfg.Self {
		e.takeover(w)
	} else {
		e.step(WorkerDied{w.id})
	}
}

func (e *eviction) join() {
	w := &fleetWorker{id: fmt.Sprintf("w%04d", e.number), slots: 1, knows: []wire.JobKind{{Name: "k", Version: "1"}}, begun: map[wire.SpanID]float64{}, items: map[string]uint64{}, reportedAt: e.now}
	e.number++
	e.workers = append(e.workers, w)
	e.index[w.id] = w
}

// takeover makes another worker the leader. All of the last leader's state was in its last checkpoint.
func (e *eviction) takeover(last *fleetWorker) {
	if len(e.workers) == 0 {
		e.join()
	}
	old := e.ledger
	e.epoch++
	l, err := New(Config{Epoch: e.epoch, Self: e.workers[0].id, Build: "amd64/v1"}, e.now)
	if err != nil {
		e.Fatal(err)
	}
	e.ledger, e.answers = l, nil
	for _, j := range old.jobs {
		e.step(JobAdded{
			Spec: j.spec, Plan: Plan{Partitions: j.tree.Partitions()}, Snapshot: old.snapshot(j), CanMerge: true,
			LeaderDied: true,
		})
	}
	e.step(WorkerDied{last.id})
	for _, w := range e.workers {
		w.seq, w.calls = 0, nil
	}
}

// TestEvictionsAreNotBlamed runs three partitions of a minute on four workers, of which one is killed every
// ten seconds. Most attempts die, and no partition is blamed, whether or not leaders are killed too.
// Work of living workers is never started elsewhere.
func TestEvictionsAreNotBlamed(t *testing.T) {
	const seeds = 60
	failed := 0
	for seed := range uint64(seeds) {
		e := evict(t, seed, 4, time.Minute, 10*time.Second)
		e.add("job", 3)
		e.live(4 * time.Hour)
		if e.ended == 0 {
			t.Fatalf("seed %d: the job does not end:\n%s", seed, formatState(e.ledger))
		}
		failed += len(e.failed)
	}
	if failed > 2 { // without the comparison with other workers 35 fail
		t.Errorf("%d of %d jobs failed", failed, seeds)
	}
}

// TestPoisonIsBlamed runs jobs with partitions that kill their worker, in fleets of which workers are
// killed from outside too.
func TestPoisonIsBlamed(t *testing.T) {
	for _, c := range []struct {
		workers   int
		killEvery time.Duration
		first     uint64        // first partition that kills its worker
		poisonous uint64        // number of such partitions
		after     time.Duration // time after which such a partition kills its worker
		most      int           // maximum number of workers that the partitions kill
	}{
		{4, 0, 2, 1, 10 * time.Second, 5},
		{4, 10 * time.Second, 2, 1, time.Second, 5},
		{4, time.Minute, 2, 1, 10 * time.Second, 8},
		{40, 10 * time.Second, 2, 1, 15 * time.Second, 7},
		{8, 0, 20, 6, 10 * time.Second, 15},
		{8, 10 * time.Second, 0, 60, time.Second, 12}, // the job is on trial
	} {
		for seed := range uint64(5) {
			e := evict(t, seed, c.workers, 20*time.Second, c.killEvery)
			for p := range c.poisonous {
				e.poison[c.first+p] = c.after
			}
			e.add("job", 60)
			e.live(4 * time.Hour)
			if len(e.failed) == 0 || e.killed > c.most {
				t.Errorf("%+v, seed %d: killed %d workers, errors %q", c, seed, e.killed, e.failed)
			}
		}
	}
}
