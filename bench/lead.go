package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/coordinator"
	"github.com/bellwether-compute/bellwether/coordinator/term"
	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/jetstream"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// askUsage is what a leader that is measured answers beside what any leader does.
const askUsage = "usage"

// usage is what a leader's process has used so far.
type usage struct {
	CPU        time.Duration `json:"cpu"`
	Memory     uint64        `json:"memory"`     // resident bytes
	Messages   uint64        `json:"messages"`   // to and from workers
	Bytes      uint64        `json:"bytes"`      // in them
	Calls      uint64        `json:"calls"`      // of storage
	Checkpoint uint64        `json:"checkpoint"` // bytes of the largest one
	Error      string        `json:"error,omitempty"`
}

// Lead leads a cluster of that name on a NATS server with JetStream, whose jobs are
// those of [Scale], until ctx is done. No worker is in its process, so that what the
// process uses is what leading costs. It is the only one to lead: there are no
// elections.
func Lead(ctx context.Context, url, cluster string, log *slog.Logger) error {
	if err := lead(ctx, url, cluster, log); err != nil {
		return fmt.Errorf("lead cluster %s: %w", cluster, err)
	}
	return nil
}

func lead(ctx context.Context, url, cluster string, log *slog.Logger) error {
	subjects, err := wire.NewSubjects(cluster)
	if err != nil {
		return err
	}
	// Storage has a connection of its own, so that messages can be told apart.
	conns, err := connect(url, "leader", 2)
	if err != nil {
		return err
	}
	defer conns.close()
	driver, err := jetstream.Open(ctx, conns[1], jetstream.Config{Cluster: cluster, Logger: log})
	if err != nil {
		return err
	}
	counted := &countedBlobs{Driver: driver}
	const id = "leader"
	leader, err := coordinator.New(coordinator.Config{
		Config: term.Config{
			Worker: id, PID: os.Getpid(), Store: store.New(store.Config{Blobs: counted, Queue: driver}), Jobs: []jobs.Job{jobs.MustNew(counting)}, Logger: log,
		},
		Subjects: subjects, Conn: conns[0],
	})
	if err != nil {
		return err
	}
	sub, err := conns[1].Subscribe(subjects.Ask(askUsage), func(m *nats.Msg) {
		data, err := json.Marshal(usageOf(conns[0], counted))
		if err == nil {
			err = m.Respond(data)
		}
		if err != nil {
			log.Warn("Could not tell the usage", "error", err)
		}
	})
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }() // fails only where the connection is closed
	_, err = leader.Lead(context.WithoutCancel(ctx), election.NewTerm(election.Term{
		Record: election.Record{Epoch: 1, Holder: id, LeaseID: "none", Held: true}, Cause: election.First, Since: time.Now(),
	}, election.TermControl{Stopping: ctx.Done()}))
	return err
}

func usageOf(nc *nats.Conn, blobs *countedBlobs) usage {
	u := usage{Calls: blobs.calls.Load(), Checkpoint: blobs.largest.Load()}
	stats := nc.Stats()
	u.Messages, u.Bytes = stats.InMsgs+stats.OutMsgs, stats.InBytes+stats.OutBytes
	var err error
	if u.CPU, err = cpuOf(os.Getpid()); err == nil {
		u.Memory, err = residentBytes(os.Getpid())
	}
	if err != nil {
		u.Error = err.Error()
	}
	return u
}

// countedBlobs counts what a leader asks of storage.
type countedBlobs struct {
	*jetstream.Driver
	calls   atomic.Uint64
	largest atomic.Uint64 // bytes of a manifest
}

var (
	_ store.Blobs         = (*countedBlobs)(nil)
	_ store.PrefixDeleter = (*countedBlobs)(nil)
)

func (b *countedBlobs) Get(ctx context.Context, key string) ([]byte, store.Version, error) {
	b.calls.Add(1)
	return b.Driver.Get(ctx, key)
}

func (b *countedBlobs) Put(ctx context.Context, key string, value []byte, cond store.Condition) (store.Version, error) {
	b.calls.Add(1)
	if size := uint64(len(value)); strings.HasPrefix(key, "manifest/") {
		for most := b.largest.Load(); size > most && !b.largest.CompareAndSwap(most, size); most = b.largest.Load() {
		}
	}
	return b.Driver.Put(ctx, key, value, cond)
}

func (b *countedBlobs) Delete(ctx context.Context, key string) error {
	b.calls.Add(1)
	return b.Driver.Delete(ctx, key)
}

func (b *countedBlobs) List(ctx context.Context, prefix string) ([]string, error) {
	b.calls.Add(1)
	return b.Driver.List(ctx, prefix)
}

func (b *countedBlobs) DeletePrefix(ctx context.Context, prefix string) error {
	b.calls.Add(1)
	return b.Driver.DeletePrefix(ctx, prefix)
}

// connections are to one NATS server.
type connections []*nats.Conn

func connect(url, name string, n int) (connections, error) {
	var all connections
	for range n {
		nc, err := nats.Connect(url, nats.Name(name))
		if err != nil {
			all.close()
			return nil, fmt.Errorf("connect to %s: %w", url, err)
		}
		all = append(all, nc)
	}
	return all, nil
}

func (c connections) close() {
	for _, nc := range c {
		nc.Close()
	}
}
