package nats_test

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
)

// TestServerIsLost runs a job on three servers. In the middle of the job one server loses its disk, and
// recovers from the others. Then the server that leads the stream of values is stopped, so that the
// job needs what was recovered.
func TestServerIsLost(t *testing.T) {
	servers := startCluster(t)
	c := &cluster{t: t, url: clientURLs(servers), flags: []string{"--replicas", "3"}}
	c.startWorkers(3)
	var here, earlier, submitted, now, done outcome
	c.must(submitter, &earlier, "submit", "bulky", "--wait")
	c.must("", &here, "run", "probe", "-p", "partitions=1500", "-p", "partial-size=1000")
	c.must(submitter, &submitted, "submit", "probe", "-p", "partitions=1500", "-p", "partial-size=1000", "-p", "sleep=10ms")
	c.until("a part of the job is done", func() bool {
		var status struct {
			State string
			Done  uint64
		}
		c.must(submitter, &status, "status", submitted.ID)
		if status.State == "completed" {
			t.Fatal("the job was over before a server was lost")
		}
		return status.Done > 200
	})

	nc := c.connect(t, worker)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	streams := []string{"KV_bellwether-default", "bellwether-default-large", "bellwether-default-queue", "KV_bellwether_default_lease"}
	for _, stream := range streams {
		info, err := js.Stream(t.Context(), stream)
		if err != nil {
			t.Fatal(err)
		}
		if n := info.CachedInfo().Config.Replicas; n != 3 {
			t.Errorf("stream %s has %d replicas, want 3", stream, n)
		}
	}
	values, err := js.Stream(t.Context(), "KV_bellwether-default")
	if err != nil {
		t.Fatal(err)
	}
	lost := values.CachedInfo().Cluster.Leader
	wiped := slices.IndexFunc(servers, func(s *server.Server) bool { return s.Name() != lost })
	servers[wiped] = restartEmpty(t, servers[wiped])
	c.until("the server has recovered all streams and the queue's consumer", func() bool {
		// For a moment the leader of a stream still says what it knew of the server before.
		return servers[wiped].JetStreamIsCurrent() && votesInAll(servers[wiped], len(streams)+1) && !slices.ContainsFunc(streams, func(name string) bool {
			stream, err := js.Stream(t.Context(), name)
			return err != nil || !isCurrent(stream.CachedInfo().Cluster) || !servers[wiped].JetStreamIsStreamCurrent("WORK", name)
		})
	})
	nc.Close()
	for _, s := range servers {
		if s.Name() == lost {
			s.Shutdown()
			s.WaitForShutdown()
		}
	}

	c.until("the job has ended", func() bool {
		return c.ask(submitter, &now, "status", submitted.ID) == nil && now.State != "running"
	})
	c.until("the result is read", func() bool { return c.ask(submitter, &done, "result", submitted.ID) == nil })
	c.until("an earlier result is read", func() bool { return c.ask(submitter, &now, "result", earlier.ID) == nil })
	if now.SHA256 != earlier.SHA256 {
		t.Errorf("the earlier job's result was %+v and is %+v", earlier, now)
	}
	if done.State != "completed" || done.SHA256 != here.SHA256 {
		t.Errorf("with server %s lost: %+v, in one process: %+v", lost, done, here)
	}
	c.checkNothingRefused()
}

// restartEmpty stops a server, and starts it again without its data.
func restartEmpty(t *testing.T, s *server.Server) *server.Server {
	t.Helper()
	t.Setenv("NATS_SERVER_NAME", s.Name())
	options := configure(t, "cluster.conf") // with an empty folder
	options.Cluster.Host, options.Cluster.Port = "127.0.0.1", s.ClusterAddr().Port
	s.Shutdown()
	s.WaitForShutdown()
	return start(t, options)
}

