package wire

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// LeaderInfo is the answer to AskLeader and AskStepDown.
type LeaderInfo struct {
	Epoch  uint64    `cbor:"1,keyasint" json:"epoch"`
	Worker string    `cbor:"2,keyasint" json:"worker"`
	Host   string    `cbor:"3,keyasint" json:"host"`
	PID    int       `cbor:"4,keyasint" json:"pid"`
	Since  time.Time `cbor:"5,keyasint" json:"since"`

	Storage string `cbor:"6,keyasint,omitempty" json:"storage"` // identity of the storage that the leader uses
}

// WorkerInfo describes one worker in the answer to AskWorkers.
type WorkerInfo struct {
	ID     string    `cbor:"1,keyasint" json:"id"`
	Host   string    `cbor:"2,keyasint" json:"host"`
	PID    int       `cbor:"3,keyasint" json:"pid"`
	Slots  int       `cbor:"4,keyasint" json:"slots"` // number of usable slots
	Leader bool      `cbor:"5,keyasint" json:"leader"`
	State  string    `cbor:"6,keyasint" json:"state"` // idle, busy, draining, silent, or benched with a colon and the reason
	Since  time.Time `cbor:"7,keyasint" json:"since"`

	Lost    int    `cbor:"9,keyasint,omitempty" json:"lost"`     // number of slots that are occupied by code that does not return
	Build   string `cbor:"8,keyasint,omitempty" json:"build"`    // compiler and architecture of the worker's program, such as "amd64/v1 go1.26.0"
	Version string `cbor:"10,keyasint,omitempty" json:"version"` // version of the worker's program; empty for older programs
	Usage   Usage  `cbor:"22,keyasint,omitzero" json:"usage"`    // the worker's use of its machine, according to its last report

	// The fields from Busy on are set only in answers to a WorkerQuery.
	Busy    int           `cbor:"20,keyasint,omitempty" json:"busy"`    // number of slots that run a span
	Spans   int           `cbor:"21,keyasint,omitempty" json:"spans"`   // number of spans that the worker holds, including running spans
	Cost    float64       `cbor:"23,keyasint,omitempty" json:"cost"`    // work that a death of the worker would lose, in slot-seconds
	Running []RunningSpan `cbor:"24,keyasint,omitempty" json:"running"` // running spans; at most the first MaxRunning
	LostAt  []int         `cbor:"25,keyasint,omitempty" json:"lost_at"` // numbers of the lost slots, from 0; only numbers below MaxRunning
}

// RunningSpan is a span that a slot runs.
type RunningSpan struct {
	Number uint64        `cbor:"1,keyasint" json:"number"` // number of the assignment, as in SpanID
	Job    string        `cbor:"2,keyasint" json:"job"`
	Again  bool          `cbor:"3,keyasint,omitempty" json:"again"` // true if an earlier attempt failed
	For    time.Duration `cbor:"4,keyasint" json:"for_ns"`          // time since a partition of the span was last reported
	Slot   int           `cbor:"5,keyasint,omitempty" json:"slot"`  // number of the slot plus 1; 0 for an older worker, which does not report the number

	Reassigned bool   `cbor:"6,keyasint,omitempty" json:"reassigned"` // true if a worker died that held the span
	Lo         uint64 `cbor:"7,keyasint,omitempty" json:"lo"`         // first partition of the span that is not reported
	Hi         uint64 `cbor:"8,keyasint,omitempty" json:"hi"`         // last partition plus 1; 0 in answers of older leaders
}

// MaxRunning is the largest number of running spans that an answer of the leader lists for each
// worker.
const MaxRunning = 64

// WorkerQuery is the content of the request AskWorkers. A program that lists all workers with one
// request sends an empty WorkerQuery.
type WorkerQuery struct {
	After string `cbor:"1,keyasint,omitempty"` // only workers with greater IDs are listed
	Limit int    `cbor:"2,keyasint,omitempty"` // maximum number of workers in the answer, at most MaxQueried
}

// MaxQueried is the largest number of workers in the answer to a WorkerQuery, so that the
// answer with the running spans of each worker fits in a message.
const MaxQueried = 100

