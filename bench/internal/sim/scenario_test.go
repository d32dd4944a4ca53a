package sim

import (
	"fmt"
	"time"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
)

// scenario is drawn from the seed before the simulation begins.
type scenario struct {
	calm         bool // true if the only faults are processes that die, stop and join
	evicts       bool // true if the only fault is that processes are killed, one after another, in about the time that a partition takes
	breaks       bool // true if the only fault is that all partitions fail on one process
	processes    int
	maxProcesses int // maximum number of processes that the simulation starts
	maxSlots     int
	jobs         []jobBehaviour

	latency        time.Duration // maximum delay of a message between processes
	storageLatency time.Duration // maximum delay of a storage call, and of its reply
	lease          time.Duration
	hideFor        time.Duration // time for which the queue hides a received submission
	skew           float64       // maximum relative error of the speed of a clock
	faultsUntil    time.Duration // time at which faults stop
	faultEvery     time.Duration // mean time between faults
	drainTimeout   time.Duration // drain timeout of all workers

	oldShare  float64 // share of processes that know only the older version of the definition
	encodes   bool    // true if reports and receipts are encoded and decoded in transit
	ledger    ledger.Config
	maxActive int
}

// faultRates contains the probabilities that a message, a storage call or the opening of a job fails.
type faultRates struct {
	loss, duplicates, slowMessages, fetches   float64
	storageRefuses, storageLoses, storageSlow float64
	openFails                                 float64
}

func (s *Sim) draw() (scenario, faultRates) {
	c := s.rng
	sc := scenario{
		calm:           c.chance(0.25),
		processes:      c.intBetween(1, 5),
		maxSlots:       c.intBetween(1, 3),
		latency:        c.logBetween(time.Millisecond, 12*time.Millisecond),
		storageLatency: c.logBetween(time.Millisecond, 8*time.Millisecond),
		lease:          c.between(3*time.Second, 15*time.Second),
		hideFor:        c.logBetween(2*time.Second, 30*time.Second),
		faultsUntil:    c.between(2*time.Second, 14*time.Second),
		faultEvery:     c.logBetween(300*time.Millisecond, 4*time.Second),
		drainTimeout:   c.logBetween(300*time.Millisecond, 20*time.Second),
		maxActive:      c.intBetween(1, 4),
		encodes:        c.chance(0.2),
	}
	sc.maxProcesses = sc.processes + 8
	sc.ledger = ledger.Config{
		Horizon:         c.logBetween(500*time.Millisecond, 4*time.Second),
		ReportEvery:     100 * time.Millisecond,
		CheckpointEvery: c.logBetween(100*time.Millisecond, 2*time.Second),
		SilentAfter:     c.between(2*time.Second, 5*time.Second),

		MeanTimeBetweenFailures: c.logBetween(time.Second, 10*time.Hour), // small values make leaders order many writes of held partials
	}
	var f faultRates
	if !sc.calm {
		sc.skew = 0.06 * c.Float64()
		sc.storageLatency = c.logBetween(time.Millisecond, 100*time.Millisecond)
		sometimes := func(most float64) float64 {
			if c.chance(0.5) {
				return 0
			}
			return most * c.Float64()
		}
		f = faultRates{
			loss: sometimes(0.1), duplicates: sometimes(0.1), slowMessages: sometimes(0.05), fetches: sometimes(0.3),
			storageRefuses: sometimes(0.1), storageLoses: sometimes(0.1), storageSlow: sometimes(0.1),
			openFails: sometimes(0.1),
		}
	}
	if c.chance(0.15) {
		sc.oldShare = 0.6
	}
	for range c.intBetween(1, 3) {
		b := s.drawJob(sc)
		if b.rogue.stalls {
			sc.maxActive = 4 // otherwise the other jobs would wait for the end of this job
			if c.chance(0.5) {
				sc.processes, sc.maxSlots = 1, 1
			}
		}
		sc.jobs = append(sc.jobs, b)
	}
	switch {
	case sc.calm && c.chance(0.06):
		s.drawEvictions(&sc)
	case sc.calm && c.chance(0.05):
		s.drawBreakage(&sc)
	}
	return sc, f
}

