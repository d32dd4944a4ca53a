package worker

import (
	"context"
	"errors"
	"time"

	"github.com/bellwether-compute/bellwether/election"
)

// timePings wraps peers so that pings of the leader are timed. After each ping that the leader's
// process could answer, the wrapper calls done with the time until the answer, or until the ping
// timed out.
func timePings(peers election.Peers, done func(time.Duration)) election.Peers {
	return timedPeers{peers, done}
}

type timedPeers struct {
	election.Peers
	done func(time.Duration)
}

func (p timedPeers) Ping(ctx context.Context, epoch uint64) error {
	began := time.Now()
	err := p.Peers.Ping(ctx, epoch)
	if !errors.Is(err, election.ErrNoResponders) && !errors.Is(err, context.Canceled) {
		p.done(time.Since(began))
	}
	return err
}
