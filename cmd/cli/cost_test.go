package cli_test

import (
	"math"
	"testing"
	"time"
)

// TestCostOfKilledWorkers compares the time of slots with what must have passed at least, and with the time for which
// the slots existed.
func TestCostOfKilledWorkers(t *testing.T) {
	onEachStorage(t, func(t *testing.T, on testStorage) {
		c := newTestCluster(t, on, workers)
		id := c.submitHeld(jobParams...)
		c.awaitDone(id, partitions/4)
		c.kill(c.others(c.leader().PID)[0])
		c.awaitDone(id, partitions/2)
		c.kill(c.process(c.leader().PID))
		c.finish(id, jobParams...)

		var got struct {
			Executed    uint64    `json:"executed"`
			SlotSeconds float64   `json:"slot_seconds"`
			LostSeconds float64   `json:"lost_seconds"`
			Cost        float64   `json:"cost"`
			Submitted   time.Time `json:"submitted"`
			Finished    time.Time `json:"finished"`
		}
		const perSecond = "3600" // the price of a slot for an hour
		c.do(&got, "status", id, "--price", perSecond)
		if least := float64(got.Executed) * partitionTime.Seconds(); got.SlotSeconds < least {
			t.Errorf("%v s of slots, but %d executions take at least %v s", got.SlotSeconds, got.Executed, least)
		}
		// The last reports of the two killed workers may be as old as the job, so their estimates count twice.
		if most := (workers + 2) * got.Finished.Sub(got.Submitted).Seconds(); got.SlotSeconds > most {
			t.Errorf("%v s of slots, but the slots existed for at most %v s", got.SlotSeconds, most)
		}
		if got.LostSeconds > got.SlotSeconds {
			t.Errorf("%v s of %v s were lost", got.LostSeconds, got.SlotSeconds)
		}
		if rounded := got.SlotSeconds * 1e-12; math.Abs(got.Cost-got.SlotSeconds) > rounded {
			t.Errorf("cost: got %v, want %v", got.Cost, got.SlotSeconds)
		}
	})
}
