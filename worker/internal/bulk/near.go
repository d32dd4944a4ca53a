package bulk

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// This file contains how a worker fetches a partial from another one on the same machine, through a socket.

// tokenSize is the size in bytes of the token that a fetcher sends first. The holder tells it over NATS, so only
// members of the cluster know it, although all processes of the machine may see the socket.
const tokenSize = 16

// socketPrefix begins the names of sockets. The first byte stands for Linux's abstract namespace, in which a socket needs
// no file and disappears with its process.
const socketPrefix = "@bellwether-"

// socket serves partials to workers on the same machine.
type socket struct {
	source   Source
	listener net.Listener
	token    []byte
	life     context.Context
	end      context.CancelFunc
	running  sync.WaitGroup
}

// listen returns a socket that serves a source, or nil if this system has no such sockets.
func listen(source Source) *socket {
	if runtime.GOOS != "linux" {
		return nil
	}
	listener, err := net.Listen("unix", socketPrefix+rand.Text())
	if err != nil {
		return nil // the partials are fetched over NATS
	}
	s := &socket{source: source, listener: listener, token: make([]byte, tokenSize)}
	_, _ = rand.Read(s.token) // never fails
	s.life, s.end = context.WithCancel(context.Background())
	s.running.Go(s.accept)
	return s
}

func (s *socket) close() {
	if s == nil {
		return
	}
	s.end()
	_ = s.listener.Close() // nothing can be done about an error
	s.running.Wait()
}

func (s *socket) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			if s.life.Err() == nil && !errors.Is(err, net.ErrClosed) {
				time.Sleep(probeAfter) // the process has too many open files; fetchers wait or use NATS
				continue
			}
			return
		}
		s.running.Go(func() { s.serve(conn) })
	}
}

// serve answers the requests of a connection until the fetcher closes it. Nobody is told about an error, because the
// fetcher then uses NATS.
func (s *socket) serve(conn net.Conn) {
	defer closeWith(s.life, conn)()
	_ = conn.SetDeadline(time.Now().Add(stalledFor)) // fails only if the connection is closed
	requests := bufio.NewReader(conn)
	token := make([]byte, tokenSize)
	if _, err := io.ReadFull(requests, token); err != nil || subtle.ConstantTimeCompare(token, s.token) == 0 {
		return
	}
	request, buffer := make([]byte, maxRequest), make([]byte, 0, 1+chunkSize)
	for {
		n, err := requests.ReadByte()
		if err != nil {
			return
		}
		if _, err := io.ReadFull(requests, request[:n]); err != nil {
			return
		}
		if _, err := conn.Write(answer(s.source, request[:n], buffer)); err != nil {
			return
		}
		_ = conn.SetDeadline(time.Now().Add(stalledFor)) // fails only if the connection is closed
	}
}

// offer is the answer of a holder about its socket: statusOK, the token and the socket's name. It is only a status if the
// holder has no socket, or an earlier version.
type offer []byte

func (s *socket) offer() offer {
	if s == nil {
		return offer{statusMalformed}
	}
	return append(append(offer{statusOK}, s.token...), s.listener.Addr().String()...)
}

// connect connects to the socket. It returns an error if the holder has no socket or runs on another machine.
func (o offer) connect(ctx context.Context) (net.Conn, error) {
	if len(o) <= 1+tokenSize || o[0] != statusOK {
		return nil, errElsewhere
	}
	name := string(o[1+tokenSize:])
	if !strings.HasPrefix(name, socketPrefix) {
		return nil, errElsewhere
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", name)
	if err != nil {
		return nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(nearStalledFor)) // fails only if the connection is closed
	if _, err := conn.Write(o[1 : 1+tokenSize]); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// nearStalledFor is the time without data after which a fetcher leaves the socket. It is short, because the fetch over NATS
// that follows waits for [ErrStalled] if the holder's process has stopped.
const nearStalledFor = resendAfter

var errElsewhere = errors.New("the worker has no socket on this machine")

// maxHolders bounds the number of holders whose sockets a client remembers.
const maxHolders = 10_000

// fetchNear fetches a partial from a worker on the same machine, and returns its CRC-32C.
func (c *Client) fetchNear(ctx context.Context, subject string, w wanted) (sum uint32, err error) {
	if runtime.GOOS != "linux" {
		return 0, errElsewhere
	}
	c.mu.Lock()
	o, known := c.holders[subject]
	c.mu.Unlock()
	if !known {
		asking, cancel := context.WithTimeout(ctx, resendAfter)
		defer cancel()
		m, err := c.nc.RequestWithContext(asking, subject, nil)
		if err != nil {
			return 0, err
		}
		o = m.Data
	}
	conn, err := o.connect(ctx)
	if errors.Is(err, syscall.ECONNREFUSED) { // the holder runs on another machine, or has ended
		o = offer{statusMalformed}
	}
	c.remember(subject, o)
	if err != nil {
		return 0, err
	}
	defer closeWith(ctx, conn)()
	return w.readFrom(conn)
}

func (c *Client) remember(subject string, o offer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.holders) >= maxHolders {
		clear(c.holders)
	}
	c.holders[subject] = o
}

// closeWith closes a connection when ctx is done. The returned function closes it at once.
func closeWith(ctx context.Context, conn net.Conn) (closeNow func()) {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // nothing can be done about an error
	return func() {
		if stop() {
			_ = conn.Close()
		}
	}
}

// readFrom reads a partial from a holder's socket, and returns its CRC-32C. At most window requests are unanswered.
func (w wanted) readFrom(conn net.Conn) (sum uint32, err error) {
	answers := bufio.NewReader(conn)
	to, inMemory := w.to.(memory)
	var buffer []byte
	for asked, chunk := 0, 0; chunk < w.chunks(); chunk++ {
		for ; asked < w.chunks() && asked < chunk+window; asked++ {
			request := w.request(asked)
			if _, err := conn.Write(append([]byte{byte(len(request))}, request...)); err != nil {
				return 0, err
			}
		}
		status, err := answers.ReadByte()
		if err == nil {
			err = statusError(status)
		}
		if err != nil {
			return 0, err
		}
		offset, length := w.place(chunk)
		piece := to
		if inMemory {
			piece = to[offset:][:length]
		} else {
			buffer = slices.Grow(buffer[:0], length)[:length]
			piece = buffer
		}
		if _, err := io.ReadFull(answers, piece); err != nil {
			return 0, err
		}
		if !inMemory {
			if _, err := w.to.WriteAt(piece, offset); err != nil {
				return 0, err
			}
		}
		sum = wire.UpdateChecksum(sum, piece)                // now, while the piece is in the processor's cache
		_ = conn.SetDeadline(time.Now().Add(nearStalledFor)) // fails only if the connection is closed
	}
	return sum, nil
}
