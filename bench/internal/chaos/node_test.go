//go:build unix

package chaos

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/bellwether-compute/bellwether/deploy/local/azurite"
	"github.com/bellwether-compute/bellwether/deploy/local/faults"
	"github.com/bellwether-compute/bellwether/deploy/local/procs"
)

// node runs one worker process at a time, with links to NATS and storage.
type node struct {
	number     int
	network    *network // network namespace of the node; nil if the node uses the network of this process
	nats       *faults.TCPProxy
	blobs      *faults.TCPProxy // proxies for requests to storage; nil on JetStream
	queues     *faults.TCPProxy
	supervisor *procs.Supervisor
	log        *os.File
	history    *history
	abort      <-chan struct{} // channel that is closed when processes must be killed

	watches sync.WaitGroup
	mu      sync.Mutex
	process *instance // the process that was started last; nil if no process was started
	closed  bool      // true if no further process may be started
}

type instance struct {
	*procs.Process
	since     time.Time
	signalled syscall.Signal // signal that this program sent to end the process; 0 if this program sent no signal
}

const (
	// endsWithin is the time within which a worker must end after SIGTERM. Kubernetes uses
	// the same time by default.
	endsWithin = 30 * time.Second
	// exitStatus is the exit status of a process that a job made exit.
	exitStatus = 3
	// restartDelay is the time between the exit of a process that a job made exit and the start of
	// the next process.
	restartDelay = 300 * time.Millisecond
)

// newNode makes a node without a process.
func (c *cluster) newNode(number int) (m *node, err error) {
	m = &node{number: number, history: c.history, abort: c.ctx.Done()}
	defer func() {
		if err != nil {
			m.close()
			err = fmt.Errorf("make node %d: %w", number, err)
		}
	}()
	if c.noNetworks == nil {
		if m.network, err = newNetwork(); err != nil {
			return m, err
		}
	}
	connectionString := ""
	if m.nats, err = m.link(c.nats.address()); err != nil {
		return m, err
	}
	if c.azurite != nil {
		if m.blobs, err = m.link(c.azurite.blobs.Listener.Addr().String()); err != nil {
			return m, err
		}
		if m.queues, err = m.link(c.azurite.queues.Listener.Addr().String()); err != nil {
			return m, err
		}
		connectionString = azurite.ConnectionString(account(m.blobs), account(m.queues))
	}
	at, err := c.at("nats://"+m.nats.Address(), fmt.Sprintf("node-%d", number), connectionString)
	if err != nil {
		return m, err
	}
	if m.log, err = os.Create(filepath.Join(c.dir.logs, fmt.Sprintf("node-%d.log", number))); err != nil {
		return m, err
	}
	m.supervisor = procs.New(procs.Config{
		Program: c.Program,
		Args: append([]string{
			"worker", "--with-parent", "--slots", strconv.Itoa(slots(number)), "--memory", "64MiB", "--mtbf", "1m", "--allow", "probe",
			"--lease", c.Storage.lease().String(), "--log-level", "debug",
		}, at...),
		Env:    c.environment(),
		Output: m.log,
	})
	return m, nil
}

func slots(number int) int { return 2 - number%2 }

// link opens a link from the network of the node to the target.
func (m *node) link(target string) (link *faults.TCPProxy, err error) {
	m.inside(func() { link, err = faults.NewTCPProxy(target) })
	if err != nil || m.network == nil {
		return link, err
	}
	_, port, err := net.SplitHostPort(link.Address())
	if err != nil {
		return link, err
	}
	return link, m.network.name(port)
}

// inside calls a function in the network namespace of the node.
func (m *node) inside(do func()) {
	if m.network == nil {
		do()
		return
	}
	m.network.do(do)
}

func (m *node) String() string { return fmt.Sprintf("node %d", m.number) }

func (m *node) storageLinks() []*faults.TCPProxy {
	if m.blobs == nil {
		return nil
	}
	return []*faults.TCPProxy{m.blobs, m.queues}
}

