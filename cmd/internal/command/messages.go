package command

import "time"

// order is a message from the elector to the watchdog, in one line of JSON.
type order struct {
	Deadline time.Duration `json:"deadline"` // new deadline on the shared clock; 0 means that the deadline is unchanged
	Stop     bool          `json:"stop,omitempty"`
	Kill     bool          `json:"kill,omitempty"`
}

// event is a message from the watchdog to the elector, in one line of JSON. The watchdog sends an
// event when the command has started, and another event when the command has ended or could not be
// started.
type event struct {
	PID    int         `json:"pid,omitempty"`
	Failed *StartError `json:"failed,omitempty"`
	Ended  *Result     `json:"ended,omitempty"`
}
