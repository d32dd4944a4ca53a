package faults

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// TCPProxy forwards TCP connections to a server and injects faults into all of them. A [Transport]
// injects faults into single requests instead.
type TCPProxy struct {
	target   string
	listener net.Listener
	running  sync.WaitGroup

	mu      sync.Mutex
	delay   time.Duration
	flowing chan struct{} // closed while bytes are forwarded
	closed  bool
	conns   map[net.Conn]bool
}

// NewTCPProxy listens on 127.0.0.1 for connections to a server. The caller must close the returned
// proxy.
func NewTCPProxy(target string) (*TCPProxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open a TCP proxy: %w", err)
	}
	p := &TCPProxy{target: target, listener: listener, flowing: make(chan struct{}), conns: map[net.Conn]bool{}}
	close(p.flowing)
	p.running.Go(p.accept)
	return p, nil
}

// Address returns the host and port of the proxy.
func (p *TCPProxy) Address() string { return p.listener.Addr().String() }

// Delay delays all bytes that are sent after this call, in each direction.
func (p *TCPProxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Stall stops forwarding bytes in both directions. During a stall, connections stay open, and new
// connections can be opened. Resume forwards the bytes that arrived during the stall.
func (p *TCPProxy) Stall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.flowing:
		p.flowing = make(chan struct{})
	default: // the proxy is already stalled
	}
}

// Resume ends a stall of the proxy.
func (p *TCPProxy) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.flowing:
	default:
		close(p.flowing)
	}
}

// Reset resets all open connections of the proxy.
func (p *TCPProxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reset()
}

func (p *TCPProxy) reset() {
	for conn := range p.conns {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // without lingering, Close sends a reset
		}
		_ = conn.Close() // errors do not matter, because the connection may be closed already
	}
	clear(p.conns)
}

// Close resets all connections and waits until all goroutines of the proxy have ended.
func (p *TCPProxy) Close() error {
	err := p.listener.Close()
	p.mu.Lock()
	p.closed = true
	p.reset()
	p.mu.Unlock()
	p.Resume()
	p.running.Wait()
	return err
}

func (p *TCPProxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // the client has disconnected
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil || !p.add(conn, server) {
			_ = conn.Close()
			if err == nil {
				_ = server.Close()
			}
			continue
		}
		p.running.Go(func() { p.forward(server, conn) })
		p.running.Go(func() { p.forward(conn, server) })
	}
}

func (p *TCPProxy) add(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range conns {
		p.conns[conn] = true
	}
	if p.closed {
		p.reset()
	}
	return !p.closed
}

// piece is a piece of a stream on its way through the proxy.
type piece struct {
	due  time.Time // time at which the delay has passed
	data []byte
}

// maxPieces bounds the pieces of one direction that are on their way. Further bytes wait in the
// sender's socket.
const maxPieces = 256

// forward forwards bytes in one direction until either side closes its connection. The delay is
// that of a long line: bytes that are sent during the delay of earlier bytes travel together with them.
func (p *TCPProxy) forward(to, from net.Conn) {
	pieces, ended := make(chan piece, maxPieces), make(chan struct{})
	p.running.Go(func() {
		defer close(ended)
		p.deliver(to, from, pieces)
	})
	for {
		data := make([]byte, 32<<10)
		n, err := from.Read(data)
		if n > 0 {
			p.mu.Lock()
			due := time.Now().Add(p.delay)
			p.mu.Unlock()
			pieces <- piece{due, data[:n]}
		}
		if err != nil {
			break
		}
	}
	close(pieces)
	<-ended
	_, _ = to.Close(), from.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, to)
	delete(p.conns, from)
}

// deliver writes each piece when its delay has passed and the proxy forwards bytes. After a failed
// write, deliver closes both connections and drops the remaining pieces.
func (p *TCPProxy) deliver(to, from net.Conn, pieces <-chan piece) {
	failed := false
	for next := range pieces {
		if failed {
			continue
		}
		time.Sleep(time.Until(next.due))
		p.mu.Lock()
		flowing := p.flowing
		p.mu.Unlock()
		<-flowing
		if _, err := to.Write(next.data); err != nil {
			failed = true
			_, _ = to.Close(), from.Close()
		}
	}
}
