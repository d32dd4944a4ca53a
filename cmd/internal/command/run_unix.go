//go:build unix

package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/bellwether-compute/bellwether/election"
)

const (
	pollEvery = 100 * time.Millisecond // maximum time until a jump of the clock is noticed
	// watchdogGrace is how long after the deadline the elector waits before it kills a watchdog
	// that has not reported the command's end.
	watchdogGrace = 250 * time.Millisecond
)

// Run runs the command and returns when all processes of its process group have ended. The context
// must come from [election.Hold], which extends the context's deadline with each renewal. When ctx
// is done, Run stops the command, or kills it if the lease was lost.
func Run(ctx context.Context, cfg Config) (Result, error) {
	w, err := startWatchdog(cfg)
	if err != nil {
		return Result{}, err
	}
	defer w.close()
	result, err := w.supervise(ctx)
	if err != nil {
		var failed *StartError
		if !errors.As(err, &failed) {
			return result, fmt.Errorf("run %s: %w", cfg.Args[0], err)
		}
	}
	return result, err
}

// watchdog represents the watchdog process in the elector.
type watchdog struct {
	cfg      Config
	cmd      *exec.Cmd
	orders   *os.File
	reports  *os.File
	events   chan event // events from the watchdog; closed when the watchdog has ended
	deadline time.Time  // the deadline that was last sent to the watchdog
	pid      int        // process ID of the command; 0 if the command was not started
	ended    bool       // the watchdog has reported the command's end
}

func startWatchdog(cfg Config) (*watchdog, error) {
	stdin, orders, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start watchdog: %w", err)
	}
	reports, events, err := os.Pipe()
	if err != nil {
		_, _ = stdin.Close(), orders.Close()
		return nil, fmt.Errorf("start watchdog: %w", err)
	}
	args := append(cfg.Watchdog[1:len(cfg.Watchdog):len(cfg.Watchdog)], cfg.Args...)
	cmd := exec.Command(cfg.Watchdog[0], args...)
	cmd.Env = append(os.Environ(), cfg.Env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{events}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = cmd.Start()
	_, _ = stdin.Close(), events.Close() // the watchdog process has its own copies of these files
	if err != nil {
		_, _ = orders.Close(), reports.Close()
		return nil, fmt.Errorf("start watchdog: %w", err)
	}
	w := &watchdog{cfg: cfg, cmd: cmd, orders: orders, reports: reports, events: make(chan event)}
	go w.read()
	return w, nil
}

// read forwards the watchdog's events to w.events until the watchdog and the command have closed
// the pipe.
func (w *watchdog) read() {
	defer close(w.events)
	for decoder := json.NewDecoder(w.reports); ; {
		var e event
		if decoder.Decode(&e) != nil {
			return
		}
		w.events <- e
	}
}

func (w *watchdog) close() {
	_ = w.orders.Close() // after this, the watchdog stops a command that still runs
	if !w.ended {
		w.kill()
	}
	_ = w.cmd.Wait() // the status is ignored, because events say how the command ended
	for range w.events {
	}
	_ = w.reports.Close()
}

// kill kills the command's process group and the watchdog. It waits until the process group is
// empty (see killGroup).
func (w *watchdog) kill() {
	_ = w.cmd.Process.Kill()
	if w.pid > 0 {
		killGroup(w.pid)
	}
}

func (w *watchdog) supervise(ctx context.Context) (Result, error) {
	poll := time.NewTicker(min(pollEvery, max(w.cfg.Grace/10, time.Millisecond)))
	defer poll.Stop()
	w.extend(ctx)
	done := ctx.Done()
	for {
		select {
		case e, ok := <-w.events:
			switch {
			case !ok:
				return Result{}, errors.New("the watchdog was killed")
			case e.Failed != nil:
				w.ended = true
				return Result{}, e.Failed
			case e.Ended != nil:
				w.ended = true
				return *e.Ended, nil
			}
			w.pid = e.PID
		case <-poll.C:
			w.extend(ctx)
			if time.Until(w.deadline) < -watchdogGrace {
				return Result{}, errors.New("the watchdog does not answer")
			}
		case <-done:
			done = nil
			lost := errors.Is(context.Cause(ctx), election.ErrDeposed)
			w.send(order{Stop: true, Kill: lost})
		}
	}
}

// extend sends the deadline of ctx to the watchdog if the deadline has changed.
func (w *watchdog) extend(ctx context.Context) {
	deadline, ok := ctx.Deadline()
	if !ok || deadline.Equal(w.deadline) {
		return
	}
	w.deadline = deadline
	// The shared clock is read before the remaining time is computed. A suspension between the two
	// steps therefore makes the deadline too early rather than too late.
	now := sharedClock()
	w.send(order{Deadline: now + time.Until(deadline)})
}

// send writes an order and ignores errors. A failed write means that the watchdog has ended or no
// longer reads orders. The end of the watchdog closes the channel of events. A watchdog that no
// longer reads orders still enforces the last deadline that it has read.
func (w *watchdog) send(o order) {
	_ = w.orders.SetWriteDeadline(time.Now().Add(pollEvery))
	_ = json.NewEncoder(w.orders).Encode(o)
}