// Totals contains figures for the whole cluster.
type Totals struct {
	Workers  int     `cbor:"1,keyasint" json:"workers"`
	Draining int     `cbor:"2,keyasint,omitempty" json:"draining"`
	Silent   int     `cbor:"3,keyasint,omitempty" json:"silent"`
	Slots    int     `cbor:"4,keyasint" json:"slots"` // number of usable slots
	Busy     int     `cbor:"5,keyasint,omitempty" json:"busy"`
	Lost     int     `cbor:"6,keyasint,omitempty" json:"lost"`
	Memory   uint64  `cbor:"7,keyasint,omitempty" json:"memory"`
	Rate     float64 `cbor:"8,keyasint,omitempty" json:"rate"` // partitions per second over all jobs, averaged over the last few seconds

	Builds      []BuildCount `cbor:"9,keyasint,omitempty" json:"builds"` // the most frequent builds, at most MaxBuilds
	OtherBuilds int          `cbor:"10,keyasint,omitempty" json:"other_builds"`

	// The four fields from Planning on are numbers of jobs that have not ended. The four fields
	// count jobs that are being planned or resumed, active jobs, jobs that wait for the end of
	// active jobs, and jobs that wait for a leader that knows their definition.
	Planning int `cbor:"11,keyasint,omitempty" json:"planning"`
	Running  int `cbor:"12,keyasint,omitempty" json:"running"`
	Queued   int `cbor:"13,keyasint,omitempty" json:"queued"`
	Waiting  int `cbor:"14,keyasint,omitempty" json:"waiting"`

	Leader LeaderInfo `cbor:"15,keyasint,omitzero" json:"leader"`

	Versions      []VersionCount `cbor:"16,keyasint,omitempty" json:"versions"` // the most frequent versions, at most MaxBuilds
	OtherVersions int            `cbor:"17,keyasint,omitempty" json:"other_versions"`
}

// VersionCount is the number of workers of a version of the program.
type VersionCount struct {
	Version string `cbor:"1,keyasint" json:"version"` // version of the program; empty for an older program, which does not report its version
	Workers int    `cbor:"2,keyasint" json:"workers"`
}

// BuildCount is the number of workers of a build.
type BuildCount struct {
	Build   string `cbor:"1,keyasint" json:"build"`
	Workers int    `cbor:"2,keyasint" json:"workers"`
}

// MaxBuilds is the largest number of builds, and of program versions, in [Totals].
const MaxBuilds = 8

// Workers is the answer to AskWorkers.
type Workers struct {
	Epoch   uint64       `cbor:"1,keyasint"`
	Workers []WorkerInfo `cbor:"2,keyasint"`           // the first workers in the order of their IDs, at most MaxListed
	More    int          `cbor:"3,keyasint,omitempty"` // number of workers that are not listed
	Storage string       `cbor:"4,keyasint,omitempty"` // identity of the storage that the leader uses
	Totals  *Totals      `cbor:"5,keyasint,omitempty"` // figures of the cluster; only in answers to a WorkerQuery
	Kinds   []KindCount  `cbor:"6,keyasint,omitempty"` // the definitions that workers run, at most MaxKinds; empty in answers of older programs
	Gone    []GoneWorker `cbor:"7,keyasint,omitempty"` // workers that have died under this leader, the last one first, at most MaxGone; only in answers to a WorkerQuery
}

// GoneWorker describes a worker that has died or was silent for too long.
type GoneWorker struct {
	ID    string        `cbor:"1,keyasint" json:"id"`
	Host  string        `cbor:"2,keyasint" json:"host"`
	PID   int           `cbor:"3,keyasint" json:"pid"`
	Cause string        `cbor:"4,keyasint" json:"cause"`            // what the leader has noticed
	Work  string        `cbor:"5,keyasint,omitempty" json:"work"`   // the work that it ran, with the jobs; cut at MaxGoneWork bytes
	Used  uint64        `cbor:"6,keyasint,omitempty" json:"memory"` // memory in bytes that its process used when it last reported
	For   time.Duration `cbor:"7,keyasint" json:"for_ns"`           // time since then
}

// The lists of workers that have died are short, so that an answer with them fits in a message.
const (
	MaxGone     = 20
	MaxGoneWork = 300
)

