package console

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// DuplicateWindow is the time after a signal during which further signals count as duplicates. The
// program timeout and some supervisors send a signal to a process and then to its process group, so
// the process receives the signal twice.
const DuplicateWindow = 250 * time.Millisecond

// Interruptible returns a context that ends when ctx ends, or at the first SIGINT or SIGTERM. A
// second signal ends the process, unless it is a duplicate.
func Interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() { time.AfterFunc(DuplicateWindow, stop) })
	return ctx, stop
}

// StopSignals returns a channel that receives SIGINT and SIGTERM without duplicates. The returned
// channel holds up to two signals; further signals are dropped. The returned function stop ends the
// delivery of signals.
func StopSignals() (received <-chan os.Signal, stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithCancel(context.Background())
	return dropDuplicates(ctx, signals), func() {
		signal.Stop(signals)
		cancel()
	}
}

// dropDuplicates forwards signals until ctx ends, and drops each signal that arrives within
// DuplicateWindow after the last forwarded signal.
func dropDuplicates(ctx context.Context, signals <-chan os.Signal) <-chan os.Signal {
	received := make(chan os.Signal, 2)
	go func() {
		var last time.Time
		for {
			select {
			case s := <-signals:
				if now := time.Now(); now.Sub(last) >= DuplicateWindow {
					last = now
					select {
					case received <- s:
					default: // the channel is full, so drop the signal
					}
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return received
}