// votesInAll reports whether a server has entries of all Raft groups of account WORK: those of the streams and of the
// queue's consumer. The vote of a server without entries counts only if all servers vote, and not if one is stopped.
func votesInAll(s *server.Server, groups int) bool {
	found := (*s.Raftz(&server.RaftzOptions{AccountFilter: "WORK"}))["WORK"]
	for _, group := range found {
		if group.PIndex == 0 || group.CatchingUp {
			return false
		}
	}
	return len(found) == groups
}

// isCurrent reports whether both replicas of a stream have all messages that its leader has.
func isCurrent(c *jetstream.ClusterInfo) bool {
	behind := func(r *jetstream.PeerInfo) bool { return !r.Current || r.Offline }
	return c != nil && c.Leader != "" && len(c.Replicas) == 2 && !slices.ContainsFunc(c.Replicas, behind)
}

// TestStrangerIsNoRoute checks that a server without a certificate of the operator's authority
// cannot join the cluster, where it could read everything.
func TestStrangerIsNoRoute(t *testing.T) {
	servers := startCluster(t)
	trusted := os.Getenv("NATS_SERVER_CA")
	certify(t)                          // by a new authority
	t.Setenv("NATS_SERVER_CA", trusted) // the stranger trusts the cluster's servers
	t.Setenv("NATS_SERVER_NAME", "wolf")
	options := configure(t, "cluster.conf")
	options.Cluster.Host, options.Cluster.Port = "127.0.0.1", server.RANDOM_PORT
	said := &serverLog{}
	servers[0].SetLogger(said, false, false)
	wolf := start(t, options)
	c := &cluster{t: t, logs: []*log{&said.log}}
	c.until("the others turn the stranger away", func() bool {
		return strings.Contains(said.String(), "certificate signed by unknown authority")
	})
	for _, s := range servers {
		if n := s.NumRemotes(); n != 2 {
			t.Errorf("server %s has %d others, want 2", s.Name(), n)
		}
	}
	if n := wolf.NumRemotes(); n != 0 {
		t.Errorf("the stranger has joined %d servers", n)
	}
}

// serverLog is a server's log.
type serverLog struct{ log }

func (l *serverLog) Noticef(format string, v ...any) { fmt.Fprintf(l, format+"\n", v...) }
func (l *serverLog) Warnf(format string, v ...any)   { l.Noticef(format, v...) }
func (l *serverLog) Errorf(format string, v ...any)  { l.Noticef(format, v...) }
func (l *serverLog) Fatalf(format string, v ...any)  { l.Noticef(format, v...) }
func (l *serverLog) Debugf(format string, v ...any)  { l.Noticef(format, v...) }
func (l *serverLog) Tracef(format string, v ...any)  { l.Noticef(format, v...) }

// startCluster runs three servers with cluster.conf, and waits until they have elected a leader of
// JetStream.
func startCluster(t *testing.T) []*server.Server {
	t.Helper()
	certify(t)
	ports := freePorts(t, 3)
	var routes []string
	for _, port := range ports {
		routes = append(routes, fmt.Sprintf("nats-route://127.0.0.1:%d", port))
	}
	t.Setenv("NATS_SERVER_ROUTES", "["+strings.Join(routes, ", ")+"]")
	var servers []*server.Server
	for i, port := range ports {
		t.Setenv("NATS_SERVER_NAME", fmt.Sprint("nats-", i))
		options := configure(t, "cluster.conf")
		options.Cluster.Host, options.Cluster.Port = "127.0.0.1", port
		servers = append(servers, start(t, options))
	}
	c := &cluster{t: t}
	c.until("the servers are a cluster", func() bool {
		led := false
		for _, s := range servers {
			if !s.ReadyForConnections(time.Second) || s.NumRemotes() != 2 || !s.JetStreamIsCurrent() {
				return false
			}
			led = led || s.JetStreamIsLeader()
		}
		return led
	})
	return servers
}

func clientURLs(servers []*server.Server) string {
	var urls []string
	for _, s := range servers {
		urls = append(urls, s.ClientURL())
	}
	return strings.Join(urls, ",")
}

// freePorts are ports that were free a moment ago.
func freePorts(t *testing.T, n int) []int {
	t.Helper()
	var ports []int
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports
}
