package term

import (
	"testing"
	"time"
)

func TestLogLinesOfOneJobAreBounded(t *testing.T) {
	var l logThrottle
	now := time.Unix(1000, 0)
	logged := 0
	for range 10 * maxLinesPerJob {
		now = now.Add(time.Millisecond)
		if _, ok := l.allow(now); ok {
			logged++
		}
	}
	if logged != maxLinesPerJob {
		t.Errorf("within a window %d lines were logged, want %d", logged, maxLinesPerJob)
	}
	dropped, ok := l.allow(now.Add(throttleWindow))
	if want := 9 * maxLinesPerJob; !ok || dropped != want {
		t.Errorf("in the next window: got %d dropped, %t, want %d, true", dropped, ok, want)
	}
	if dropped, ok := l.allow(now.Add(throttleWindow)); !ok || dropped != 0 {
		t.Errorf("after that: got %d dropped, %t, want 0, true", dropped, ok)
	}
}