// start starts a process of the node unless a process is running.
func (m *node) start() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.runningLocked() != nil || m.closed {
		return
	}
	var (
		p   *procs.Process
		err error
	)
	m.inside(func() { p, err = m.supervisor.Start() })
	if err != nil {
		m.history.violation("%v: %v", m, err)
		return
	}
	l := &instance{Process: p, since: time.Now()}
	m.process = l
	m.history.started(p.PID())
	m.watches.Go(func() { m.watch(l) })
}

// watch waits until a process has ended, and checks the reason for the end. If no signal from this
// node ended the process, watch starts another process.
func (m *node) watch(l *instance) {
	<-l.Done()
	m.mu.Lock()
	signalled, closed := l.signalled, m.closed
	m.mu.Unlock()
	err := l.Wait()
	var exit *exec.ExitError
	switch {
	case signalled == syscall.SIGKILL:
		m.history.died()
	case errors.As(err, &exit) && exit.ExitCode() == exitStatus:
		m.history.exited()
		if !closed && signalled == 0 {
			time.Sleep(restartDelay)
			m.start()
		}
	case signalled == syscall.SIGTERM && (err == nil || l.killedAtStart()):
	case signalled == syscall.SIGTERM:
		m.history.violation("%v: process %d ended with %v after SIGTERM", m, l.PID(), err)
	default:
		m.history.violation("%v: process %d ended without a signal: %v", m, l.PID(), err)
		m.start()
	}
}

// killedAtStart reports whether SIGTERM killed a process soon after its start. SIGTERM may kill a
// new process, because the process may not have installed its signal handler yet.
func (l *instance) killedAtStart() bool {
	const soon = 10 * time.Second
	var exit *exec.ExitError
	if !errors.As(l.Wait(), &exit) || time.Since(l.since) > soon {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signal() == syscall.SIGTERM
}

// running returns the running process, or nil if no process is running.
func (m *node) running() *instance {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.runningLocked()
}

// runningLocked returns the running process like [node.running]. The caller must hold m.mu.
func (m *node) runningLocked() *instance {
	if m.process == nil {
		return nil
	}
	select {
	case <-m.process.Done():
		return nil
	default:
		return m.process
	}
}

// terminate sends s to the running process without waiting for its end, and returns the process. It returns nil
// if no process is running, or if s is SIGTERM and an earlier call has sent a signal.
func (m *node) terminate(s syscall.Signal) *instance {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.runningLocked()
	if l == nil || l.signalled != 0 && s != syscall.SIGKILL {
		return nil
	}
	l.signalled = s
	l.Signal(s)
	l.Signal(syscall.SIGCONT) // a suspended process handles SIGTERM only after SIGCONT
	return l
}

// awaitEnd waits until a process has ended after SIGTERM, and kills it after endsWithin or if m.abort is closed.
func (m *node) awaitEnd(l *instance) {
	select {
	case <-l.Done():
		return
	case <-m.abort:
	case <-time.After(endsWithin):
		m.history.violation("%v: process %d did not end within %v of SIGTERM", m, l.PID(), endsWithin)
	}
	m.mu.Lock()
	l.signalled = syscall.SIGKILL
	m.mu.Unlock()
	l.Kill()
	<-l.Done()
}

// shutdown ends the node's process with s, waits for its end, and prevents further starts.
func (m *node) shutdown(s syscall.Signal) {
	m.mu.Lock()
	m.closed = true
	l := m.runningLocked()
	m.mu.Unlock()
	if l != nil {
		m.terminate(s)
		m.awaitEnd(l)
	}
	m.watches.Wait()
}

// close releases the resources of the node. The node's process must have ended.
func (m *node) close() {
	if m.supervisor != nil {
		m.supervisor.Stop(endsWithin, nil)
	}
	for _, l := range []*faults.TCPProxy{m.nats, m.blobs, m.queues} {
		if l != nil {
			_ = l.Close() // errors are ignored, because the listener is closed in any case
		}
	}
	if m.network != nil {
		m.network.close()
	}
	if m.log != nil {
		_ = m.log.Close()
	}
}
