package sim

import (
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

type rogue struct {
	function wire.Function // the misbehaving function: Plan, Merge, Finish or Estimate; Map if all functions work
	how      misdeed
	left     int  // number of times that the function will still misbehave
	kills    int  // number of processes that the function has killed
	stalls   bool // a hanging call ends only when its job is cancelled, stallsFor after the last fault
}

type misdeed int

const (
	behaves misdeed = iota
	kills           // kills is a misdeed: the process dies
	hangs           // hangs is a misdeed: the call does not return for a long time, even after its context is cancelled
	lies            // lies is a misdeed: the call returns a damaged result
)

const (
	always    = 1000              // value of left for a function that always misbehaves, so that its job must fail
	callLimit = 2 * time.Second   // time after which a worker reports that a call hangs
	stallsFor = 100 * time.Second // time after the last fault within which other jobs must end
	mostKills = 5                 // maximum number of processes that one function may kill in one term
)

func (s *Sim) drawRogue() rogue {
	c := s.rng
	if !c.chance(0.12) {
		return rogue{}
	}
	r := rogue{
		function: []wire.Function{wire.Plan, wire.Merge, wire.Finish}[c.IntN(3)],
		how:      []misdeed{kills, hangs, lies}[c.IntN(3)],
		left:     always,
	}
	if c.chance(0.4) {
		r.left = c.intBetween(1, 3)
	}
	if r.function == wire.Merge && r.how == lies {
		r.how = kills // a wrong result of a merge is excluded, because the simulation could not detect it
	}
	r.stalls = r.how == hangs && c.chance(0.5)
	return r
}

// mustFail reports whether a job cannot complete because one of its functions always misbehaves. A
// job with a misbehaving Merge may complete, because only the merge of the root misbehaves, and a
// merge within a span does not hang.
func (j *job) mustFail(m store.Manifest) bool {
	r := j.rogue
	if r.function == wire.Estimate && (j.partitions == 1 || len(m.Skipped) > 0 || m.Stopped != nil && m.Stopped.Timed) {
		return false
	}
	if r.function == wire.Merge && (m.Stopped != nil || r.how == hangs || j.partitions == 1 || len(m.Skipped) > 0) {
		return false
	}
	return r.left > always/2
}

// misbehaves is called when a function of the job runs, and returns its misdeed.
func (j *job) misbehaves(function wire.Function) misdeed {
	r := &j.rogue
	if r.function != function || r.left == 0 {
		return behaves
	}
	r.left--
	switch r.how {
	case kills:
		r.kills++
		j.sim.cover("fault: " + function.String() + " killed its process")
	case hangs:
		j.sim.cover("fault: " + function.String() + " hung")
	case lies:
		j.sim.cover("fault: " + function.String() + " returned damaged data")
	}
	return r.how
}

// merges runs merges, and returns the misdeed of the merge of a job's root.
func (s *Sim) merges(do func()) misdeed {
	s.merging, s.misdeed = true, behaves
	do()
	s.merging = false
	return s.misdeed
}

// dies kills the process. dies must be called in a coroutine of the process, and does not return.
func (p *process) dies() {
	p.timer(0, func() { p.sim.kill(p) })
	p.sim.await(func(func()) {})
}
