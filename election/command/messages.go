package command

import "time"

// order is a line of JSON from the elector to the watchdog.
type order struct {
	Deadline time.Duration `json:"deadline"` // instant on the shared clock; 0 means that the deadline is unchanged
	Stop     bool          `json:"stop,omitempty"`
	Kill     bool          `json:"kill,omitempty"`
}

// event is a line of JSON from the watchdog to the elector. The watchdog sends an event
// when the command has started, and another when the command has ended or could not be
// started.
type event struct {
	PID    int         `json:"pid,omitempty"`
	Failed *StartError `json:"failed,omitempty"`
	Ended  *Result     `json:"ended,omitempty"`
}
