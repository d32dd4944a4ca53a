//go:build unix

package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
)

// Storage is what a cluster keeps things in.
type Storage string

// The kinds of storage.
const (
	JetStream Storage = "jetstream"
	Azure     Storage = "azure"
)

// lease is how long a lease lasts. Azure's last for 15 s at least.
func (s Storage) lease() time.Duration {
	if s == Azure {
		return 15 * time.Second
	}
	return 4 * time.Second
}

// Config says what to run.
type Config struct {
	Seed    uint64
	For     time.Duration // how long there are faults
	Storage Storage
	// Program is the path of one whose command worker is that of package cli, and
	// whose command nats calls ServeNATS.
	Program string
	Jobs    []jobs.Job // that it knows: primes, montecarlo and probe
	Out     io.Writer  // takes the timeline
	// Parent is a directory. What the processes write is kept in one below it while
	// they run, and after that if something went wrong.
	Parent string
}

// SettleWithin is how long after the last fault all jobs must have ended. It is
// longer than it takes for a lease to expire, for a submission whose receiver died to
// be delivered again (30 s), and for the jobs.
const SettleWithin = 90 * time.Second

// cluster is all that runs.
type cluster struct {
	ctx     context.Context // done where Run is to end at once
	seed    uint64
	on      Storage
	program string
	jobs    []jobs.Job
	book    *book
	dir     folders

	nats       *natsServer
	azurite    *azuriteServer // nil on JetStream
	noNetworks error          // why machines have no networks of their own, if so
	flags      []string       // by which commands find NATS and storage

	mu       sync.Mutex
	machines map[int]*machine
	left     []*machine     // those that are none any more: faults may be under way there
	busy     map[place]bool // where a fault is under way
}

// place is what a fault is done to: a scope and, if it is a machine's, which.
type place struct {
	scope   scope
	machine int
}

// folders are where processes keep things.
type folders struct{ top, logs, nats, azurite, once, temporary string }

func newFolders(parent string) (f folders, err error) {
	if f.top, err = os.MkdirTemp(parent, "chaos-"); err != nil {
		return f, err
	}
	for name, path := range map[string]*string{
		"logs": &f.logs, "nats": &f.nats, "azurite": &f.azurite, "once": &f.once, "tmp": &f.temporary,
	} {
		*path = filepath.Join(f.top, name)
		err = errors.Join(err, os.Mkdir(*path, 0o700))
	}
	return f, err
}

// Run runs a cluster, does to it what the seed says, and returns what went wrong. At
// the end of ctx it ends everything at once.
func Run(ctx context.Context, cfg Config) error {
	dir, err := newFolders(cfg.Parent)
	if err != nil {
		return fmt.Errorf("make folders: %w", err)
	}
	c := &cluster{
		ctx: ctx, seed: cfg.Seed, on: cfg.Storage, program: cfg.Program, jobs: cfg.Jobs,
		book: newBook(cfg.Out), dir: dir,
		machines: map[int]*machine{}, busy: map[place]bool{},
	}
	if err := c.run(cfg.For); err != nil {
		c.book.complain("%w", err)
	}
	c.checkRemains()
	c.report()
	if err := errors.Join(c.book.complaints...); err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w\nwhat the processes wrote is in %s", err, dir.top)
	}
	if err := os.RemoveAll(dir.top); err != nil {
		return fmt.Errorf("remove folders: %w", err)
	}
	return ctx.Err()
}

// run begins, plays, checks and ends everything.
func (c *cluster) run(duration time.Duration) error {
	defer c.close()
	if err := c.begin(); err != nil {
		return err
	}
	c.play(duration)
	if c.ctx.Err() != nil {
		return nil
	}
	return errors.Join(c.checkStorage(), c.reportTakeovers())
}

// begin starts NATS, storage and the first machines, and waits for them.
func (c *cluster) begin() (err error) {
	if err := c.startNATS(); err != nil {
		return err
	}
	connectionString := ""
	if c.on == Azure {
		if err := c.startAzurite(c.ctx); err != nil {
			return err
		}
		connectionString = c.azurite.server.ConnectionString()
	}
	if c.flags, err = c.at(c.nats.url(), "customers", connectionString); err != nil {
		return err
	}
	try, err := newNetwork()
	if c.noNetworks = err; err == nil {
		try.close()
	} else {
		c.book.note("no packets are dropped, since machines have no networks of their own: %v", err)
	}
	for _, number := range machines(initially) {
		m, err := c.add(number)
		if err != nil {
			return err
		}
		m.start()
	}
	return c.until("all workers are there", func() bool {
		var workers []struct{}
		return c.ask(&workers, "workers") == nil && len(workers) == initially
	})
}

// at is the flags by which NATS and storage are found. A connection string is put
// into a file of that name.
func (c *cluster) at(nats, name, connectionString string) ([]string, error) {
	flags := []string{"--nats", nats, "--cluster", clusterName, "--storage", string(c.on)}
	if connectionString == "" {
		return flags, nil
	}
	file := filepath.Join(c.dir.top, name+".connection")
	return append(flags, "--azure-connection-file", file), os.WriteFile(file, []byte(connectionString), 0o600)
}

const clusterName = "chaos"

// environment is what processes get besides this one's. A data race ends them.
func (c *cluster) environment() []string {
	return []string{"TMPDIR=" + c.dir.temporary, "GORACE=halt_on_error=1"}
}

// until waits for a condition.
func (c *cluster) until(what string, holds func() bool) error {
	deadline := time.Now().Add(SettleWithin)
	for !holds() {
		switch {
		case c.ctx.Err() != nil:
			return c.ctx.Err()
		case time.Now().After(deadline):
			return fmt.Errorf("waited %v in vain until %s", SettleWithin, what)
		}
		c.pause(impatience)
	}
	return nil
}

// pause waits, but no longer than there is reason to.
func (c *cluster) pause(d time.Duration) {
	select {
	case <-c.ctx.Done():
	case <-time.After(d):
	}
}

// add makes a machine.
func (c *cluster) add(number int) (*machine, error) {
	m, err := c.newMachine(number)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.machines[number] = m
	return m, nil
}

// remove takes a machine from the others.
func (c *cluster) remove(m *machine) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.machines, m.number)
	c.left = append(c.left, m)
}

// machine is the one of that number, or nil.
func (c *cluster) machine(number int) *machine {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.machines[number]
}

// members are the machines, in order.
func (c *cluster) members() []*machine {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []*machine
	for _, m := range c.machines {
		list = append(list, m)
	}
	slices.SortFunc(list, func(x, y *machine) int { return x.number - y.number })
	return list
}

// leading is the machine whose process leads, or nil.
func (c *cluster) leading() *machine {
	var leader struct{ PID int }
	if c.ask(&leader, "leader") != nil {
		return nil
	}
	for _, m := range c.members() {
		if l := m.running(); l != nil && l.PID() == leader.PID {
			return m
		}
	}
	return nil
}

// close ends all processes: in order, unless Run is to end at once.
func (c *cluster) close() {
	signal := syscall.SIGTERM
	if c.ctx.Err() != nil {
		signal = syscall.SIGKILL
	}
	var ending sync.WaitGroup
	for _, m := range c.members() {
		ending.Go(func() { m.retire(signal) })
	}
	ending.Wait()
	for _, m := range append(c.members(), c.left...) {
		m.close()
	}
	if c.azurite != nil {
		c.azurite.close()
	}
	if c.nats != nil {
		c.nats.close()
	}
}
