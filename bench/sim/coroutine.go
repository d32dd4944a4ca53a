package sim

import (
	"errors"
	"iter"
	"slices"
)

// coroutine is straight-line code of a process that may wait: for storage, for an
// answer, for time. One runs at a time, and the seed alone
// decides which.
type coroutine struct {
	process *process
	resume  func() (struct{}, bool)
	stop    func()
	yield   func(struct{}) bool
	then    func() // called once it has returned
}

// errCrashed unwinds a task whose process has crashed.
var errCrashed = errors.New("the process has crashed")

// start begins a task and runs it until it waits for the first time. Then is
// called once it has returned, unless the process crashes before.
func (p *process) start(do, then func()) {
	t := &coroutine{process: p, then: then}
	t.resume, t.stop = iter.Pull(func(yield func(struct{}) bool) {
		t.yield = yield
		defer func() {
			if v := recover(); v != nil && v != any(errCrashed) {
				panic(v)
			}
		}()
		do()
	})
	p.coroutines = append(p.coroutines, t)
	t.goOn()
}

// goOn runs the task until it waits again or returns.
func (t *coroutine) goOn() {
	s := t.process.sim
	outer := s.running
	s.running = t
	_, waits := t.resume()
	s.running = outer
	if waits {
		return
	}
	t.process.coroutines = slices.DeleteFunc(t.process.coroutines, func(o *coroutine) bool { return o == t })
	if t.then != nil {
		t.then()
	}
}

// await has the running task wait until begin's argument is called, which may
// happen more than once and at any time.
func (s *Sim) await(begin func(done func())) {
	t := s.running
	p, life := t.process, t.process.life
	finished := false
	begin(func() {
		p.happen(life, func() {
			if !finished {
				finished = true
				t.goOn()
			}
		})
	})
	if !t.yield(struct{}{}) {
		panic(errCrashed)
	}
}
