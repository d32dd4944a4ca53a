package client

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

type ownStorage struct {
	mu         sync.Mutex
	identity   string    // identity of the storage; empty if it is unknown
	unreadable bool      // true if the identity could not be read, so that leaders are not checked
	matched    time.Time // time of the last answer of a leader that uses the same storage
}

const (
	identityTimeout = 2 * time.Second  // timeout of reading the storage's identity
	matchLasts      = 10 * time.Second // time after a leader's answer during which Submit does not check the leader's storage
	electionTakes   = 2 * time.Second  // maximum duration of an election; during an election, a leader on another storage may be the only one that answers
)

// neverUsed is the text that replaces the identity in errors about a storage without an identity.
const neverUsed = "that no worker has ever used"

// checkStorage returns [ErrOtherStorage] if the leader that answered uses another storage than the
// client. checkStorage returns nil if one of the two identities is unknown: the client may not have
// opened its storage or may not be allowed to read the identity, and an old leader sends no
// identity.
func (c *Client) checkStorage(ctx context.Context, leaders string) error {
	c.mu.Lock()
	s := c.store
	c.mu.Unlock()
	if s == nil || leaders == "" {
		return nil
	}
	own := &c.own
	own.mu.Lock()
	defer own.mu.Unlock()
	identity := own.identity
	if identity == "" && !own.unreadable {
		// A leader writes an identity to its storage before it leads. If the client's storage has
		// no identity but a leader has answered, that leader uses another storage.
		ctx, cancel := context.WithTimeout(ctx, identityTimeout+c.distance)
		defer cancel()
		var err error
		identity, err = s.KnownIdentity(ctx)
		switch {
		case err == nil:
			own.identity = identity
		case errors.Is(err, store.ErrNotFound):
			identity = neverUsed
		default:
			own.unreadable = ctx.Err() == nil || errors.Is(ctx.Err(), context.DeadlineExceeded)
		}
	}
	err := wire.CheckStorage("the leader of cluster "+c.cfg.Cluster.Name, leaders, "this program", identity)
	if err == nil {
		own.matched = time.Now()
	}
	return err
}

// checkLeader returns [ErrOtherStorage] if the cluster's leader uses another storage than the
// client, and nil if no leader answers.
func (c *Client) checkLeader(ctx context.Context) error {
	c.own.mu.Lock()
	matched := c.own.matched
	c.own.mu.Unlock()
	if time.Since(matched) < matchLasts {
		return nil
	}
	for began := time.Now(); ; {
		_, err := ask[wire.LeaderInfo](ctx, c, wire.AskLeader, nil, liveTimeout)
		switch {
		case !errors.Is(err, ErrOtherStorage):
			return nil
		case time.Since(began) > min(electionTakes+c.distance, c.cfg.Timeout), sleep(ctx, askInterval) != nil:
			return err
		}
	}
}

// askOthers repeats a request that a leader on another storage has answered, until one on the client's storage
// answers. When ctx is done, it returns the error mismatch.
func askOthers[A wire.Message](ctx context.Context, c *Client, what string, question []byte, mismatch error) (A, error) {
	var none A
	inbox := c.nc.NewRespInbox()
	answers, err := c.nc.SubscribeSync(inbox)
	if err != nil {
		return none, mismatch
	}
	defer func() { _ = answers.Unsubscribe() }() // Unsubscribe fails only if the connection is closed
	if err := c.nc.PublishMsg(&nats.Msg{Subject: c.subjects.Ask(what), Reply: inbox, Data: question}); err != nil {
		return none, mismatch
	}
	for {
		msg, err := answers.NextMsgWithContext(ctx)
		if err != nil {
			return none, mismatch
		}
		answer, err := wire.Decode[A](msg.Data)
		if err == nil && c.checkStorage(ctx, storageOf(answer)) == nil {
			return answer, nil
		}
	}
}

// storageOf returns the storage identity that a leader's answer contains.
func storageOf(answer any) string {
	switch a := answer.(type) {
	case wire.LeaderInfo:
		return a.Storage
	case wire.Workers:
		return a.Storage
	case wire.Jobs:
		return a.Storage
	case wire.Done:
		return a.Storage
	}
	return ""
}
