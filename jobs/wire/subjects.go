package wire

import (
	"regexp"
	"strconv"

	"github.com/bellwether-compute/bellwether/jobs/internal/naming"
)

// Subjects returns the names of a cluster's NATS subjects. All subjects begin with
// bellwether.CLUSTER.
type Subjects struct{ prefix string }

// NewSubjects returns the subjects of a cluster.
func NewSubjects(cluster string) (Subjects, error) {
	if err := naming.Check("cluster", cluster); err != nil {
		return Subjects{}, err
	}
	return Subjects{"bellwether." + cluster + "."}, nil
}

// Election returns the subjects of a named election within the cluster. A named election is
// independent of the election of the cluster's leader. The subjects of a named election begin with
// bellwether.CLUSTER.elect.NAME.
func (s Subjects) Election(name string) (Subjects, error) {
	if err := naming.Check("election", name); err != nil {
		return Subjects{}, err
	}
	return Subjects{s.prefix + "elect." + name + "."}, nil
}

// Report returns the subject on which the leader of an epoch receives reports. The leader replies
// with a receipt. If the leader's process is dead, NATS replies at once with the error "no
// responders".
func (s Subjects) Report(epoch uint64) string { return s.epoch(epoch) + "report" }

// Ping returns the subject on which followers ask the leader of an epoch whether it is
// alive.
func (s Subjects) Ping(epoch uint64) string { return s.epoch(epoch) + "ping" }

func (s Subjects) epoch(epoch uint64) string {
	return s.prefix + "epoch." + strconv.FormatUint(epoch, 10) + "."
}

// Beacon returns the subject on which a leader announces that it leads.
func (s Subjects) Beacon() string { return s.prefix + "beacon" }

// Suspicion returns the subject on which a follower tells the other followers that
// the leader seems dead.
func (s Subjects) Suspicion() string { return s.prefix + "suspicion" }

// Nudge returns the subject on which the leader asks a worker to report now.
func (s Subjects) Nudge(worker string) string { return s.prefix + "worker." + worker + ".nudge" }

// Probe returns the subject on which the leader asks a worker whether it is alive. If the worker's
// process is dead, NATS replies at once with the error "no responders".
func (s Subjects) Probe(worker string) string { return s.prefix + "worker." + worker + ".probe" }

// Bulk returns the subject on which a worker serves the large partials that it holds.
func (s Subjects) Bulk(worker string) string { return s.prefix + "worker." + worker + ".bulk" }

// Audit returns the subject on which a worker computes partitions a second time for other workers.
func (s Subjects) Audit(worker string) string { return s.prefix + "worker." + worker + ".audit" }

// Offer returns the subject on which a stopping leader offers its lease to a worker.
func (s Subjects) Offer(worker string) string { return s.prefix + "worker." + worker + ".offer" }

// Ended returns the subject on which a leader announces that the end of a job is durable. The
// message has no content. Receivers ignore its content and read storage, so anyone may send it.
func (s Subjects) Ended(job string) string { return s.prefix + "ended." + job }

// Ask returns the subject on which the leader answers a client's request. The parameter what is one
// of the Ask constants.
func (s Subjects) Ask(what string) string { return s.prefix + "ask." + what }

const (
	AskLeader   = "leader"
	AskWorkers  = "workers"
	AskJobs     = "jobs"
	AskCancel   = "cancel"
	AskStepDown = "step-down"
)

var workerForm = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,79}$`)

// WantWorker says in errors which IDs ValidWorker takes.
const WantWorker = "1 to 80 lower-case letters, digits and dashes"

// ValidWorker reports whether id can name a worker. An ID has 1 to 80 lower-case letters, digits
// and dashes and does not begin with a dash, because the ID is part of NATS subjects.
func ValidWorker(id string) bool { return workerForm.MatchString(id) }