// KindCount is the number of workers that run the jobs of a definition.
type KindCount struct {
	Name    string `cbor:"1,keyasint" json:"name"`
	Version string `cbor:"2,keyasint" json:"version"`
	Workers int    `cbor:"3,keyasint" json:"workers"` // those that are not draining
}

// MaxListed is the largest number of workers, or of waiting jobs, in an answer. An answer
// with MaxListed entries fits in a message.
const MaxListed = 2000

// JobQuery is the content of the request AskJobs. It asks for one active job, or for all active
// jobs if Job is empty.
type JobQuery struct {
	Job string `cbor:"1,keyasint,omitempty"`

	// Each element of Windows requests a map of some of the job's partitions. The leader may answer with maps
	// that are half a second old.
	Windows []Window `cbor:"2,keyasint,omitempty"`

	// If Recent is true, the answer may be half a second old, so that the leader need not compute
	// an answer for each viewer.
	Recent bool `cbor:"3,keyasint,omitempty"`

	// Submitted is set by the client that has just submitted Job. If the priority of the job is above 0, the leader
	// begins the job ahead of the submissions that it has not received. The answer contains the job's place.
	Submitted *Submitted `cbor:"4,keyasint,omitempty"`
}

// Submitted describes a submission.
type Submitted struct {
	Priority int    `cbor:"1,keyasint,omitempty"`
	Spec     string `cbor:"2,keyasint,omitempty"` // version of the stored spec
}

// Place is the place of a submitted job among the jobs that wait for the end of active jobs.
type Place struct {
	Before int  `cbor:"1,keyasint,omitempty"` // number of waiting jobs that begin before it
	More   bool `cbor:"2,keyasint,omitempty"` // true if there may be more such jobs in the queue
}

// Window requests a map of the partitions from Lo on. Each cell of the map covers Step partitions.
// The last cell covers fewer partitions if it ends at the job's last partition.
type Window struct {
	Lo    uint64 `cbor:"1,keyasint,omitempty"`
	Step  uint64 `cbor:"2,keyasint"`
	Cells int    `cbor:"3,keyasint"`
}

// MaxCells is the largest number of cells of all windows of a request. An answer with MaxCells
// cells fits in a message and takes the leader about a millisecond.
const MaxCells = 4096

// JobMap shows the states of the partitions of an active job, and which workers hold them.
type JobMap struct {
	Maps    []CellMap  `cbor:"1,keyasint"`           // one map for each window
	Holders []string   `cbor:"2,keyasint,omitempty"` // IDs of the workers to which the maps refer
	Total   Cell       `cbor:"3,keyasint"`           // numbers of all partitions by state
	Tree    []TreeNode `cbor:"4,keyasint,omitempty"` // upper TreeLevels levels of the aggregation tree, from the root downwards and from left to right

	Errors      []ErrorCount `cbor:"5,keyasint,omitempty"`
	OtherErrors uint64       `cbor:"6,keyasint,omitempty"`
	Started     time.Time    `cbor:"7,keyasint"` // time at which the job began, by the clock of its first leader
	Checkpoint  time.Time    `cbor:"8,keyasint"` // time at which this leader last wrote the job's checkpoint, by its clock; zero before this leader's first checkpoint

	// These durations do not depend on how the leader's clock and the receiver's agree. They are 0
	// in answers of leaders of earlier versions.
	Elapsed       time.Duration `cbor:"9,keyasint,omitempty"`  // time for which leaders have worked on the job
	CheckpointAge time.Duration `cbor:"10,keyasint,omitempty"` // time since Checkpoint

	Reassigned uint64           `cbor:"11,keyasint,omitempty"` // number of unfinished partitions that a dead worker held, and that others hold now or will get
	Durations  engine.Durations `cbor:"12,keyasint,omitzero"`
}

// TreeLevels is the number of levels in JobMap.Tree. A tree with fewer levels is listed completely.
const TreeLevels = 7

// TreeNode describes a node of the aggregation tree.
type TreeNode struct {
	Done   uint64 `cbor:"1,keyasint,omitempty" json:"done"`   // number of finished partitions below the node
	Merged bool   `cbor:"2,keyasint,omitempty" json:"merged"` // true if the node is finished
}

