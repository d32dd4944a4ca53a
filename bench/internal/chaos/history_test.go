//go:build unix

package chaos

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// history records the operations of clients and the injected faults, and prints a timeline of both.
type history struct {
	out   io.Writer
	since time.Time

	mu          sync.Mutex
	planned     map[string]int // number of planned faults, by the fault's name
	injected    map[string]int
	leaders     map[string]int // number of faults injected on the leader, by the fault's name
	pids        []int          // IDs of all processes that were started
	deaths      []time.Time    // times at which processes were killed or exited because of a job
	exits       int            // number of processes that a job made exit
	crash       time.Time      // time of the last kill of the NATS server
	damage      time.Time      // time of the last damage to the NATS server's files
	jobs        map[string]op  // acknowledged submissions by job ID
	begun       map[string]time.Time
	unconfirmed []op               // submissions without a reply
	outcomes    map[string]outcome // outcomes of jobs, by job ID
	spilled     int                // number of partials that workers moved to files
	stored      int                // number of held partials that workers wrote to storage
	violations  []error
}

func newHistory(out io.Writer) *history {
	return &history{
		out: out, since: time.Now(),
		planned: map[string]int{}, injected: map[string]int{}, leaders: map[string]int{},
		jobs: map[string]op{}, begun: map[string]time.Time{}, outcomes: map[string]outcome{},
	}
}

// change calls do with exclusive access to the history.
func (b *history) change(do func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	do()
}

// note prints a line that begins with the time since the start of the run.
func (b *history) note(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.print(format, args...)
}

// print prints a line like [history.note]. The caller must hold b.mu.
func (b *history) print(format string, args ...any) {
	fmt.Fprintf(b.out, "%7.1fs  %s\n", time.Since(b.since).Seconds(), fmt.Sprintf(format, args...))
}

func (b *history) violation(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	err := fmt.Errorf(format, args...)
	b.violations = append(b.violations, err)
	b.print("VIOLATION  %v", err)
}

// injectedFault records a fault on a target, which is empty if the fault does not affect a node.
func (b *history) injectedFault(e event, target string, leader bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.injected[e.fault]++
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

func (b *history) started(pid int) { b.change(func() { b.pids = append(b.pids, pid) }) }

func (b *history) plan(e event) { b.change(func() { b.planned[e.fault]++ }) }

func (b *history) died() { b.change(func() { b.deaths = append(b.deaths, time.Now()) }) }

func (b *history) damaged() { b.change(func() { b.damage = time.Now() }) }

// mayBeLost reports whether the files of the NATS server were damaged after the submission of a job was acknowledged.
func (b *history) mayBeLost(id string) (may bool) {
	b.change(func() { may = b.damage.After(b.begun[id]) })
	return may
}

func (b *history) crashed() { b.change(func() { b.crash = time.Now() }) }

func (b *history) exited() {
	b.died()
	b.change(func() { b.exits++ })
}

func (b *history) moved(spilled, stored int) {
	b.change(func() { b.spilled, b.stored = b.spilled+spilled, b.stored+stored })
}

func (b *history) submitted(id string, o op) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.jobs[id], b.begun[id] = o, time.Now()
	b.print("submitted %s: %s", id, o.name)
}

func (b *history) addUnconfirmed(o op) { b.change(func() { b.unconfirmed = append(b.unconfirmed, o) }) }

func (b *history) ended(o op, got outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.outcomes[got.ID] = got
	b.print("%s %s: %s", got.State, got.ID, o.name)
}
