package executor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/internal/bulk"
	"github.com/bellwether-compute/bellwether/worker/session"
)

// core is what the parts of a worker share. Its fields do not change after Run has begun, except
// those that mu guards.
type core struct {
	cfg    Config
	nc     *nats.Conn
	bulk   *bulk.Client // fetches large partials; nil without Config.Bulk
	store  Store
	known  map[wire.JobKind]jobs.Job
	timing timing

	// life is a context that ends when the worker stops its partitions, calls and job openings.
	life context.Context
	kill context.CancelFunc

	// storageLife is a context that ends when writes to storage that have begun and removals must end. It ends later than
	// life, because a write that is cut and a removal that does not take place may leave data in storage for ever.
	storageLife context.Context
	endStorage  context.CancelFunc

	goroutines sync.WaitGroup // counts the goroutines of all parts, except removals
	removals   sync.WaitGroup // counts the goroutines that remove data of ended jobs from storage
	code       runningCode    // calls of jobs' code, which run on some of the goroutines
	idle       engine.Idle    // slots that wait for a span; merges of large partials borrow them

	wake  chan struct{} // wakes the link, which then calls the session's Step; the buffer has one element
	unfit chan struct{} // closed when the worker should leave, because no slot is usable or no more calls can be made

	// mu guards the session, and the state of other parts that must agree with the session. It is never
	// held during slow operations. Goroutines that hold mu may take the locks of holdings, sizes,
	// expansions and code, which are held only inside their own methods; no goroutine takes mu while it
	// holds one of these locks.
	mu       sync.Mutex
	work     *sync.Cond // signalled when a slot may find a span, after a receipt, and when quit is set
	session  *session.Session
	unusable *time.Timer     // closes unfit; nil while a slot is usable and calls can be made
	quit     bool            // slots return, and no call and no audit begins
	spilled  map[string]bool // IDs of jobs whose code has moved data to storage here, until the job ends
}

// timing contains the worker's durations, except the durations of the conversation with the leader.
type timing struct {
	claim       time.Duration // approximate duration of the partitions in one claim
	fast        uint64        // a claim of at least so many partitions needs no record of what runs if their limit is at least coarse
	coarse      time.Duration // shortest limit of a partition that may pass twice before its claim has failed
	slice       time.Duration // how long a job keeps a slot while another job of the same priority has no slot
	stopTimeout time.Duration // how long a job's code may take to return after its context is done, before its slot or call is lost
	unusableFor time.Duration // how long all slots, or all calls, may be lost before the worker leaves
	auditAlive  time.Duration // time between two messages of an auditor that is still working; after ten times as long it counts as dead
	stuckFor    time.Duration // how long memory may be full of partials that cannot be moved before their jobs fail
	closeDelay  time.Duration // how much later than other workers the worker of the leader's process closes an ended job
	roundsIdle  time.Duration // how long a job with rounds stays open while no round of it runs
	logEvery    time.Duration // shortest time between two log lines about the same kind of problem
}

var defaultTiming = timing{
	claim:       time.Millisecond,
	fast:        1000, // partitions of less than a microsecond
	coarse:      time.Hour,
	slice:       time.Second,
	stopTimeout: time.Second,
	unusableFor: 10 * time.Second, // longer than the programs of exec take, which have 5 s after SIGTERM
	auditAlive:  time.Second,
	stuckFor:    30 * time.Second, // longer than holdings wait before they write to the spill folder again
	closeDelay:  time.Second,
	roundsIdle:  10 * time.Minute, // longer than Next usually takes
	logEvery:    10 * time.Second,
}

// checkUsable makes the worker drain if no slot has been usable, or no call could be made, for
// timing.unusableFor, because a new process could use all slots again. It must be called when a
// slot or a call is lost or returns. The caller must hold mu.
func (c *core) checkUsable() {
	slots, calls := c.session.Usable()
	switch unusable := slots == 0 || calls == 0; {
	case unusable && c.unusable == nil:
		c.unusable = time.AfterFunc(c.timing.unusableFor, func() { close(c.unfit) })
	case !unusable && c.unusable != nil && c.unusable.Stop():
		c.unusable = nil
	}
}

// wakeLink wakes the link if a direct call to the session made a report or another action due. The
// caller must hold mu.
func (c *core) wakeLink() {
	if !c.session.NeedsStep() {
		return
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// definition returns the definition of a kind of job.
func (c *core) definition(kind wire.JobKind) (jobs.Job, error) {
	job, ok := c.known[kind]
	if ok {
		return job, nil
	}
	var list []string
	for other := range c.known {
		list = append(list, other.Name+" version "+other.Version)
	}
	slices.Sort(list)
	return jobs.Job{}, fmt.Errorf("job %s version %s is not known to this worker, which knows %s", kind.Name, kind.Version, strings.Join(list, ", "))
}
