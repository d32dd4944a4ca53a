package client

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// runKinds contains the kinds of jobs that workers run, with the time at which the leader last said so.
type runKinds struct {
	mu   sync.Mutex
	seen map[wire.JobKind]time.Time
}

// recently reports whether the leader has said within the last matchLasts that workers run the kind.
func (k *runKinds) recently(kind wire.JobKind) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return time.Since(k.seen[kind]) < matchLasts
}

func (k *runKinds) note(kind wire.JobKind) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.seen == nil {
		k.seen = map[wire.JobKind]time.Time{}
	}
	k.seen[kind] = time.Now()
}

// errNobody says that the leader knows no worker, not even itself: its term has just begun. Whether workers
// run a kind of job is unknown if this leader ends, too.
var errNobody = errors.New("no worker has reported to the leader")

// openFor returns the storage for the submission of a job. If queue is false, openFor fails with
// [ErrUnused] or [ErrUnknown] if these errors last for Config.Timeout, because workers may be starting. A
// leader that does not answer any more does not make an unknown kind known.
func (c *Client) openFor(ctx context.Context, kind wire.JobKind, queue bool) (*store.Store, error) {
	if queue {
		s, err := c.openStorage(ctx, true)
		if err != nil {
			return nil, err
		}
		return s, c.checkLeader(ctx)
	}
	bounded, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	var unknown error // the leader's last word, if it does not answer again
	for {
		s, err := c.open(ctx)
		if err == nil {
			err = c.checkLeader(ctx)
		}
		if err == nil {
			err = c.checkRuns(ctx, kind)
		}
		switch {
		case errors.Is(err, ErrUnknown) && !errors.Is(err, errNobody):
			unknown = err
		case err == nil && unknown != nil && !c.run.recently(kind):
			return s, unknown
		}
		if err == nil || !errors.Is(err, ErrUnused) && !errors.Is(err, ErrUnknown) || sleep(bounded, askInterval) != nil {
			return s, err
		}
	}
}

// checkRuns returns [ErrUnused] if no worker has used the cluster, and [ErrUnknown] if the leader's workers do
// not run the kind of job. It returns nil if this is unknown, because no leader or a leader of an earlier version
// answers.
func (c *Client) checkRuns(ctx context.Context, kind wire.JobKind) error {
	if c.run.recently(kind) {
		return nil
	}
	answer, err := ask[wire.Workers](ctx, c, wire.AskWorkers, wire.Encode(wire.WorkerQuery{}), c.cfg.Timeout)
	switch {
	case errors.Is(err, ErrNoLeader) && c.Unused(ctx):
		return c.errUnused()
	case err != nil, len(answer.Kinds) == 0 && (answer.Totals == nil || answer.Totals.Workers > 0):
		return nil
	case len(answer.Kinds) == 0:
		return errorf(ErrUnknown, "%w of cluster %s yet", errNobody, c.cfg.Cluster.Name)
	}
	var versions []string
	for _, k := range answer.Kinds {
		if k.Name == kind.Name {
			versions = append(versions, k.Version)
		}
	}
	switch {
	case slices.Contains(versions, kind.Version):
		c.run.note(kind)
		return nil
	case len(versions) > 0:
		return errorf(ErrUnknown, "no worker of cluster %s runs version %s of %s: they run version %s", c.cfg.Cluster.Name, kind.Version, kind.Name, strings.Join(versions, ", "))
	}
	return errorf(ErrUnknown, "no worker of cluster %s runs %s version %s", c.cfg.Cluster.Name, kind.Name, kind.Version)
}

func (c *Client) errUnused() error {
	return errorf(ErrUnused, "no worker has used cluster %s", c.cfg.Cluster.Name)
}
