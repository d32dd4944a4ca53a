package ledger

import (
	"testing"
	"time"
)

// The displayed rate of a job that finishes no more partitions falls to 0.
func TestDisplayedRateEndsAtZero(t *testing.T) {
	var d rateDisplay
	now := time.Duration(0)
	for done := range uint64(5) {
		now += time.Second
		d.update(now, done)
	}
	if d.perSecond < 0.5 {
		t.Fatalf("rate %v, want about 1", d.perSecond)
	}
	for range 60 {
		now += time.Second
		d.update(now, 4)
	}
	if d.perSecond != 0 {
		t.Errorf("after a minute without progress the rate is %v", d.perSecond)
	}
}
