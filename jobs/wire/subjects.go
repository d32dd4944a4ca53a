package wire

import (
	"regexp"
	"strconv"

	"github.com/bellwether-compute/bellwether/jobs/internal/clustername"
)

// Subjects names the NATS subjects of one cluster. All begin with
// bellwether.CLUSTER.
type Subjects struct{ prefix string }

// NewSubjects is the subjects of the cluster of that name.
func NewSubjects(cluster string) (Subjects, error) {
	if err := clustername.Check(cluster); err != nil {
		return Subjects{}, err
	}
	return Subjects{"bellwether." + cluster + "."}, nil
}

// Election returns the subjects of an election of that name other than that
// of the cluster's leader. They begin with bellwether.CLUSTER.elect.NAME.
func (s Subjects) Election(name string) (Subjects, error) {
	if !clusterForm.MatchString(name) {
		return Subjects{}, fmt.Errorf("election name %q: want 1 to 40 lower-case letters, digits and dashes", name)
	}
	return Subjects{s.prefix + "elect." + name + "."}, nil
}

// Report is where workers send reports to the leader of an epoch, which answers
// with a receipt. When the leader's process dies, NATS itself answers at once
// that nobody listens.
func (s Subjects) Report(epoch uint64) string { return s.epoch(epoch) + "report" }

// Ping is where followers ask the leader of an epoch for a sign of life.
func (s Subjects) Ping(epoch uint64) string { return s.epoch(epoch) + "ping" }

func (s Subjects) epoch(epoch uint64) string {
	return s.prefix + "epoch." + strconv.FormatUint(epoch, 10) + "."
}

// Beacon is where a leader tells everyone that it leads.
func (s Subjects) Beacon() string { return s.prefix + "beacon" }

// Suspicion is where a follower tells the others that the leader seems dead.
func (s Subjects) Suspicion() string { return s.prefix + "suspicion" }

// Nudge is where the leader asks one worker to report now.
func (s Subjects) Nudge(worker string) string { return s.prefix + "worker." + worker + ".nudge" }

// Probe is where the leader asks one worker for a sign of life. When the worker's
// process dies, NATS itself answers at once that nobody listens.
func (s Subjects) Probe(worker string) string { return s.prefix + "worker." + worker + ".probe" }

// Offer is where a leader that stops offers the lease to one worker.
func (s Subjects) Offer(worker string) string { return s.prefix + "worker." + worker + ".offer" }

// Ask is where the leader answers the command line. What is one of the Ask
// constants.
func (s Subjects) Ask(what string) string { return s.prefix + "ask." + what }

// What the command line may ask the leader.
const (
	AskLeader   = "leader"
	AskWorkers  = "workers"
	AskJobs     = "jobs"
	AskCancel   = "cancel"
	AskStepDown = "step-down"
)

var workerForm = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,79}$`)

// ValidWorker reports whether id can name a worker: it becomes part of a subject.
func ValidWorker(id string) bool { return workerForm.MatchString(id) }
