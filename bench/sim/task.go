package sim

import (
	"errors"
	"iter"
	"slices"
)

// task is straight-line code of a process that may wait: for storage, for an
// answer, for time. It is a coroutine, so that one runs at a time and the seed
// alone decides which.
type task struct {
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
	t := &task{process: p, then: then}
	t.resume, t.stop = iter.Pull(func(yield func(struct{}) bool) {
		t.yield = yield
		defer func() {
			if v := recover(); v != nil && v != any(errCrashed) {
				panic(v)
			}
		}()
		do()
	})
	p.tasks = append(p.tasks, t)
	t.goOn()
}

// goOn runs the task until it waits again or returns.
func (t *task) goOn() {
	s := t.process.sim
	outer := s.running
	s.running = t
	_, waits := t.resume()
	s.running = outer
	if waits {
		return
	}
	t.process.tasks = slices.DeleteFunc(t.process.tasks, func(o *task) bool { return o == t })
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