// ErrorCount is an error of failed attempts to run partitions.
type ErrorCount struct {
	Text      string `cbor:"1,keyasint" json:"error"`
	Count     uint64 `cbor:"2,keyasint" json:"count"`
	Partition uint64 `cbor:"3,keyasint" json:"partition"` // one of the partitions that failed with the error
}

// CellMap is the map of one window, stored as runs of equal cells. The size of a CellMap depends on
// the number of ranges of equal state, and not on the number of partitions.
type CellMap struct {
	Window Window   `cbor:"1,keyasint"`
	Runs   CellRuns `cbor:"2,keyasint,omitempty"`

	Retried []engine.Span `cbor:"3,keyasint,omitempty"` // ranges of the window's cells with partitions that ran again after a failure or the death of a worker
}

// CellRuns is a []CellRun with its own encoder, because encoding by reflection would take too long
// for maps of thousands of runs. The encoding is the same as for a []CellRun.
type CellRuns []CellRun

// MarshalCBOR returns an array of arrays of numbers.
func (c CellRuns) MarshalCBOR() ([]byte, error) {
	const array, number = 4 << 5, 0
	out := make([]byte, 0, 9+16*len(c))
	head := func(major byte, n uint64) {
		switch {
		case n < 24:
			out = append(out, major|byte(n))
		case n <= math.MaxUint8:
			out = append(out, major|24, byte(n))
		case n <= math.MaxUint16:
			out = binary.BigEndian.AppendUint16(append(out, major|25), uint16(n))
		case n <= math.MaxUint32:
			out = binary.BigEndian.AppendUint32(append(out, major|26), uint32(n))
		default:
			out = binary.BigEndian.AppendUint64(append(out, major|27), n)
		}
	}
	head(array, uint64(len(c)))
	for _, r := range c {
		head(array, 7)
		for _, n := range [...]uint64{r.Repeat, r.Held, r.Computed, r.Durable, r.Retrying, r.Failed, r.Holder} {
			head(number, n)
		}
	}
	return out, nil
}

// CellRun describes consecutive cells with equal contents.
type CellRun struct {
	_      struct{} `cbor:",toarray"`
	Repeat uint64   // number of consecutive cells
	Cell
	Holder uint64 // worker that holds partitions of the cell, as its index in JobMap.Holders plus 1; 0 if no worker holds any
}

// Cell contains the numbers of partitions by state in a range of partitions. The remaining partitions of the
// range are waiting: they are not assigned to a worker.
type Cell struct {
	_        struct{} `cbor:",toarray"`
	Held     uint64   `json:"held"`     // number of partitions assigned to a worker
	Computed uint64   `json:"computed"` // number of finished partitions that no durable checkpoint contains
	Durable  uint64   `json:"durable"`  // number of finished partitions in a durable checkpoint
	Retrying uint64   `json:"retrying"` // number of partitions that run again or will run again after a failure
	Failed   uint64   `json:"failed"`   // number of partitions that were skipped, or that failed and wait for the end of a backoff
}

