package page

import (
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// TestManyIdleConnections opens more connections than a server keeps. The oldest ones are closed,
// and the server still answers.
func TestManyIdleConnections(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := newServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener) // Serve returns when Close is called
	}()
	defer func() {
		_ = server.Close()
		<-served
	}()
	const more = 20
	var idle []net.Conn
	for range maxConnections + more {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		idle = append(idle, conn)
	}
	for i, conn := range idle[:more] {
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			t.Errorf("connection %d: got a byte, want it closed", i)
		} else if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
			t.Fatalf("connection %d of %d is still open", i, len(idle))
		}
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get("http://" + listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if server.IdleTimeout <= 0 || server.ReadTimeout <= 0 || server.WriteTimeout <= 0 {
		t.Errorf("timeouts: idle %v, read %v, write %v, want all of them", server.IdleTimeout, server.ReadTimeout, server.WriteTimeout)
	}
}
