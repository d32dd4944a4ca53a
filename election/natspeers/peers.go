package natspeers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/election/machine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Peers exchanges messages for one worker. The connection belongs to the caller, who may use it for
// other purposes.
type Peers struct {
	nc       *nats.Conn
	subjects wire.Subjects
	worker   string
	storage  string
	log      *slog.Logger

	subscriptions []*nats.Subscription
	messages      chan *nats.Msg
	status        chan nats.Status
	events        chan machine.Event
	closing       chan struct{}
	close         sync.Once
	receiving     sync.WaitGroup
	connected     bool // last reported state of the connection; used only by receive
}

var _ election.Peers = (*Peers)(nil)

// New starts to listen for messages from peers. The worker's ID must be valid, see
// [wire.ValidWorker]. The parameter storage is the identity of the storage that contains the lease,
// or empty: leaders on another storage do not answer pings. The caller must close the returned
// Peers.
func New(nc *nats.Conn, subjects wire.Subjects, worker, storage string, log *slog.Logger) (*Peers, error) {
	if !wire.ValidWorker(worker) {
		return nil, fmt.Errorf("listen to peers: worker ID %q: want %s", worker, wire.WantWorker)
	}
	p := &Peers{
		nc:        nc,
		subjects:  subjects,
		worker:    worker,
		storage:   storage,
		log:       log,
		messages:  make(chan *nats.Msg, 1024),
		events:    make(chan machine.Event, 16),
		closing:   make(chan struct{}),
		connected: true,
	}
	for _, subject := range []string{subjects.Beacon(), subjects.Suspicion(), subjects.Offer(worker)} {
		s, err := nc.ChanSubscribe(subject, p.messages)
		if err != nil {
			p.unsubscribe()
			return nil, fmt.Errorf("listen to peers on %s: %w", subject, err)
		}
		p.subscriptions = append(p.subscriptions, s)
	}
	p.status = nc.StatusChanged()
	p.receiving.Go(p.receive)
	return p, nil
}

// Close stops listening for messages. It drops events that were not read.
func (p *Peers) Close() {
	p.close.Do(func() {
		p.unsubscribe()
		close(p.closing)
		p.receiving.Wait()
		p.nc.RemoveStatusListener(p.status)
	})
}

func (p *Peers) unsubscribe() {
	for _, s := range p.subscriptions {
		_ = s.Unsubscribe() // Unsubscribe fails only if the connection is closed, and then the subscription has ended too
	}
}

func (p *Peers) Events() <-chan machine.Event { return p.events }

// resendAfter is how long a ping waits for its answer before it sends another request. A request
// that is in flight when the leader's process dies is never answered, but a request sent after the
// death fails at once.
const resendAfter = 30 * time.Millisecond

// Ping asks the leader of an epoch for a sign of life. It may send several requests; the first
// answer counts.
func (p *Peers) Ping(ctx context.Context, epoch uint64) error {
	ctx, cancel := context.WithCancel(ctx)
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()

	outcome := make(chan error)
	ask := func() {
		err := p.pingOnce(ctx, epoch)
		select {
		case outcome <- err:
		case <-ctx.Done():
		}
	}
	asking.Go(ask)
	again := time.NewTicker(resendAfter)
	defer again.Stop()
	for {
		select {
		case err := <-outcome:
			return err
		case <-again.C:
			asking.Go(ask)
		case <-ctx.Done():
			return fmt.Errorf("ping leader of epoch %d: %w", epoch, ctx.Err())
		}
	}
}

func (p *Peers) pingOnce(ctx context.Context, epoch uint64) error {
	answer, err := p.request(ctx, p.subjects.Ping(epoch), wire.Encode(wire.Ping{Epoch: epoch, Storage: p.storage}))
	if err != nil {
		return fmt.Errorf("ping leader of epoch %d: %w", epoch, err)
	}
	if answer.Epoch != epoch {
		return fmt.Errorf("ping leader of epoch %d: the leader of epoch %d answered", epoch, answer.Epoch)
	}
	return nil
}

// SendSuspicion tells the other processes that the leader of an epoch seems dead. The
// message is lost if the connection is lost.
func (p *Peers) SendSuspicion(epoch uint64) {
	p.publish(p.subjects.Suspicion(), wire.Encode(wire.Suspicion{Epoch: epoch, Worker: p.worker}))
}

// Offer offers the lease to a worker, and waits until the worker has the offer.
func (p *Peers) Offer(ctx context.Context, worker string, offer wire.Offer) error {
	if !wire.ValidWorker(worker) {
		return fmt.Errorf("offer lease: worker ID %q: want %s", worker, wire.WantWorker)
	}
	if _, err := p.request(ctx, p.subjects.Offer(worker), wire.Encode(offer)); err != nil {
		return fmt.Errorf("offer lease to %s: %w", worker, err)
	}
	return nil
}

func (p *Peers) request(ctx context.Context, subject string, data []byte) (wire.Pong, error) {
	msg, err := p.nc.RequestWithContext(ctx, subject, data)
	if errors.Is(err, nats.ErrNoResponders) {
		return wire.Pong{}, election.ErrNoResponders
	}
	if err != nil {
		return wire.Pong{}, err
	}
	return wire.Decode[wire.Pong](msg.Data)
}
