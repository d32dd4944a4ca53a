package executor

import (
	"context"
	"testing"
	"time"
)

// TestGuardOfStalledProcess runs code that returns at once, in a process that sees each end of a context too late. The
// code counts as returned.
func TestGuardOfStalledProcess(t *testing.T) {
	c := &core{timing: timing{stopTimeout: time.Nanosecond}}
	defer c.goroutines.Wait()
	for range 1000 {
		gone, err := guard{core: c, limit: time.Hour}.run(t.Context(), func(context.Context) error { return nil })
		if gone != nil || err != nil {
			t.Fatalf("got %v, %v: want code that has returned without an error", gone, err)
		}
	}
}
