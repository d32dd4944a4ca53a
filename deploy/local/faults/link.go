package faults

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Link is a TCP link to a server, on which what networks do can be done to whole
// connections: a [Transport] does it to single requests.
type Link struct {
	target   string
	listener net.Listener
	running  sync.WaitGroup

	mu      sync.Mutex
	delay   time.Duration
	flowing chan struct{} // closed while bytes flow
	closed  bool
	conns   map[net.Conn]bool
}

// NewLink listens on 127.0.0.1 for connections to a server. It must be closed.
func NewLink(target string) (*Link, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open a faulty link: %w", err)
	}
	l := &Link{target: target, listener: listener, flowing: make(chan struct{}), conns: map[net.Conn]bool{}}
	close(l.flowing)
	l.running.Go(l.accept)
	return l, nil
}

// Address is where to connect to.
func (l *Link) Address() string { return l.listener.Addr().String() }

// Delay delays what is sent from now on, in each direction.
func (l *Link) Delay(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay = d
}

// Stall stops the flow of bytes: connections open, and nothing is heard on them.
// Resume lets flow what has waited.
func (l *Link) Stall() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.flowing:
		l.flowing = make(chan struct{})
	default: // it has stopped already
	}
}

// Resume ends a stall.
func (l *Link) Resume() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.flowing:
	default:
		close(l.flowing)
	}
}

// Reset resets all connections that are open.
func (l *Link) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reset()
}

func (l *Link) reset() {
	for conn := range l.conns {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // what Close then sends is a reset
		}
		_ = conn.Close() // it may be closed already
	}
	clear(l.conns)
}

// Close resets all connections and waits until nothing of the link runs.
func (l *Link) Close() error {
	err := l.listener.Close()
	l.mu.Lock()
	l.closed = true
	l.reset()
	l.mu.Unlock()
	l.Resume()
	l.running.Wait()
	return err
}

func (l *Link) accept() {
	for {
		conn, err := l.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // the client is gone again
		}
		server, err := net.Dial("tcp", l.target)
		if err != nil || !l.enter(conn, server) {
			_ = conn.Close()
			if err == nil {
				_ = server.Close()
			}
			continue
		}
		l.running.Go(func() { l.carry(server, conn) })
		l.running.Go(func() { l.carry(conn, server) })
	}
}

func (l *Link) enter(conns ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range conns {
		l.conns[conn] = true
	}
	if l.closed {
		l.reset()
	}
	return !l.closed
}

// carry carries bytes in one direction until either side is gone.
func (l *Link) carry(to, from net.Conn) {
	defer func() {
		_, _ = to.Close(), from.Close()
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.conns, to)
		delete(l.conns, from)
	}()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			l.await()
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// await waits as long as the link's state demands.
func (l *Link) await() {
	l.mu.Lock()
	delay, flowing := l.delay, l.flowing
	l.mu.Unlock()
	if delay > 0 {
		time.Sleep(delay)
	}
	<-flowing
}
