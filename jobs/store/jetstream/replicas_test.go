package jetstream_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/bellwether-compute/bellwether/deploy/local/natsserver/natstest"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/jetstream"
)

// TestReadsAfterReplicasWereRaised creates the streams with one replica, so that they allow direct
// reads, and adds replicas later. A read must see every earlier write, even if the driver was
// opened before replicas were added.
func TestReadsAfterReplicasWereRaised(t *testing.T) {
	servers := startCluster(t)
	var drivers []*jetstream.Driver
	openAll := func() {
		for _, s := range servers {
			drivers = append(drivers, open(t, natstest.Connect(t, s.ClientURL()), jetstream.Config{}))
		}
	}
	openAll()
	js := must[natsjs.JetStream](t)(natsjs.New(natstest.Connect(t, servers[0].ClientURL())))
	for _, name := range []string{"KV_bellwether-test", "bellwether-test-large"} {
		stream := must[natsjs.Stream](t)(js.Stream(t.Context(), name))
		cfg := stream.CachedInfo().Config
		if !cfg.AllowDirect {
			t.Fatalf("stream %s with one replica allows no direct reads", name)
		}
		cfg.Replicas = 3
		must[natsjs.Stream](t)(js.UpdateStream(t.Context(), cfg))
		check(t, eventually(t, func() error {
			info, err := stream.Info(t.Context())
			if err != nil {
				return err
			}
			current := 0
			for _, r := range info.Cluster.Replicas {
				if r.Current {
					current++
				}
			}
			if current < 2 {
				return fmt.Errorf("%d of 2 replicas of %s are current", current, name)
			}
			return nil
		}))
	}
	openAll()
	const rounds = 24
	reads, stale := 0, 0
	put := func(d *jetstream.Driver, key string, value []byte) {
		check(t, whileUnavailable(t, func() error {
			_, err := d.Put(t.Context(), key, value, store.Always)
			return err
		}))
	}
	get := func(d *jetstream.Driver, key string, want []byte) {
		var got []byte
		err := whileUnavailable(t, func() (err error) {
			got, _, err = d.Get(t.Context(), key)
			return err
		})
		reads++
		if err != nil || !bytes.Equal(got, want) {
			stale++
		}
	}
	small, large := []byte("x"), bytes.Repeat([]byte("x"), 600<<10)
	for i := range rounds {
		writer := drivers[i%len(drivers)]
		name := fmt.Sprintf("large/%d", i)
		put(writer, name, large) // the replicas lag behind for a moment
		if i%12 == 0 {           // a read takes up to a second
			for _, d := range drivers {
				get(d, name, large)
			}
			continue
		}
		name = fmt.Sprintf("small/%d", i)
		put(writer, name, small)
		for _, d := range drivers {
			get(d, name, small)
		}
	}
	if stale > 0 {
		t.Errorf("%d of %d reads were stale", stale, reads)
	}
}

// whileUnavailable retries do while it returns ErrUnavailable, because the servers may be electing
// a leader.
func whileUnavailable(t *testing.T, do func() error) (err error) {
	t.Helper()
	_ = eventually(t, func() error {
		if err = do(); errors.Is(err, store.ErrUnavailable) {
			return err
		}
		return nil
	})
	return err
}

// startCluster starts three servers and waits until they can create streams.
func startCluster(t *testing.T) []*server.Server {
	t.Helper()
	var ports []int
	var listeners []net.Listener
	for range 3 {
		listener := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
		listeners = append(listeners, listener)
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	for _, listener := range listeners {
		check(t, listener.Close())
	}
	var routes []string
	for _, port := range ports {
		routes = append(routes, fmt.Sprintf("nats-route://127.0.0.1:%d", port))
	}
	var servers []*server.Server
	for i, port := range ports {
		servers = append(servers, natstest.StartOptions(t, server.Options{
			ServerName: fmt.Sprint("nats-", i), JetStream: true,
			Cluster: server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: port},
			Routes:  server.RoutesFromStr(strings.Join(routes, ",")),
		}))
	}
	check(t, eventually(t, func() error {
		for _, s := range servers {
			if s.JetStreamIsLeader() && len(s.JetStreamClusterPeers()) == len(servers) {
				return nil
			}
		}
		return fmt.Errorf("the servers have no leader")
	}))
	return servers
}