// drawEvictions makes processes live about as long as the partitions of the only job take.
func (s *Sim) drawEvictions(sc *scenario) {
	c := s.rng
	sc.evicts, sc.oldShare = true, 0
	sc.processes, sc.maxSlots = c.intBetween(3, 6), 1
	sc.faultEvery, sc.faultsUntil = 5*time.Second, 5*time.Minute
	sc.maxProcesses = sc.processes + 200
	lives := time.Duration(sc.processes) * sc.faultEvery
	sc.jobs = []jobBehaviour{harmless(uint64(c.intBetween(1, 3)), c.between(lives/2, lives))}
}

// drawBreakage makes one process break while the only job runs.
func (s *Sim) drawBreakage(sc *scenario) {
	c := s.rng
	sc.breaks, sc.oldShare = true, 0
	sc.processes, sc.faultsUntil = c.intBetween(3, 5), 20*time.Second
	sc.jobs = []jobBehaviour{harmless(90, c.between(200*time.Millisecond, time.Second))}
}

// harmless returns a job whose code does what it should.
func harmless(partitions uint64, each time.Duration) jobBehaviour {
	return jobBehaviour{
		partitions: partitions, each: each,
		broken: noPartition, permanent: noPartition, sours: noPartition, killer: noPartition, hangs: noPartition,
		cancelAt: -1, removeIn: -1, specAgain: -1,
	}
}

func (s *Sim) drawJob(sc scenario) jobBehaviour {
	c := s.rng
	b := jobBehaviour{
		partitions: uint64(c.intBetween(1, 90)),
		broken:     noPartition, permanent: noPartition, sours: noPartition, killer: noPartition, hangs: noPartition,
		submitAt: c.between(0, min(6*time.Second, sc.faultsUntil)), cancelAt: -1, removeIn: -1, specAgain: -1, flaky: map[uint64]int{},
	}
	b.each = min(c.logBetween(500*time.Millisecond, 20*time.Second)/time.Duration(b.partitions), time.Second)
	any := func() uint64 { return c.Uint64N(b.partitions) }
	switch {
	case c.chance(0.2): // partials are so large that workers hold them
		b.pad, b.partitions = 257<<10, uint64(c.intBetween(1, 24))
		b.each = min(c.logBetween(time.Second, 20*time.Second)/time.Duration(b.partitions), time.Second)
	case c.chance(0.02): // partials are so large that a few partials fill a report
		b.pad, b.partitions = 200<<10, uint64(c.intBetween(8, 24))
	case c.chance(0.1): // partials are so large that the leader stores them in blobs and not in the manifest
		b.pad = 5 << 10
	}
	if sc.oldShare > 0 {
		b.version = c.IntN(2)
	}
	if c.chance(0.1) {
		b.data = 9 << 10 // the plan's data is too large for a receipt
	}
	if c.chance(0.3) {
		for range c.intBetween(1, 5) {
			b.flaky[any()] = c.intBetween(1, 2)
		}
	}
	switch {
	case c.chance(0.05):
		b.broken = any()
	case c.chance(0.05):
		b.permanent = any()
	case !sc.calm && b.pad > 256<<10 && c.chance(0.5): // a worker that was silent may hold a partition that the leader has skipped since then
		b.sours, b.flaky = any(), map[uint64]int{} // a partition is skipped after one failure
	case !sc.calm && c.chance(0.08):
		b.killer, b.killsMost = any(), c.intBetween(1, 8)
	case !sc.calm && c.chance(0.1):
		b.hangs = any()
	}
	if c.chance(0.05) {
		b.planFails = c.intBetween(1, 2)
	}
	b.rogue = s.drawRogue()
	if b.rogue.stalls {
		b.cancelAt = sc.faultsUntil + stallsFor
		return b
	}
	if c.chance(0.15) {
		b.cancelAt = b.submitAt + c.between(0, 6*time.Second)
	}
	if c.chance(0.2) {
		b.removeIn = c.logBetween(time.Millisecond, 5*time.Second)
	}
	if c.chance(0.1) { // the job may be removed when a leader has just begun it
		b.cancelAt = b.submitAt + c.logBetween(10*time.Millisecond, time.Second)
		b.removeIn = c.logBetween(time.Millisecond, 100*time.Millisecond)
	}
	if b.removeIn >= 0 && c.chance(0.3) {
		b.specAgain = c.logBetween(time.Millisecond, 3*time.Second)
	}
	return b
}

// jobID returns the ID of the job with a number. The IDs sort in the order of the numbers.
func jobID(number int) string { return fmt.Sprintf("0sim%012d", number) }
