package answer

import (
	"time"

	"github.com/bellwether-compute/bellwether/jobs/client"
)

// Change is the JSON that the command history prints for one change of leader. Change.Detect is 0
// if the duration is unknown. Before its step has ended, Resume is 0, and FirstAssignment or
// FirstResult is null.
type Change struct {
	Epoch           uint64    `json:"epoch"`
	Worker          string    `json:"worker"`
	Cause           string    `json:"cause"`
	At              time.Time `json:"at"`                  // time at which the lease was acquired
	Detect          float64   `json:"detect_ms"`           // time from the predecessor's last sign of life to the decision to replace it
	Elect           float64   `json:"elect_ms"`            // time from the decision to replace the predecessor to the acquisition of the lease
	Fence           float64   `json:"fence_ms"`            // time from the acquisition of the lease until earlier leaders could no longer write
	Resume          float64   `json:"resume_ms"`           // time from the end of fencing until work could be assigned
	FirstAssignment *float64  `json:"first_assignment_ms"` // time from the end of resuming until work was assigned to a worker
	FirstResult     *float64  `json:"first_result_ms"`     // time from the first assignment until a worker reported a new result
}

func NewChange(t client.Term) Change {
	return Change{
		Epoch: t.Epoch, Worker: t.Worker, Cause: t.Cause, At: t.At,
		Detect: Millis(t.Detect), Elect: Millis(t.Elect), Fence: Millis(t.Fence), Resume: Millis(t.Resume),
		FirstAssignment: optionalMillis(t.FirstAssignment), FirstResult: optionalMillis(t.FirstResult),
	}
}

// optionalMillis converts a duration to milliseconds, or returns nil if d is nil.
func optionalMillis(d *time.Duration) *float64 {
	if d == nil {
		return nil
	}
	return new(Millis(*d))
}

// Millis returns a duration in milliseconds, with microsecond precision.
func Millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
