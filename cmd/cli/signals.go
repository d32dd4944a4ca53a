package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// insistence is how long after a signal the next one is taken as a second wish.
// timeout(1) and some supervisors signal a process and then its group, so that one
// wish arrives twice.
const insistence = 250 * time.Millisecond

// interruptible is ctx until the first SIGINT or SIGTERM. A second one ends the
// process, as it would without this.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() { time.AfterFunc(insistence, stop) })
	return ctx, stop
}

// stopSignals are the wishes of others, by SIGINT or SIGTERM, that this process ends:
// at most two at a time. Call stop when they are of no more interest.
func stopSignals() (wishes <-chan os.Signal, stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithCancel(context.Background())
	return withoutEchoes(ctx, signals), func() {
		signal.Stop(signals)
		cancel()
	}
}

// withoutEchoes passes the first signals on until ctx is done, but for those that come
// on the heels of another.
func withoutEchoes(ctx context.Context, signals <-chan os.Signal) <-chan os.Signal {
	wishes := make(chan os.Signal, 2)
	go func() {
		var last time.Time
		for {
			select {
			case s := <-signals:
				if now := time.Now(); now.Sub(last) >= insistence {
					last = now
					select {
					case wishes <- s:
					default: // two wait already
					}
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return wishes
}
