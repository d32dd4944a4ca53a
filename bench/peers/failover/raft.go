package failover

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"

	"github.com/bellwether-compute/bellwether/bench/peers/processes"
)

// hashicorpRaft runs three nodes of hashicorp/raft with its default timeouts, which Consul also
// recommends for production (raft_multiplier 1): a follower campaigns after one to two seconds
// without a message from the leader.
// https://developer.hashicorp.com/consul/docs/install/performance
func hashicorpRaft() System {
	c := raft.DefaultConfig()
	return System{
		Name:     "hashicorp/raft",
		Versions: moduleVersions("github.com/hashicorp/raft", "github.com/hashicorp/raft-boltdb/v2"),
		Settings: fmt.Sprintf("default: heartbeat timeout %v, election timeout %v, leader lease %v; log in BoltDB, synced",
			c.HeartbeatTimeout, c.ElectionTimeout, c.LeaderLeaseTimeout),
		Period: c.HeartbeatTimeout,
		start: func(ctx context.Context, p Place) (cluster, error) {
			var addresses []string
			for range candidates {
				port, err := processes.FreePort()
				if err != nil {
					return nil, err
				}
				addresses = append(addresses, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
			}
			var configs []any
			for i := range candidates {
				dir := filepath.Join(p.Dir, fmt.Sprint("node-", i))
				if err := os.Mkdir(dir, 0o755); err != nil {
					return nil, err
				}
				configs = append(configs, raftNode{i, addresses, dir})
			}
			return startParty(ctx, raftRole, configs, nil)
		},
	}
}

const raftRole = "raft"

// raftNode is the configuration of a node. The node's index is also its ID.
type raftNode struct {
	Index     int      `json:"index"`
	Addresses []string `json:"addresses"`
	Dir       string   `json:"dir"`
}

const raftTimeout = 5 * time.Second

func beRaft(ctx context.Context, node raftNode, tell func(any)) error {
	r, err := node.open()
	if err != nil {
		return err
	}
	stands := false
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case <-look.C:
			if _, leader := r.LeaderWithID(); leader != "" && !stands {
				stands = true
				tell(told{Stands: true})
			}
		case leads := <-r.LeaderCh():
			if !leads {
				continue
			}
			if err := r.Apply([]byte("act"), raftTimeout).Error(); err != nil {
				continue // the node was deposed before it could act
			}
			tell(told{Leads: true})
		case <-ctx.Done():
			return r.Shutdown().Error()
		}
	}
}

// open starts the node, and bootstraps the cluster if it does not exist.
func (n raftNode) open() (*raft.Raft, error) {
	store, err := raftboltdb.NewBoltStore(filepath.Join(n.Dir, "log"))
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	snapshots, err := raft.NewFileSnapshotStore(n.Dir, 1, io.Discard)
	if err != nil {
		return nil, fmt.Errorf("open snapshots: %w", err)
	}
	transport, err := raft.NewTCPTransport(n.Addresses[n.Index], nil, candidates, raftTimeout, io.Discard)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	cfg := raft.DefaultConfig()
	cfg.LocalID = raft.ServerID(strconv.Itoa(n.Index))
	cfg.LogOutput = io.Discard
	known, err := raft.HasExistingState(store, store, snapshots)
	if err != nil {
		return nil, fmt.Errorf("read log: %w", err)
	}
	r, err := raft.NewRaft(cfg, nothing{}, store, store, snapshots, transport)
	if err != nil {
		return nil, fmt.Errorf("start raft: %w", err)
	}
	if known {
		return r, nil
	}
	var servers raft.Configuration
	for i, address := range n.Addresses {
		servers.Servers = append(servers.Servers, raft.Server{
			ID: raft.ServerID(strconv.Itoa(i)), Address: raft.ServerAddress(address),
		})
	}
	if err := r.BootstrapCluster(servers).Error(); err != nil {
		return nil, fmt.Errorf("make cluster: %w", err)
	}
	return r, nil
}

// nothing is a state machine that ignores its entries: only the election is measured.
type nothing struct{}

// Apply ignores an entry of the Raft log.
func (nothing) Apply(*raft.Log) any { return nil }

func (nothing) Snapshot() (raft.FSMSnapshot, error) { return nothing{}, nil }

func (nothing) Restore(r io.ReadCloser) error { return r.Close() }

func (nothing) Persist(s raft.SnapshotSink) error { return s.Close() }

func (nothing) Release() {}
