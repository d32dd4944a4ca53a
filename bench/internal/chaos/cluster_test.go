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
)

// Storage is the storage of a cluster.
type Storage string

const (
	JetStream Storage = "jetstream"
	Azure     Storage = "azure"
	// Damaged is JetStream whose files are damaged again and again, so that it loses jobs.
	Damaged Storage = "damaged"
)

// driver returns the storage's name on command lines.
func (s Storage) driver() string {
	if s == Damaged {
		return string(JetStream)
	}
	return string(s)
}

// lease returns the duration of a lease. On Azure the shortest possible lease is 15 s.
func (s Storage) lease() time.Duration {
	if s == Azure {
		return 15 * time.Second
	}
	return 4 * time.Second
}

// Config is the configuration of [Run].
type Config struct {
	Seed    uint64
	For     time.Duration // time for which faults are injected
	Storage Storage
	// Program is the path of a program with two commands. The command worker runs a worker as in
	// package cli, and the command nats calls ServeNATS.
	Program string
	// Command runs a command line of package cli in this process and returns the exit status.
	// Program and Command know the jobs primes, montecarlo, probe and scan,
	// and the job Vectors of package bench.
	Command func(ctx context.Context, args []string, out, errs io.Writer) (status int)
	Out     io.Writer // writer that gets the timeline
	// Parent is the folder in which Run makes a folder for logs and data. Run removes the folder of
	// logs and data unless a check fails.
	Parent string
}

// SettleWithin is the time after the last fault within which all jobs must end. SettleWithin is
// longer than the sum of a lease's duration, the redelivery time of a submission whose receiver
// died (30 s), and the duration of the jobs.
const SettleWithin = 90 * time.Second

type cluster struct {
	Config
	ctx     context.Context // context of the run, which is done when Run must end immediately
	history *history
	dir     folders

	nats       *natsServer
	azurite    *azuriteServer // Azurite server; nil if the storage is JetStream
	noNetworks error          // reason why nodes have no network namespaces; nil if nodes have them
	flags      []string       // command-line flags that name NATS and storage

	mu    sync.Mutex
	nodes map[int]*node
	left  []*node         // nodes that have left the cluster; faults may still be active on these nodes
	busy  map[target]bool // targets that have an active fault
}

// target is the part of the cluster that a fault affects. The node is 0 unless the scope belongs to a node.
type target struct {
	scope scope
	node  int
}

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

// Run runs a cluster, injects the faults that the seed determines, and returns the violations.
// Run ends immediately when ctx is done.
func Run(ctx context.Context, cfg Config) error {
	dir, err := newFolders(cfg.Parent)
	if err != nil {
		return fmt.Errorf("make folders: %w", err)
	}
	c := &cluster{
		Config: cfg, ctx: ctx, history: newHistory(cfg.Out), dir: dir,
		nodes: map[int]*node{}, busy: map[target]bool{},
	}
	if err := c.run(cfg.For); err != nil {
		c.history.violation("%w", err)
	}
	c.checkRemains()
	c.checkLogs()
	c.report(cfg.For)
	if err := errors.Join(c.history.violations...); err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w\nthe logs of the processes are in %s", err, dir.top)
	}
	if err := os.RemoveAll(dir.top); err != nil {
		return fmt.Errorf("remove folders: %w", err)
	}
	return ctx.Err()
}

func (c *cluster) run(duration time.Duration) error {
	defer c.close()
	if err := c.begin(); err != nil {
		return err
	}
	c.runWorkload(duration)
	if c.ctx.Err() != nil {
		return nil
	}
	return errors.Join(c.checkStorage(), c.reportTakeovers())
}

func (c *cluster) begin() error {
	try, err := newNetwork()
	if c.noNetworks = err; err == nil {
		try.close()
	} else {
		c.history.note("no packets are dropped, because nodes have no network namespaces: %v", err)
	}
	return c.startWith(initially)
}

