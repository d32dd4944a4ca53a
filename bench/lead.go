package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/coordinator"
	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/coordinator/term"
	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/jetstream"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// maxSimulated is the largest number of simulated workers.
const maxSimulated = 100_000

// askUsage is the name of the request for a leader's resource usage. Only a leader that [Lead]
// started replies to the request askUsage.
const askUsage = "usage"

// usage contains the resources that a leader's process has used since its start.
type usage struct {
	CPU        time.Duration `json:"cpu"`
	Memory     uint64        `json:"memory"`     // resident memory in bytes
	Messages   uint64        `json:"messages"`   // number of messages exchanged with workers
	Bytes      uint64        `json:"bytes"`      // size of all messages exchanged with workers
	Calls      uint64        `json:"calls"`      // number of storage calls, except calls to the queue
	Checkpoint uint64        `json:"checkpoint"` // size of the largest manifest in bytes
	Error      string        `json:"error,omitempty"`
}

// Lead leads a cluster until ctx is done. Lead uses a NATS server with JetStream and knows the jobs
// of [Scale]. A process that calls only Lead does not execute partitions and does not take part in
// an election, so its resource usage is the cost of leading.
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
	// Storage uses a separate connection, so that the statistics of the first connection count only
	// messages from and to workers.
	conns, err := connect(url, "leader", 2)
	if err != nil {
		return err
	}
	defer conns.close()
	driver, err := jetstream.Open(ctx, conns[1], jetstream.Config{Cluster: cluster, Logger: log})
	if err != nil {
		return err
	}
	var calls blobCalls
	const id = "leader"
	leader, err := coordinator.New(coordinator.Config{
		Config: term.Config{
			Worker: id, PID: os.Getpid(), Store: store.New(store.Config{Blobs: driver, Queue: driver, Observe: calls.observe}), Jobs: []jobs.Job{countingJob}, Logger: log,
			Ledger: ledger.Config{MaxWorkers: maxSimulated},
		},
		Subjects: subjects, Conn: conns[0],
	})
	if err != nil {
		return err
	}
	sub, err := conns[1].Subscribe(subjects.Ask(askUsage), func(m *nats.Msg) {
		data, err := json.Marshal(usageOf(conns[0], &calls))
		if err == nil {
			err = m.Respond(data)
		}
		if err != nil {
			log.Warn("Could not answer a question for the usage", "error", err)
		}
	})
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }() // Unsubscribe fails only if the connection is closed
	_, err = leader.Lead(context.WithoutCancel(ctx), election.NewTerm(election.Term{
		Record: election.Record{Epoch: 1, Holder: id, LeaseID: "none", Held: true}, Cause: election.First, Since: time.Now(),
	}, election.TermControl{Stopping: ctx.Done()}))
	return err
}

func usageOf(nc *nats.Conn, calls *blobCalls) usage {
	u := usage{Calls: calls.n.Load(), Checkpoint: calls.largest.Load()}
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

// blobCalls counts a leader's storage calls, except calls to the queue.
type blobCalls struct {
	n       atomic.Uint64
	largest atomic.Uint64 // size of the largest manifest in bytes
}

func (b *blobCalls) observe(c store.Call) {
	if c.Kind == "" { // calls to the queue have no kind and are not counted
		return
	}
	b.n.Add(1)
	if size := uint64(c.Bytes); c.Name == "put" && c.Kind == "manifest" {
		for most := b.largest.Load(); size > most && !b.largest.CompareAndSwap(most, size); most = b.largest.Load() {
		}
	}
}

type connections []*nats.Conn

func connect(url, name string, n int) (connections, error) {
	var all connections
	for range n {
		nc, err := cluster.Config{NATS: cluster.NATS{URL: url}}.ConnectNATS(name)
		if err != nil {
			all.close()
			return nil, err
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
