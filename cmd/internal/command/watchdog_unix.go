//go:build unix

package command

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

const (
	reportTo     = 3           // file descriptor to which events are written
	groupTimeout = time.Second // longest wait for processes that got SIGKILL
)

// Watchdog runs a command for the elector that has started this process. It reads orders from
// standard input and writes events to descriptor 3.
func Watchdog(args []string, grace time.Duration) error {
	// Signals that a service manager sends to all processes of a service are ignored. The elector
	// gets the same signals, and decides when to stop the command.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// The thread must not end early, because the kernel kills the command when the thread that
	// started it ends.
	runtime.LockOSThread()

	syscall.CloseOnExec(reportTo)
	reports := json.NewEncoder(os.NewFile(reportTo, "events"))
	orders := make(chan order)
	go readOrders(orders)
	first := <-orders
	if first.Deadline == 0 {
		return errors.New("the elector ended before it sent a deadline")
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
	if err := startError(args[0], cmd.Start()); err != nil {
		var failed *StartError
		errors.As(err, &failed)
		return reports.Encode(event{Failed: failed})
	}
	_ = reports.Encode(event{PID: cmd.Process.Pid}) // an error means that the elector has ended, which also closes the channel of orders and stops the command
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the error is ignored, because ProcessState says how the command ended
		close(exited)
	}()
	g := &group{id: cmd.Process.Pid, grace: grace, deadline: first.Deadline}
	g.supervise(orders, exited)
	return reports.Encode(event{Ended: &Result{Status: statusOf(cmd.ProcessState), Stopped: g.stopping}})
}

// readOrders forwards the elector's orders to a channel. It treats the end of standard input as an
// order to stop.
func readOrders(orders chan<- order) {
	for decoder := json.NewDecoder(os.Stdin); ; {
		var o order
		if decoder.Decode(&o) != nil {
			orders <- order{Stop: true}
			return
		}
		orders <- o
	}
}

type group struct {
	id       int
	grace    time.Duration
	deadline time.Duration // deadline of the lease, on the shared clock
	stopping bool
	killAt   time.Duration // time of SIGKILL on the shared clock; set by stop
}

// supervise carries out orders until the command has ended, and then kills the rest of the process
// group.
func (g *group) supervise(orders <-chan order, exited <-chan struct{}) {
	check := time.NewTimer(0)
	defer check.Stop()
	for {
		check.Reset(min(g.check(), pollEvery))
		select {
		case <-exited:
			killGroup(g.id) // the command may have left other processes in its group
			return
		case o := <-orders:
			if o.Deadline > 0 {
				g.deadline = o.Deadline
			}
			if o.Stop {
				g.stop()
			}
			if o.Kill {
				g.killAt = 0
			}
		case <-check.C:
		}
	}
}

// check sends the signals that are due and returns the time until the next check.
func (g *group) check() time.Duration {
	now := sharedClock()
	if now >= g.deadline-g.grace {
		g.stop()
	}
	if !g.stopping {
		return g.deadline - g.grace - now
	}
	killAt := min(g.killAt, g.deadline)
	if now >= killAt {
		g.signal(syscall.SIGKILL)
		return pollEvery
	}
	return killAt - now
}

// stop sends SIGTERM to the command's process group. Only the first call of stop has an effect.
func (g *group) stop() {
	if g.stopping {
		return
	}
	g.stopping, g.killAt = true, sharedClock()+g.grace
	g.signal(syscall.SIGTERM)
	g.signal(syscall.SIGCONT) // a suspended process handles SIGTERM only after SIGCONT
}

func (g *group) signal(s syscall.Signal) {
	_ = syscall.Kill(-g.id, s) // Kill fails only if the group has no process
}

// killGroup kills a process group and waits until the group is empty. It gives up after
// groupTimeout, because a killed process stays in the group until its parent has called wait.
func killGroup(id int) {
	for start := time.Now(); syscall.Kill(-id, syscall.SIGKILL) == nil && time.Since(start) < groupTimeout; {
		time.Sleep(time.Millisecond)
	}
}

// statusOf returns the exit status that a Unix shell would report.
func statusOf(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}
