package worker_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/worker"
)

// damagingProxy forwards connections to a NATS server, and changes one bit of the first message that
// has the size of a chunk of a partial.
type damagingProxy struct {
	t        *testing.T
	target   string
	listener net.Listener
	running  sync.WaitGroup
	damage   sync.Once
	damaged  atomic.Bool
}

// chunkMessage is the size of a message with a chunk of a large partial: a status and 512 KiB.
const chunkMessage = 1 + 512<<10

// socketPrefix begins the name of a worker's socket, from which another worker on the same machine would fetch partials. The
// proxy changes the names, so that partials are fetched over NATS.
const socketPrefix = "@bellwether-"

// startDamagingProxy starts a proxy, which ends with the test.
func startDamagingProxy(t *testing.T, target string) *damagingProxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &damagingProxy{t: t, target: strings.TrimPrefix(target, "nats://"), listener: listener}
	p.running.Go(p.accept)
	t.Cleanup(func() {
		_ = listener.Close() // an error means only that the listener is closed already
		p.running.Wait()
	})
	return p
}

func (p *damagingProxy) url() string { return "nats://" + p.listener.Addr().String() }

func (p *damagingProxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			p.t.Errorf("connect to NATS: %v", err)
			_ = client.Close()
			return
		}
		closeBoth := func() {
			_ = client.Close() // an error means only that the connection is closed already
			_ = server.Close()
		}
		p.running.Go(func() {
			defer closeBoth()
			_, _ = io.Copy(server, client) // an error means that one of the connections was closed
		})
		p.running.Go(func() {
			defer closeBoth()
			p.forward(client, bufio.NewReader(server))
		})
	}
}

// forward forwards messages of the server to a client until a connection is closed.
func (p *damagingProxy) forward(client io.Writer, server *bufio.Reader) {
	for {
		line, err := server.ReadBytes('\n')
		if err != nil {
			return
		}
		message := line
		if fields := bytes.Fields(line); bytes.HasPrefix(line, []byte("MSG ")) || bytes.HasPrefix(line, []byte("HMSG ")) {
			size, err := strconv.Atoi(string(fields[len(fields)-1]))
			if err != nil {
				p.t.Errorf("message %q: %v", line, err)
				return
			}
			message = append(line, make([]byte, size+len("\r\n"))...)
			payload := message[len(line):]
			if _, err := io.ReadFull(server, payload); err != nil {
				return
			}
			if at := bytes.Index(payload, []byte(socketPrefix)); at >= 0 {
				payload[at+len(socketPrefix)] ^= 1
			}
			if size == chunkMessage {
				p.damage.Do(func() {
					payload[size/2] ^= 1
					p.damaged.Store(true)
				})
			}
		}
		if _, err := client.Write(message); err != nil {
			return
		}
	}
}

// meeting is a Mapper that lets partitions other than the first begin only together with another
// one, so that two workers with one slot each hold partials.
type meeting struct {
	vectorMapper
	here *atomic.Int64
	met  chan struct{}
}

func (m meeting) Fill(ctx context.Context, partition uint64, v []float64) ([]float64, error) {
	if partition > 0 {
		if m.here.Add(1) == 2 {
			close(m.met)
		}
		select {
		case <-m.met:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return m.vectorMapper.Fill(ctx, partition, v)
}

// TestDamagedFetch damages an operand on its way between two workers. The leader's log names the
// job, the node and its size. The operand is read from storage instead, so nothing is computed
// again, and the next job is not affected.
func TestDamagedFetch(t *testing.T) {
	t.Parallel()
	c := vectorCluster(t)
	definition := c.vectors()
	here, met := new(atomic.Int64), make(chan struct{})
	definition.Open = func(_ context.Context, p vectorParams, _ jobs.Plan) (jobs.Mapper[[]float64], error) {
		return meeting{vectorMapper{p, c}, here, met}, nil
	}
	c.job = jobs.MustNew(definition)
	proxy := startDamagingProxy(t, c.cfg.NATS.URL)
	var workers []*testWorker
	for range 2 {
		workers = append(workers, c.start(func(cfg *worker.Config) { cfg.Cluster.NATS.URL = proxy.url() }))
	}
	params := []string{"partitions=16"}
	id := c.submit(params...)
	if m := c.await(id, params...); m.Executed < 16 || m.Executed > 16 && !c.stalled() {
		t.Errorf("%d partitions were executed, want 16", m.Executed)
	}
	if !proxy.damaged.Load() {
		t.Fatal("no operand was fetched")
	}
	want := regexp.MustCompile(`msg="Merge of node \S+ waits, an operand could not be fetched from worker \S+: operand of Merge: fetch node \S+ of 800000 bytes: the bytes are damaged: .* job=` + id)
	until(t, "the leader's log names the damaged operand, or another leader has resumed the job, which needs no such merge", func() bool {
		log := workers[0].log.String() + workers[1].log.String()
		return want.MatchString(log) || strings.Contains(log, `msg="Job resumed"`)
	})
	next := c.submit(params...)
	c.await(next, params...)
}
