package term

import (
	"testing"
	"time"
)

func TestNotesOfOneJobAreBounded(t *testing.T) {
	var c noteCount
	now := time.Unix(1000, 0)
	logged := 0
	for range 10 * notesPerJob {
		now = now.Add(time.Millisecond)
		if _, ok := c.admit(now); ok {
			logged++
		}
	}
	if logged != notesPerJob {
		t.Errorf("within a window: %d notes were logged, want %d", logged, notesPerJob)
	}
	skipped, ok := c.admit(now.Add(noteWindow))
	if want := 9 * notesPerJob; !ok || skipped != want {
		t.Errorf("in the next window: got %d unlogged, %t, want %d, true", skipped, ok, want)
	}
	if skipped, ok := c.admit(now.Add(noteWindow)); !ok || skipped != 0 {
		t.Errorf("after that: got %d unlogged, %t, want 0, true", skipped, ok)
	}
}
