package cli

import (
	"context"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestEchoIsNoSecondWish: what signals a process and its group at once, as timeout(1)
// does, asks it to stop, not to stop without waiting.
func TestEchoIsNoSecondWish(t *testing.T) {
	for _, test := range []struct {
		name  string
		after time.Duration // of each signal but the first
		want  int
	}{
		{"at once", 0, 1},
		{"on the heels", insistence - 1, 1},
		{"a second wish", insistence, 2},
		{"more than anybody heeds", time.Hour, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				signals := make(chan os.Signal)
				wishes := withoutEchoes(ctx, signals)
				signals <- syscall.SIGTERM
				time.Sleep(test.after)
				signals <- syscall.SIGTERM
				if test.after == time.Hour {
					time.Sleep(test.after)
					signals <- syscall.SIGTERM
				}
				synctest.Wait()
				if len(wishes) != test.want {
					t.Errorf("%d wishes heard, want %d", len(wishes), test.want)
				}
				cancel()
				synctest.Wait()
			})
		})
	}
}
