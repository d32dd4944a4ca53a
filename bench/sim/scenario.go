package sim

import (
	"fmt"
	"time"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
)

// scenario is what a seed decides before anything happens.
type scenario struct {
	calm      bool // nothing goes wrong but that processes die, stop and join
	processes int
	most      int // processes that ever join
	maxSlots  int
	jobs      []jobBehaviour

	latency        time.Duration // of a message, at most
	storageLatency time.Duration // of either way, at most
	lease          time.Duration
	hideFor        time.Duration // a submission that was received
	skew           float64       // by how much clocks run fast or slow, at most
	until          time.Duration // faults stop then
	faultEvery     time.Duration // the mean
	drainTimeout   time.Duration // of workers

	old       float64 // share of processes that know the older version of the definition alone
	encodes   bool    // reports and receipts are encoded and decoded on their way
	ledger    ledger.Config
	maxActive int
}

// faults are the probabilities of what goes wrong by itself.
type faults struct {
	loss, duplicates, slowMessages            float64
	storageRefuses, storageLoses, storageSlow float64
	openFails                                 float64
}

func (s *Sim) draw() (scenario, faults) {
	c := s.chance
	sc := scenario{
		calm:           c.is(0.25),
		processes:      c.from(1, 5),
		maxSlots:       c.from(1, 3),
		latency:        c.spread(time.Millisecond, 12*time.Millisecond),
		storageLatency: c.spread(time.Millisecond, 8*time.Millisecond),
		lease:          c.between(3*time.Second, 15*time.Second),
		hideFor:        c.spread(2*time.Second, 30*time.Second),
		until:          c.between(2*time.Second, 14*time.Second),
		faultEvery:     c.spread(300*time.Millisecond, 4*time.Second),
		drainTimeout:   c.spread(300*time.Millisecond, 20*time.Second),
		maxActive:      c.from(1, 4),
		encodes:        c.is(0.2),
	}
	sc.most = sc.processes + 8
	sc.ledger = ledger.Config{
		Horizon:         c.spread(500*time.Millisecond, 4*time.Second),
		ReportEvery:     100 * time.Millisecond,
		CheckpointEvery: c.spread(100*time.Millisecond, 2*time.Second),
		SilentAfter:     c.between(2*time.Second, 5*time.Second),
	}
	var f faults
	if !sc.calm {
		sc.skew = 0.06 * c.Float64()
		sc.storageLatency = c.spread(time.Millisecond, 100*time.Millisecond)
		sometimes := func(most float64) float64 {
			if c.is(0.5) {
				return 0
			}
			return most * c.Float64()
		}
		f = faults{
			loss: sometimes(0.1), duplicates: sometimes(0.1), slowMessages: sometimes(0.05),
			storageRefuses: sometimes(0.1), storageLoses: sometimes(0.1), storageSlow: sometimes(0.1),
			openFails: sometimes(0.1),
		}
	}
	if c.is(0.15) {
		sc.old = 0.6
	}
	for range c.from(1, 3) {
		sc.jobs = append(sc.jobs, s.drawJob(sc))
	}
	return sc, f
}

// drawJob decides what a job does.
func (s *Sim) drawJob(sc scenario) jobBehaviour {
	c := s.chance
	b := jobBehaviour{
		partitions: uint64(c.from(1, 90)),
		broken:     noPartition, permanent: noPartition, killer: noPartition, hangs: noPartition,
		submitAt: c.between(0, min(6*time.Second, sc.until)), cancelAt: -1, removeIn: -1, flaky: map[uint64]int{},
	}
	b.each = min(c.spread(500*time.Millisecond, 20*time.Second)/time.Duration(b.partitions), time.Second)
	any := func() uint64 { return c.Uint64N(b.partitions) }
	switch {
	case c.is(0.03): // a partial goes into storage before it is reported
		b.pad, b.partitions = 300<<10, uint64(c.from(1, 4))
	case c.is(0.02): // a few partials fill a report
		b.pad, b.partitions = 200<<10, uint64(c.from(8, 24))
	case c.is(0.1): // the leader puts partials beside its manifests
		b.pad = 5 << 10
	}
	if sc.old > 0 {
		b.version = c.IntN(2)
	}
	if c.is(0.1) {
		b.data = 9 << 10 // more than a receipt carries
	}
	if c.is(0.3) {
		for range c.from(1, 5) {
			b.flaky[any()] = c.from(1, 2)
		}
	}
	switch {
	case c.is(0.05):
		b.broken = any()
	case c.is(0.05):
		b.permanent = any()
	case !sc.calm && c.is(0.08):
		b.killer, b.killsMost = any(), c.from(1, 8)
	case !sc.calm && c.is(0.1):
		b.hangs = any()
	}
	if c.is(0.05) {
		b.planFails = c.from(1, 2)
	}
	if c.is(0.15) {
		b.cancelAt = b.submitAt + c.between(0, 6*time.Second)
	}
	if c.is(0.2) {
		b.removeIn = c.spread(time.Millisecond, 5*time.Second)
	}
	return b
}

// id makes a job's ID: unlike others, and in the order of submission.
func jobID(number int) string { return fmt.Sprintf("0sim%012d", number) }
