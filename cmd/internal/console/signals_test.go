package console

import (
	"context"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestDuplicateSignals checks that signals in quick succession, as from timeout(1), count as one
// signal.
func TestDuplicateSignals(t *testing.T) {
	for _, test := range []struct {
		name  string
		after time.Duration // time between the signals
		want  int
	}{
		{"at once", 0, 1},
		{"just within the window", DuplicateWindow - 1, 1},
		{"after the window", DuplicateWindow, 2},
		{"three signals that are no duplicates", time.Hour, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				signals := make(chan os.Signal)
				received := dropDuplicates(ctx, signals)
				signals <- syscall.SIGTERM
				time.Sleep(test.after)
				signals <- syscall.SIGTERM
				if test.after == time.Hour {
					time.Sleep(test.after)
					signals <- syscall.SIGTERM
				}
				synctest.Wait()
				if len(received) != test.want {
					t.Errorf("received %d signals, want %d", len(received), test.want)
				}
				cancel()
				synctest.Wait()
			})
		})
	}
}
