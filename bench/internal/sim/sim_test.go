package sim

import (
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Sim is one simulated cluster.
type Sim struct {
	eventQueue
	rng      rng
	scenario scenario
	rates    faultRates
	network  *network
	storage  *storage
	other    *storage // second storage, for processes that are misconfigured
	checks   *checks
	trace    *trace
	coverage Coverage

	versions []jobs.Job      // versions of the job definition, the older version first
	iterated jobs.Job        // definition of jobs with rounds
	jobs     map[string]*job // jobs by ID, also those of rounds
	rounds   []*job          // jobs of rounds, in the order in which they were first seen
	list     []*job          // jobs in the order of their numbers

	processes []*process
	lives     uint64
	joined    int
	running   *coroutine  // coroutine that is running; nil if none is running
	merging   bool        // true if simulated processes merge partials; false while the reference result is computed
	guarding  *leadership // leadership whose merges are running; nil if none are running
	misdeed   misdeed     // misbehaviour of the last merge of a job's root
	healed    bool        // true if faults have stopped
	killed    bool        // true if a process was killed, or left before its finished partitions were durable
	failure   error
}

// endsWithin is the time within which every job must end after faults have stopped. The limit is
// long because a job may first have to wait until a lease has expired, until a submission has
// become visible again, or until a hanging partition has ended.
const endsWithin = 3 * time.Minute

// Run runs the simulation of a seed. Run returns how often each event happened, and an error that
// names the first broken promise. The same seed always gives the same simulation. If out is not
// nil, Run writes a trace to out.
func Run(seed uint64, out io.Writer) (Coverage, error) {
	s := newSim(seed, out)
	s.drawPrefixes(seed)
	s.drawFound(seed)
	s.drawRounds(seed)
	s.drawNamed(seed)
	s.drawInline(seed)
	s.run()
	return s.coverage, s.failure
}

// newSim returns the simulation of a seed with its drawn scenario, before it begins.
func newSim(seed uint64, out io.Writer) *Sim {
	s := &Sim{rng: newRNG(seed), jobs: map[string]*job{}, coverage: Coverage{}}
	s.trace = &trace{s, out}
	s.network = &network{s, true, map[[2]*process]linkFault{}, map[[2]*process]time.Duration{}}
	s.storage, s.other = newStorage(s, "0a"), newStorage(s, "0b")
	s.checks = newChecks(s)
	s.versions, s.iterated = []jobs.Job{s.define("1"), s.define("2")}, s.defineRounds()
	s.scenario, s.rates = s.draw()
	return s
}

// run simulates the scenario until everything has ended or a promise is broken.
func (s *Sim) run() {
	s.storage.lease, s.other.lease = newLease(s, true), newLease(s, false)
	s.populate()
	s.runAll()
}

func (s *Sim) populate() {
	client := s.newProcess("cli", s.storage)
	for i, b := range s.scenario.jobs {
		id := jobID(i)
		definition := (&job{sim: s, jobBehaviour: b}).definition()
		data, err := definition.Params(nil, "job="+id)
		if err != nil {
			panic(err) // cannot happen: opening fails only for invalid parameters
		}
		tree, err := engine.NewTree(b.partitions)
		if err != nil {
			panic(err)
		}
		j := &job{sim: s, index: uint64(i), jobBehaviour: b, tree: tree, tried: map[uint64]int{}, nodes: map[engine.Node][]byte{}}
		j.spec = store.Spec{
			ID: id, Job: definition.Name(), Version: definition.Version(), Params: data,
			Priority: s.rng.IntN(3), MaxAttempts: s.rng.intBetween(3, 5), MaxSkipped: uint64(s.rng.IntN(2)),
		}
		j.spec.Estimates, j.spec.StopAfter, j.spec.Rounds = b.judged, b.stopAfter, b.rounds
		if b.rounds > 0 {
			j.spec.MaxSkipped = 0
		}
		if b.found != nil {
			j.spec.Keep = 1
		}
		if i%2 == 1 {
			j.spec.Audit = jobs.MaxAudit
		}
		if b.sours != noPartition {
			j.spec.MaxAttempts, j.spec.MaxSkipped = 1, 1
			s.after(b.submitAt, func() { s.isolateHolder(j) })
		}
		s.jobs[id], s.list = j, append(s.list, j)
		s.trace.printf(nil, "job %s: %+v", id, b)
		s.after(b.submitAt, func() { s.submit(client, j) })
		if b.cancelAt >= 0 {
			s.after(b.cancelAt, func() {
				if j.rogue.stalls {
					s.checks.starved(j)
				}
				s.cancel(client, j)
			})
		}
		if b.removeIn >= 0 {
			j.onEnd = func() { s.after(b.removeIn, func() { s.remove(client, j) }) }
		}
	}
	for range s.scenario.processes {
		s.after(s.rng.between(0, time.Second), func() { s.join() })
	}
	s.after(s.scenario.faultEvery, s.nemesis)
	if s.scenario.breaks {
		s.after(2*time.Second, func() {
			s.cover("fault: process broke")
			s.anyWorker().broken = true
		})
	}
}

func (s *Sim) runAll() {
	defer func() {
		if v := recover(); v != nil {
			s.fail("panic: %v", v)
			s.trace.printf(nil, "%s", debug.Stack())
		}
	}()
	for s.failure == nil && !s.over() {
		if !s.runNext(s.scenario.faultsUntil + endsWithin) {
			s.fail("%v after faults stopped, not everything has ended: %s", endsWithin, s.unended())
			s.describe()
		}
	}
	for _, p := range s.processes {
		p.crash()
	}
}

func (s *Sim) describe() {
	for _, p := range s.processes {
		if !p.alive || p.worker == nil {
			continue
		}
		b := p.worker.session
		items, _ := b.Kept()
		s.trace.printf(p, "follows epoch %d, runs %d spans and has %d queued, keeps %d items", b.Epoch(), b.Busy(), b.Queued(), items)
		if t := p.elector.term; t != nil {
			s.trace.printf(p, "leads epoch %d, over: %v, %d tasks; workers %+v; jobs %+v", t.epoch, t.over, t.tasks, t.term.Workers(), t.term.Jobs(wire.JobQuery{}))
		}
	}
}

// over reports whether everything has ended and is cleaned up, and then checks the results.
func (s *Sim) over() bool {
	if !s.healed || s.unended() != "" {
		return false
	}
	s.checks.ended()
	s.checks.keepStates()
	return true
}

// unended describes the first job that has not ended, or what is yet to be removed, or returns "".
func (s *Sim) unended() string {
	for _, j := range s.list {
		if state := s.checks.manifest(j.spec.ID).State; !state.Final() {
			return fmt.Sprintf("job %s is %q", j.spec.ID, state)
		}
		if j.cancelAt >= 0 && !j.cancelAsked {
			return fmt.Sprintf("job %s is to be cancelled", j.spec.ID)
		}
		if j.removeIn >= 0 && !j.removed {
			return fmt.Sprintf("job %s is to be removed", j.spec.ID)
		}
		for _, p := range s.processes {
			if w := p.worker; p.alive && w != nil && !w.left && w.hasOpen(j) {
				return fmt.Sprintf("%s has not closed job %s", p.name, j.spec.ID)
			}
		}
		if key := s.storage.remainder(j.spec.ID); key != "" && j.removed { // not an error yet, because a leader may be about to delete the blob
			return fmt.Sprintf("%s is in storage of job %s, which was removed", key, j.spec.ID)
		}
	}
	for _, m := range s.storage.messages {
		if !m.deleted {
			return "a submission is in the queue"
		}
	}
	if key := s.storage.leftover(); key != "" {
		return key + " is in storage"
	}
	return ""
}