// startWith starts storage and the given number of nodes, and waits until their workers have joined.
func (c *cluster) startWith(nodes int) (err error) {
	if err := c.startNATS(); err != nil {
		return err
	}
	connectionString := ""
	if c.Storage == Azure {
		if err := c.startAzurite(c.ctx); err != nil {
			return err
		}
		connectionString = c.azurite.server.ConnectionString()
		if err := c.putRecords(); err != nil {
			return err
		}
	}
	if c.flags, err = c.at(c.nats.url(), "clients", connectionString); err != nil {
		return err
	}
	for _, number := range nodeNumbers(nodes) {
		m, err := c.add(number)
		if err != nil {
			return err
		}
		m.start()
	}
	return c.until("all workers have joined", func() bool {
		var workers []struct{}
		return c.ask(&workers, "workers") == nil && len(workers) == nodes
	})
}

// at returns the flags that name NATS and storage. It writes a connection string to a file called name.
func (c *cluster) at(nats, name, connectionString string) ([]string, error) {
	flags := []string{"--nats", nats, "--cluster", clusterName, "--storage", c.Storage.driver()}
	if connectionString == "" {
		return flags, nil
	}
	file := filepath.Join(c.dir.top, name+".connection")
	return append(flags, "--azure-connection-file", file), os.WriteFile(file, []byte(connectionString), 0o600)
}

const clusterName = "chaos"

// environment returns additional environment variables of the cluster's processes. A variable of the race
// detector makes a process exit at its first data race, and not wait for a second at each exit.
func (c *cluster) environment() []string {
	return []string{"TMPDIR=" + c.dir.temporary, "GORACE=halt_on_error=1 atexit_sleep_ms=0"}
}

func (c *cluster) until(what string, holds func() bool) error {
	deadline := time.Now().Add(SettleWithin)
	for !holds() {
		switch {
		case c.ctx.Err() != nil:
			return c.ctx.Err()
		case time.Now().After(deadline):
			return fmt.Errorf("timed out after %v waiting until %s", SettleWithin, what)
		}
		c.pause(retryInterval)
	}
	return nil
}

// pause waits for d, and returns early if Run must end.
func (c *cluster) pause(d time.Duration) {
	select {
	case <-c.ctx.Done():
	case <-time.After(d):
	}
}

func (c *cluster) add(number int) (*node, error) {
	m, err := c.newNode(number)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes[number] = m
	return m, nil
}

func (c *cluster) remove(m *node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.nodes, m.number)
	c.left = append(c.left, m)
}

// node returns the node with the given number, or nil if no node has the number.
func (c *cluster) node(number int) *node {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodes[number]
}

// allNodes returns the nodes in order of their numbers.
func (c *cluster) allNodes() []*node {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []*node
	for _, m := range c.nodes {
		list = append(list, m)
	}
	slices.SortFunc(list, func(x, y *node) int { return x.number - y.number })
	return list
}

// leader returns the node whose process is the leader, or nil if no node leads.
func (c *cluster) leader() *node {
	var leader struct{ PID int }
	if c.ask(&leader, "leader") != nil {
		return nil
	}
	for _, m := range c.allNodes() {
		if l := m.running(); l != nil && l.PID() == leader.PID {
			return m
		}
	}
	return nil
}

// close stops all processes. If Run must end immediately, close sends SIGKILL.
func (c *cluster) close() {
	signal := syscall.SIGTERM
	if c.ctx.Err() != nil {
		signal = syscall.SIGKILL
	}
	var ending sync.WaitGroup
	for _, m := range c.allNodes() {
		ending.Go(func() { m.shutdown(signal) })
	}
	ending.Wait()
	for _, m := range append(c.allNodes(), c.left...) {
		m.close()
	}
	if c.azurite != nil {
		c.azurite.close()
	}
	if c.nats != nil {
		c.nats.close()
	}
}
