package sim

import (
	"errors"
	"iter"
	"slices"
)

// coroutine runs code of a process that waits for storage, replies or time. Only one coroutine runs at a time,
// so the seed alone decides their order.
type coroutine struct {
	process *process
	next    func() (struct{}, bool)
	stop    func()
	yield   func(struct{}) bool
	then    func() // function to call after the coroutine's code has returned
}

// errCrashed is the value of the panic that ends the code of a coroutine after its process has
// crashed.
var errCrashed = errors.New("the process has crashed")

// spawn runs do in a coroutine until do first waits. After do, it calls then unless the process has crashed.
func (p *process) spawn(do, then func()) {
	c := &coroutine{process: p, then: then}
	c.next, c.stop = iter.Pull(func(yield func(struct{}) bool) {
		c.yield = yield
		defer func() {
			if v := recover(); v != nil && v != any(errCrashed) {
				panic(v)
			}
		}()
		do()
	})
	p.coroutines = append(p.coroutines, c)
	c.resume()
}

// resume runs the coroutine until it waits again or returns.
func (c *coroutine) resume() {
	s := c.process.sim
	outer := s.running
	s.running = c
	_, waits := c.next()
	s.running = outer
	if waits {
		return
	}
	c.process.coroutines = slices.DeleteFunc(c.process.coroutines, func(o *coroutine) bool { return o == c })
	if c.then != nil {
		c.then()
	}
}

// await calls begin and blocks the running coroutine until done is called. Further calls of done are ignored.
func (s *Sim) await(begin func(done func())) {
	c := s.running
	p, life := c.process, c.process.life
	finished := false
	begin(func() {
		p.run(life, func() {
			if !finished {
				finished = true
				c.resume()
			}
		})
	})
	if !c.yield(struct{}{}) {
		panic(errCrashed)
	}
}
