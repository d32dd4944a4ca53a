package wire

import "time"

// LeaderInfo is the answer to AskLeader and AskStepDown.
type LeaderInfo struct {
	Epoch  uint64    `cbor:"1,keyasint" json:"epoch"`
	Worker string    `cbor:"2,keyasint" json:"worker"`
	Host   string    `cbor:"3,keyasint" json:"host"`
	PID    int       `cbor:"4,keyasint" json:"pid"`
	Since  time.Time `cbor:"5,keyasint" json:"since"`

	Storage string `cbor:"6,keyasint,omitempty" json:"storage"` // identity of the leader's storage
}

// WorkerInfo is one worker in the answer to AskWorkers.
type WorkerInfo struct {
	ID     string    `cbor:"1,keyasint" json:"id"`
	Host   string    `cbor:"2,keyasint" json:"host"`
	PID    int       `cbor:"3,keyasint" json:"pid"`
	Slots  int       `cbor:"4,keyasint" json:"slots"` // usable slots
	Leader bool      `cbor:"5,keyasint" json:"leader"`
	State  string    `cbor:"6,keyasint" json:"state"` // idle, busy, draining, silent
	Since  time.Time `cbor:"7,keyasint" json:"since"`

	Lost  int    `cbor:"9,keyasint,omitempty" json:"lost"`  // slots that run code of jobs that does not return
	Build string `cbor:"8,keyasint,omitempty" json:"build"` // how its program was compiled, such as "amd64/v1 go1.26.0"
}

// Workers is the answer to AskWorkers.
type Workers struct {
	Epoch   uint64       `cbor:"1,keyasint"`
	Workers []WorkerInfo `cbor:"2,keyasint"`           // the first MaxListed workers
	More    int          `cbor:"3,keyasint,omitempty"` // number of further workers that are not listed
	Storage string       `cbor:"4,keyasint,omitempty"` // identity of the leader's storage
}

// MaxListed is the largest number of workers, or of waiting jobs, in an answer. An answer
// with MaxListed entries fits in a message.
const MaxListed = 2000

// JobQuery is the question AskJobs: it asks for one active job, or for all active jobs if
// Job is empty.
type JobQuery struct {
	Job string `cbor:"1,keyasint,omitempty"`
}

// JobProgress is the progress of an active job.
type JobProgress struct {
	Job        string   `cbor:"1,keyasint"`
	State      string   `cbor:"2,keyasint"`
	Partitions uint64   `cbor:"3,keyasint"`
	Done       uint64   `cbor:"4,keyasint"`
	Executed   uint64   `cbor:"5,keyasint"`
	Skipped    []uint64 `cbor:"6,keyasint,omitempty"` // the first MaxSkipped skipped partitions
	Rate       float64  `cbor:"7,keyasint"`           // partitions per second, averaged over the last seconds
	Workers    int      `cbor:"8,keyasint"`           // number of workers that hold a span of the job
	Trouble    string   `cbor:"9,keyasint,omitempty"` // why the job makes no progress, or the job's last failure

	// MergesLeft is the number of merges until the job has its root's partial. It is 0 until
	// all partitions are done.
	MergesLeft uint64 `cbor:"10,keyasint,omitempty"`
}

// MaxSkipped is the largest number of skipped partitions that an answer lists for each
// job, so that an answer has room for all active jobs of a leader. The job's manifest
// lists all skipped partitions.
const MaxSkipped = 1000

// Jobs is the answer to AskJobs.
type Jobs struct {
	Epoch   uint64        `cbor:"1,keyasint"`
	Workers int           `cbor:"2,keyasint"`           // number of workers in the cluster
	Jobs    []JobProgress `cbor:"3,keyasint"`           // running jobs, and the first MaxListed waiting jobs
	More    int           `cbor:"4,keyasint,omitempty"` // number of further waiting jobs that are not listed
	Storage string        `cbor:"5,keyasint,omitempty"` // identity of the leader's storage
}

// Cancel is the question AskCancel: it asks the leader to cancel a job. The leader answers when the cancellation is
// durable.
type Cancel struct {
	Job string `cbor:"1,keyasint"`
}

// Done is the answer to AskCancel.
type Done struct {
	Error   string `cbor:"1,keyasint,omitempty"`
	Storage string `cbor:"2,keyasint,omitempty"` // identity of the leader's storage
}
