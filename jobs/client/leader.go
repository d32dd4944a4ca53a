package client

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Leader contains the epoch, the worker ID and the host of a cluster's leader.
type Leader = wire.LeaderInfo

// Leader asks the cluster's leader for its epoch, worker ID and host.
func (c *Client) Leader(ctx context.Context) (Leader, error) {
	return askUntil[wire.LeaderInfo](ctx, c, wire.AskLeader, nil)
}

// StepDown asks the leader to hand over to another worker, and returns the leader that was asked.
// StepDown does not wait for the next leader. [Client.LeaderAfter] waits for the next leader.
func (c *Client) StepDown(ctx context.Context) (Leader, error) {
	return askUntil[wire.LeaderInfo](ctx, c, wire.AskStepDown, nil)
}

// LeaderAfter waits for a leader whose epoch is higher than the given epoch. LeaderAfter fails with
// [ErrNoLeader] if no leader of a higher epoch answers within Config.Timeout.
func (c *Client) LeaderAfter(ctx context.Context, epoch uint64) (Leader, error) {
	bounded, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	for {
		leader, err := ask[wire.LeaderInfo](bounded, c, wire.AskLeader, nil, askTimeout)
		switch {
		case err == nil && leader.Epoch > epoch:
			return leader, nil
		case ctx.Err() != nil, err != nil && bounded.Err() == nil && !errors.Is(err, ErrNoLeader):
			return leader, err
		}
		if sleep(bounded, askInterval) != nil && ctx.Err() == nil {
			return leader, errorf(ErrNoLeader, "no leader of cluster %s after epoch %d within %v", c.cfg.Cluster.Name, epoch, c.cfg.Timeout)
		}
	}
}

// Worker describes one worker of a cluster.
type Worker = wire.WorkerInfo

// Workers is a list of the workers that a leader knows.
type Workers = wire.Workers

// KindCount is the number of workers that run the jobs of a definition.
type KindCount = wire.KindCount

// Workers returns the first wire.MaxListed workers that the leader knows, and the number
// of further workers.
func (c *Client) Workers(ctx context.Context) (Workers, error) {
	return askUntil[wire.Workers](ctx, c, wire.AskWorkers, nil)
}

// Term is the stored record of one leader's term.
type Term = store.TermRecord

// History returns the records of about the latest thousand terms, oldest first.
func (c *Client) History(ctx context.Context) ([]Term, error) {
	terms, _, err := c.LatestTerms(ctx, 0, math.MaxInt)
	slices.Reverse(terms)
	return terms, err
}
