package bulk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

const (
	window = 8

	// Window is the maximum number of bytes in flight of one fetch.
	Window = window * chunkSize

	// probeAfter is the time without data after which a fetch repeats a request: if the holder has
	// died, only a new request gets the answer that there are no responders.
	probeAfter  = 200 * time.Millisecond
	resendAfter = 2 * time.Second
	stalledFor  = 10 * time.Second
)

var (
	ErrGone       = errors.New("no process serves it")
	ErrNotHeld    = errors.New("the worker does not hold it")
	ErrUnreadable = errors.New("the worker cannot read it")
	ErrStalled    = errors.New("no data came for " + stalledFor.String())
	ErrDamaged    = errors.New("the bytes are damaged")
)

// Client fetches partials from other workers. It is safe for concurrent use.
type Client struct {
	nc *nats.Conn

	mu      sync.Mutex
	holders map[string]offer // what the holders have said about their sockets, by subject
}

// NewClient returns a client that uses a connection, which the caller closes after the last fetch.
func NewClient(nc *nats.Conn) *Client {
	return &Client{nc: nc, holders: map[string]offer{}}
}

// Fetch fills data with the bytes of a partial that another worker holds. The holder of the partial
// listens on subject. The partial must have the length of data, and its CRC-32C must be sum. After
// an error the content of data is undefined.
func (c *Client) Fetch(ctx context.Context, subject, job string, node engine.Node, data []byte, sum uint32) error {
	w := wanted{job, node, memory(data), int64(len(data))}
	got, near, err := c.fetch(ctx, subject, w)
	if err != nil {
		return err
	}
	if !near {
		got = wire.Checksum(data)
	}
	if got != sum {
		return fmt.Errorf("fetch node %v of %d bytes: %w: their checksum is %08x, want %08x", node, len(data), ErrDamaged, got, sum)
	}
	return nil
}

// memory is an [io.WriterAt] of fixed size.
type memory []byte

func (m memory) WriteAt(data []byte, offset int64) (int, error) { return copy(m[offset:], data), nil }

// FetchTo is like Fetch and writes the bytes to a writer, in pieces and in any order. It does not verify them.
func (c *Client) FetchTo(ctx context.Context, subject, job string, node engine.Node, to io.WriterAt, size int64) error {
	_, _, err := c.fetch(ctx, subject, wanted{job, node, to, size})
	return err
}

// fetch fetches a partial from the holder's socket, or over NATS if that fails. Only a fetch from the socket returns
// the CRC-32C of the partial.
func (c *Client) fetch(ctx context.Context, subject string, w wanted) (sum uint32, near bool, err error) {
	sum, err = c.fetchNear(ctx, subject, w)
	near = err == nil || errors.Is(err, ErrNotHeld) || errors.Is(err, ErrUnreadable)
	if !near {
		err = c.fetchFar(ctx, subject, w)
	}
	if err != nil {
		err = fmt.Errorf("fetch node %v of %d bytes: %w", w.node, w.size, err)
	}
	return sum, near, err
}

// fetchFar fetches a partial over NATS.
func (c *Client) fetchFar(ctx context.Context, subject string, w wanted) error {
	f := &farFetch{
		wanted: w, nc: c.nc, subject: subject, inbox: c.nc.NewInbox(),
		asked: map[int]time.Time{}, answers: make(chan *nats.Msg, 4*window),
	}
	sub, err := c.nc.ChanSubscribe(f.inbox+".*", f.answers)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }() // Unsubscribe fails only if the connection is closed
	return f.run(ctx)
}

// farFetch is the state of a running fetch over NATS.
type farFetch struct {
	wanted
	nc      *nats.Conn
	subject string
	inbox   string
	next    int               // first chunk that was not requested yet
	asked   map[int]time.Time // request times of the chunks in flight
	answers chan *nats.Msg
}

func (f *farFetch) run(ctx context.Context) error {
	heard := time.Now()
	tick := time.NewTicker(probeAfter)
	defer tick.Stop()
	for f.next < f.chunks() || len(f.asked) > 0 {
		for ; f.next < f.chunks() && len(f.asked) < window; f.next++ {
			if err := f.ask(f.next); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case m := <-f.answers:
			took, err := f.take(m)
			if err != nil {
				return err
			}
			if took {
				heard = time.Now()
			}
		case now := <-tick.C:
			if now.Sub(heard) > stalledFor {
				return ErrStalled
			}
			probe := now.Sub(heard) > probeAfter
			for _, chunk := range slices.Sorted(maps.Keys(f.asked)) {
				if again := now.Sub(f.asked[chunk]) > resendAfter; again || probe {
					probe = false
					if err := f.ask(chunk); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

func (f *farFetch) ask(chunk int) error {
	f.asked[chunk] = time.Now()
	return f.nc.PublishRequest(f.subject, f.inbox+"."+strconv.Itoa(chunk), f.request(chunk))
}

// take processes an answer. It returns false if the chunk has already arrived.
func (f *farFetch) take(m *nats.Msg) (took bool, err error) {
	if m.Header.Get("Status") == "503" { // NATS replies with status 503 if the subject has no responders
		return false, ErrGone
	}
	chunk, err := strconv.Atoi(strings.TrimPrefix(m.Subject, f.inbox+"."))
	if _, waits := f.asked[chunk]; err != nil || !waits || len(m.Data) == 0 {
		return false, nil
	}
	if err := statusError(m.Data[0]); err != nil {
		return false, err
	}
	offset, length := f.place(chunk)
	if len(m.Data)-1 != length {
		return false, fmt.Errorf("%w: a chunk has %d bytes, want %d", ErrDamaged, len(m.Data)-1, length)
	}
	if _, err := f.to.WriteAt(m.Data[1:], offset); err != nil {
		return false, err
	}
	delete(f.asked, chunk)
	garbage.add(len(m.Data))
	return true, nil
}
