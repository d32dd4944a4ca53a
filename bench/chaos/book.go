//go:build unix

package chaos

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// book is where everybody enters what happened. It prints the timeline as it goes.
type book struct {
	out   io.Writer
	since time.Time

	mu         sync.Mutex
	planned    map[string]int // faults, by name
	hit        map[string]int
	leaders    map[string]int   // of those that hit, to the leader
	pids       []int            // of all processes
	deaths     []time.Time      // of processes that were killed or that a job ended
	exits      int              // of those, that a job ended to order
	crash      time.Time        // the last of the NATS server
	jobs       map[string]order // by ID, those whose submission was confirmed
	begun      map[string]time.Time
	half       []order            // the others that were submitted
	outcomes   map[string]outcome // by ID
	complaints []error
}

func newBook(out io.Writer) *book {
	return &book{
		out: out, since: time.Now(),
		planned: map[string]int{}, hit: map[string]int{}, leaders: map[string]int{},
		jobs: map[string]order{}, begun: map[string]time.Time{}, outcomes: map[string]outcome{},
	}
}

// note prints a line with the time.
func (b *book) note(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.print(format, args...)
}

// print is note for those that hold the lock.
func (b *book) print(format string, args ...any) {
	fmt.Fprintf(b.out, "%7.1fs  %s\n", time.Since(b.since).Seconds(), fmt.Sprintf(format, args...))
}

// complain enters something that must not be.
func (b *book) complain(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	err := fmt.Errorf(format, args...)
	b.complaints = append(b.complaints, err)
	b.print("WRONG  %v", err)
}

// began enters a fault that was done to a target, which may be empty.
func (b *book) began(e event, target string, leader bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hit[e.fault]++
	what := e.fault
	if e.lasts > 0 {
		what += fmt.Sprintf(", %v", e.lasts)
	}
	if leader {
		b.leaders[e.fault]++
		target += ", leads"
	}
	b.print("%-36s %s", what, target)
}

func (b *book) started(pid int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pids = append(b.pids, pid)
}

func (b *book) plan(e event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.planned[e.fault]++
}

func (b *book) died() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.deaths = append(b.deaths, time.Now())
}

func (b *book) crashed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.crash = time.Now()
}

func (b *book) endedToOrder() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.deaths = append(b.deaths, time.Now())
	b.exits++
}

func (b *book) submitted(id string, o order) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.jobs[id], b.begun[id] = o, time.Now()
	b.print("submitted %s: %s", id, o.name)
}

func (b *book) unconfirmed(o order) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.half = append(b.half, o)
}

func (b *book) ended(o order, got outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.outcomes[got.ID] = got
	b.print("%s %s: %s", got.State, got.ID, o.name)
}
