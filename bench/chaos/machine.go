//go:build unix

package chaos

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/bellwether-compute/bellwether/deploy/local/azurite"
	"github.com/bellwether-compute/bellwether/deploy/local/faults"
	"github.com/bellwether-compute/bellwether/deploy/local/procs"
)

// machine has one worker process, one after another, and the links by which it
// reaches NATS and storage.
type machine struct {
	number  int
	network *network // nil: that of this process
	nats    *faults.TCPProxy
	blobs   *faults.TCPProxy // nil on JetStream, and so is queues
	queues  *faults.TCPProxy
	flock   *procs.Supervisor
	log     *os.File
	book    *book
	hurry   <-chan struct{} // closed where nobody waits for an end in order

	watches sync.WaitGroup
	mu      sync.Mutex
	process *life // the last; nil: none was started
	closed  bool  // none is to run any more
}

// life is one process.
type life struct {
	*procs.Process
	since time.Time
	told  syscall.Signal // to end; 0: nobody did
}

const (
	// endsWithin is how long a worker may take to end in order: what Kubernetes gives
	// by default.
	endsWithin = 30 * time.Second
	// statusOrdered is the status of a process that a job ended to order.
	statusOrdered = 3
	// revival passes until a process that a job ended is replaced.
	revival = 300 * time.Millisecond
)

// newMachine makes a machine whose process is not started.
func (c *cluster) newMachine(number int) (m *machine, err error) {
	m = &machine{number: number, book: c.book, hurry: c.ctx.Done()}
	defer func() {
		if err != nil {
			m.close()
			err = fmt.Errorf("make machine %d: %w", number, err)
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
		if m.blobs, err = m.link(c.azurite.blobs.address()); err != nil {
			return m, err
		}
		if m.queues, err = m.link(c.azurite.queues.address()); err != nil {
			return m, err
		}
		connectionString = azurite.ConnectionString(account(m.blobs), account(m.queues))
	}
	at, err := c.at("nats://"+m.nats.Address(), fmt.Sprintf("machine-%d", number), connectionString)
	if err != nil {
		return m, err
	}
	if m.log, err = os.Create(filepath.Join(c.dir.logs, fmt.Sprintf("machine-%d.log", number))); err != nil {
		return m, err
	}
	m.flock = procs.New(procs.Config{
		Program: c.program,
		Args:    append([]string{"worker", "--with-parent", "--slots", "1", "--lease", c.on.lease().String()}, at...),
		Env:     c.environment(),
		Output:  m.log,
	})
	return m, nil
}

// link opens a link whose near end is in the machine's network.
func (m *machine) link(target string) (link *faults.TCPProxy, err error) {
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

// inside does something in the machine's network.
func (m *machine) inside(do func()) {
	if m.network == nil {
		do()
		return
	}
	m.network.do(do)
}

func (m *machine) String() string { return fmt.Sprintf("machine %d", m.number) }

// storageLinks are those to the storage account.
func (m *machine) storageLinks() []*faults.TCPProxy {
	if m.blobs == nil {
		return nil
	}
	return []*faults.TCPProxy{m.blobs, m.queues}
}

// start starts a process, unless one runs.
func (m *machine) start() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.alive() != nil || m.closed {
		return
	}
	var (
		p   *procs.Process
		err error
	)
	m.inside(func() { p, err = m.flock.Start() })
	if err != nil {
		m.book.complain("%v: %v", m, err)
		return
	}
	l := &life{Process: p, since: time.Now()}
	m.process = l
	m.book.started(p.PID())
	m.watches.Go(func() { m.watch(l) })
}

// watch waits for the end of a process and judges it.
func (m *machine) watch(l *life) {
	<-l.Done()
	m.mu.Lock()
	told, closed := l.told, m.closed
	m.mu.Unlock()
	err := l.Wait()
	var exit *exec.ExitError
	switch {
	case told == syscall.SIGKILL:
		m.book.died()
	case errors.As(err, &exit) && exit.ExitCode() == statusOrdered:
		m.book.endedToOrder()
		if !closed && told == 0 {
			time.Sleep(revival)
			m.start()
		}
	case told == syscall.SIGTERM && (err == nil || l.unprepared()):
	case told == syscall.SIGTERM:
		m.book.complain("%v: process %d was to end in order and ended with %v", m, l.PID(), err)
	default:
		m.book.complain("%v: process %d ended by itself: %v", m, l.PID(), err)
		m.start()
	}
}

// unprepared reports whether a process died of SIGTERM so soon after its start that it
// may not have been ready to handle it.
func (l *life) unprepared() bool {
	const soon = 10 * time.Second
	var exit *exec.ExitError
	if !errors.As(l.Wait(), &exit) || time.Since(l.since) > soon {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signal() == syscall.SIGTERM
}

// running is the process that runs, or nil.
func (m *machine) running() *life {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.alive()
}

// alive is running for those that hold the lock.
func (m *machine) alive() *life {
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

// tell sends the running process a signal that ends it, and returns the process; nil
// if there is none, or if it was told before and is to end in order.
func (m *machine) tell(s syscall.Signal) *life {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.alive()
	if l == nil || l.told != 0 && s != syscall.SIGKILL {
		return nil
	}
	l.told = s
	l.Signal(s)
	l.Signal(syscall.SIGCONT) // or one that is stopped would not hear of it
	return l
}

// awaitEnd waits until a process that was told to end has, and kills it if it takes
// longer than it may.
func (m *machine) awaitEnd(l *life) {
	select {
	case <-l.Done():
		return
	case <-m.hurry:
	case <-time.After(endsWithin):
		m.book.complain("%v: process %d did not end within %v of SIGTERM", m, l.PID(), endsWithin)
	}
	m.mu.Lock()
	l.told = syscall.SIGKILL
	m.mu.Unlock()
	l.Kill()
	<-l.Done()
}

// retire ends the process for good, in order or at once, and waits for that.
func (m *machine) retire(s syscall.Signal) {
	m.mu.Lock()
	m.closed = true
	l := m.alive()
	m.mu.Unlock()
	if l != nil {
		m.tell(s)
		m.awaitEnd(l)
	}
	m.watches.Wait()
}

// close closes what the machine has, once its process has ended.
func (m *machine) close() {
	if m.flock != nil {
		m.flock.Stop(endsWithin, nil)
	}
	for _, l := range []*faults.TCPProxy{m.nats, m.blobs, m.queues} {
		if l != nil {
			_ = l.Close() // a listener is closed whatever it says
		}
	}
	if m.network != nil {
		m.network.close()
	}
	if m.log != nil {
		_ = m.log.Close()
	}
}