// JobProgress is the progress of an active job.
type JobProgress struct {
	Job        string   `cbor:"1,keyasint"`
	State      string   `cbor:"2,keyasint"`
	Partitions uint64   `cbor:"3,keyasint"`
	Done       uint64   `cbor:"4,keyasint"`
	Executed   uint64   `cbor:"5,keyasint"`
	Skipped    []uint64 `cbor:"6,keyasint,omitempty"` // skipped partitions; at most the first MaxSkipped
	Rate       float64  `cbor:"7,keyasint"`           // partitions per second, averaged over the last few seconds
	Workers    int      `cbor:"8,keyasint"`           // number of workers that hold a span of the job
	Trouble    string   `cbor:"9,keyasint,omitempty"` // reason why the job makes no progress, or the job's last failure

	// MergesLeft is the number of merges that remain until the partial of the root is computed. It
	// is 0 until all partitions are done.
	MergesLeft uint64 `cbor:"10,keyasint,omitempty"`

	// The fields from Unreported on are set only for jobs with large partials, which stay with the
	// workers that computed them.
	Unreported  uint64    `cbor:"11,keyasint,omitempty"` // number of partitions that workers have run but not reported
	HeldBytes   uint64    `cbor:"12,keyasint,omitempty"` // size in bytes of the partials that workers hold
	MergedBytes uint64    `cbor:"13,keyasint,omitempty"` // size in bytes of the results of merges by workers under this leader
	Merging     []Merging `cbor:"14,keyasint,omitempty"` // running merges; at most the first MaxMerging
	MergeRate   float64   `cbor:"15,keyasint,omitempty"` // bytes of results of merges per second, averaged over the last seconds
	MergeLeft   uint64    `cbor:"16,keyasint,omitempty"` // estimate of the bytes of the results of remaining merges; 0 until all partitions are done

	Estimates []jobs.Estimated `cbor:"20,keyasint,omitempty"` // estimates of the judged rungs, in order; only the last one in a list of several jobs
	Stopped   *jobs.Stopped    `cbor:"21,keyasint,omitempty"` // set if a prefix suffices, so that the job needs only its partitions

	SlotSeconds float64 `cbor:"30,keyasint,omitempty"` // see store.Work
	LostSeconds float64 `cbor:"31,keyasint,omitempty"`

	Round   uint64 `cbor:"40,keyasint,omitempty"` // number of the round that runs, from 1; 0 for a job without rounds, and before round 1
	Earlier uint64 `cbor:"41,keyasint,omitempty"` // number of partitions that earlier rounds have finished, which Done does not contain
}

// Usage describes a worker's use of its machine's resources, for display.
type Usage struct {
	Memory uint64 `cbor:"1,keyasint,omitempty" json:"memory"` // memory in bytes that the process has obtained from the operating system
	Items  int    `cbor:"2,keyasint,omitempty" json:"items"`  // number of partials and other items that the worker keeps because they are not durable
	Bytes  int    `cbor:"3,keyasint,omitempty" json:"bytes"`  // size in bytes of the items that the worker keeps

	Nodes     int    `cbor:"4,keyasint,omitempty" json:"nodes"`      // number of large partials that the worker holds
	NodeBytes uint64 `cbor:"5,keyasint,omitempty" json:"node_bytes"` // size in bytes of the large partials that the worker holds

	// Cores is how many cores the process and its programs that have ended have kept busy, on average over about the last
	// second. It is 0 on systems that do not tell, and for workers of earlier versions.
	Cores float64 `cbor:"6,keyasint,omitempty" json:"cores"`
}

// Merging describes a merge that is running on a worker.
type Merging struct {
	Node   engine.Node   `cbor:"1,keyasint"`
	Worker string        `cbor:"2,keyasint"`
	Bytes  uint64        `cbor:"3,keyasint,omitempty"` // size of the operands that workers hold, in bytes
	For    time.Duration `cbor:"4,keyasint,omitempty"` // time since the merge began
}

// MaxMerging is the largest number of merges that an answer of the leader lists for each job.
const MaxMerging = 20

// MaxSkipped is the maximum number of skipped partitions that an answer of the leader lists for
// each job. The limit leaves space for all active jobs of a leader. The job's manifest lists all
// skipped partitions.
const MaxSkipped = 1000

// Jobs is the answer to AskJobs.
type Jobs struct {
	Epoch   uint64        `cbor:"1,keyasint"`
	Workers int           `cbor:"2,keyasint"`           // number of workers in the cluster
	Jobs    []JobProgress `cbor:"3,keyasint"`           // running jobs, followed by at most the first MaxListed waiting jobs
	More    int           `cbor:"4,keyasint,omitempty"` // number of waiting jobs that are not listed
	Storage string        `cbor:"5,keyasint,omitempty"` // identity of the storage that the leader uses
	Map     *JobMap       `cbor:"6,keyasint,omitempty"` // map of the job; set if the request has windows and the job is active
	Place   *Place        `cbor:"7,keyasint,omitempty"` // set if the request has Submitted; nil in answers of leaders of earlier versions
}

// Cancel is the content of the request AskCancel, which asks the leader to cancel a job. The leader
// answers when the cancellation is durable.
type Cancel struct {
	Job string `cbor:"1,keyasint"`
}

// Done is the answer to AskCancel.
type Done struct {
	Error   string `cbor:"1,keyasint,omitempty"`
	Storage string `cbor:"2,keyasint,omitempty"` // identity of the storage that the leader uses
}
