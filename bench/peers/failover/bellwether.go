package failover

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/bench/peers/fleet"
	"github.com/bellwether-compute/bellwether/bench/peers/servers"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// bellwether runs three workers and a job whose partitions only sleep. The leader has work to
// assign, but the machine stays idle, as with the other systems. The measured act of a leader is an
// assignment of work. Workers hold some seconds of work in advance before they request more. Each
// worker has many slots, so at any moment one of the slots needs work.
func bellwether(storage string) System {
	return System{
		Name:     bellwetherOn(storage),
		Settings: "default: lease of 15 s, the followers' pings about 40 a second together",
		Period:   3 * time.Second,
		azurite:  storage == onAzurite,
		Versions: func(ctx context.Context, p Place) (string, error) {
			version, err := fleet.Version(ctx, p.Program)
			return version + ", " + servers.NATSVersion, err
		},
		start: func(ctx context.Context, p Place) (cluster, error) {
			cfg := fleet.Config{Program: p.Program, Dir: p.Dir, Workers: candidates, Slots: slots}
			if storage == onAzurite {
				cfg.Azure = p.Azure
			}
			h, err := startHerd(ctx, cfg, p.Kills)
			if err != nil {
				return nil, err
			}
			return h, nil
		},
	}
}

func bellwetherOn(storage string) string { return "Bellwether, " + storage }

// The job has enough partitions for the time before the first kill and for each kill. All slots
// together execute 1,920 partitions per second. More partitions would make the first spans longer,
// because a new leader does not know how long partitions take.
const (
	slots       = 32
	sleep       = 50 * time.Millisecond
	forStart    = 20_000
	forEachKill = 10_000
	// startOver is the time after which all first spans have been assigned. A later assignment
	// shows that a worker needed more work.
	startOver = 2 * time.Second
)

const (
	onJetStream = "JetStream"
	onAzurite   = "Azurite"
)

// herd is a fleet whose messages on NATS are observed.
type herd struct {
	*fleet.Fleet
	conn     *nats.Conn
	assigned chan assignment
}

type assignment struct {
	epoch uint64
	at    time.Time
}

func startHerd(ctx context.Context, cfg fleet.Config, kills int) (_ *herd, err error) {
	f, err := fleet.Start(ctx, cfg)
	if err != nil {
		return nil, err
	}
	h := &herd{Fleet: f, assigned: make(chan assignment, 1024)}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.stop())
		}
	}()
	if h.conn, err = nats.Connect(f.NATS()); err != nil {
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}
	// Work is assigned in receipts, which are replies to reports.
	if _, err := h.conn.Subscribe("_INBOX.>", h.hear); err != nil {
		return nil, fmt.Errorf("listen to NATS: %w", err)
	}
	if err := h.conn.Flush(); err != nil {
		return nil, fmt.Errorf("listen to NATS: %w", err)
	}
	partitions := forStart + kills*forEachKill
	if _, err := f.Submit(ctx, "probe", fmt.Sprint("partitions=", partitions), fmt.Sprint("sleep=", sleep)); err != nil {
		return nil, err
	}
	return h, h.awaitSteady(ctx)
}

// awaitSteady waits until workers request more work because they run out of work.
func (h *herd) awaitSteady(ctx context.Context) error {
	began, err := h.nextWork(ctx, 0)
	for at := began; err == nil && at.Sub(began) < startOver; {
		at, err = h.nextWork(ctx, 0)
	}
	return err
}

func (h *herd) hear(m *nats.Msg) {
	now := time.Now()
	receipt, err := wire.Decode[wire.Receipt](m.Data)
	if err != nil || receipt.Epoch == 0 || len(receipt.Assigned) == 0 {
		return // the message is a reply to another request
	}
	select {
	case h.assigned <- assignment{receipt.Epoch, now}:
	default: // the channel is full of older assignments
	}
}

// patience is the maximum duration of an election.
const patience = time.Minute

// nextWork returns the time of the next assignment by a leader of a later epoch.
func (h *herd) nextWork(ctx context.Context, after uint64) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		select {
		case a := <-h.assigned:
			if a.epoch > after {
				return a.at, nil
			}
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("wait until a leader after epoch %d gives work: %w", after, ctx.Err())
		}
	}
}

func (h *herd) kill(ctx context.Context) (time.Duration, error) {
	for len(h.assigned) > 0 { // remove assignments by the leader that is about to be killed
		<-h.assigned
	}
	leader, killed, err := h.KillLeader(ctx)
	if err != nil {
		return 0, err
	}
	at, err := h.nextWork(ctx, leader.Epoch)
	return at.Sub(killed), err
}

func (h *herd) restore(ctx context.Context) error { return h.Replace(ctx) }

func (h *herd) stop() error {
	if h.conn != nil {
		h.conn.Close()
	}
	h.Stop()
	return nil
}
