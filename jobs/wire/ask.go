package wire

import "time"

// LeaderInfo answers AskLeader and AskStepDown.
type LeaderInfo struct {
	Epoch  uint64    `cbor:"1,keyasint" json:"epoch"`
	Worker string    `cbor:"2,keyasint" json:"worker"`
	Host   string    `cbor:"3,keyasint" json:"host"`
	PID    int       `cbor:"4,keyasint" json:"pid"`
	Since  time.Time `cbor:"5,keyasint" json:"since"`
}

// WorkerInfo is one worker in the answer to AskWorkers.
type WorkerInfo struct {
	ID     string    `cbor:"1,keyasint" json:"id"`
	Host   string    `cbor:"2,keyasint" json:"host"`
	PID    int       `cbor:"3,keyasint" json:"pid"`
	Slots  int       `cbor:"4,keyasint" json:"slots"`
	Leader bool      `cbor:"5,keyasint" json:"leader"`
	State  string    `cbor:"6,keyasint" json:"state"` // idle, busy, draining, silent
	Since  time.Time `cbor:"7,keyasint" json:"since"`
}

// Workers answers AskWorkers.
type Workers struct {
	Epoch   uint64       `cbor:"1,keyasint"`
	Workers []WorkerInfo `cbor:"2,keyasint"`           // the first MaxListed of them
	More    int          `cbor:"3,keyasint,omitempty"` // that are left out
}

// MaxListed is how many workers, or jobs that wait, an answer names: so many fit
// in a message.
const MaxListed = 2000

// JobQuery asks AskJobs for active jobs: one, or all where Job is empty.
type JobQuery struct {
	Job string `cbor:"1,keyasint,omitempty"`
}

// JobProgress is how far an active job is.
type JobProgress struct {
	Job        string   `cbor:"1,keyasint"`
	State      string   `cbor:"2,keyasint"`
	Partitions uint64   `cbor:"3,keyasint"`
	Done       uint64   `cbor:"4,keyasint"`
	Executed   uint64   `cbor:"5,keyasint"`
	Skipped    []uint64 `cbor:"6,keyasint,omitempty"` // the first MaxSkipped of them
	Rate       float64  `cbor:"7,keyasint"`           // partitions per second of late
	Workers    int      `cbor:"8,keyasint"`           // that hold a span of it
	Trouble    string   `cbor:"9,keyasint,omitempty"` // what keeps it from going on, or the last failure
}

// MaxSkipped is how many skipped partitions of each job an answer names: as many
// jobs as a leader works on at once must fit in it. The job's manifest has all.
const MaxSkipped = 1000

// Jobs answers AskJobs.
type Jobs struct {
	Epoch   uint64        `cbor:"1,keyasint"`
	Workers int           `cbor:"2,keyasint"`           // in the cluster
	Jobs    []JobProgress `cbor:"3,keyasint"`           // of those that wait, the first MaxListed
	More    int           `cbor:"4,keyasint,omitempty"` // that are left out
}

// Cancel asks AskCancel to cancel a job. The answer comes once that is durable.
type Cancel struct {
	Job string `cbor:"1,keyasint"`
}

// Done answers AskCancel.
type Done struct {
	Error string `cbor:"1,keyasint,omitempty"`
}
