package faults_test

import (
	"bufio"
	"io"
	"net"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/deploy/local/faults"
)

// echo starts a server that echoes its input.
func echo(t *testing.T) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.Copy(conn, conn)
			_ = conn.Close()
		}
	}()
	return listener.Addr().String()
}

func TestTCPProxy(t *testing.T) {
	proxy, err := faults.NewTCPProxy(echo(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	conn, err := net.Dial("tcp", proxy.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	lines := bufio.NewReader(conn)
	say := func(within time.Duration) error {
		t.Helper()
		if err := conn.SetDeadline(time.Now().Add(within)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, "hello\n"); err != nil {
			return err
		}
		_, err := lines.ReadString('\n')
		return err
	}
	const long = 20 * time.Second
	if err := say(long); err != nil {
		t.Fatalf("without faults: %v", err)
	}
	proxy.Delay(100 * time.Millisecond)
	begun := time.Now()
	if err := say(long); err != nil || time.Since(begun) < 200*time.Millisecond {
		t.Errorf("delayed by 100ms each way: %v, in %v", err, time.Since(begun))
	}
	proxy.Delay(0)
	proxy.Stall()
	if err := say(200 * time.Millisecond); err == nil {
		t.Error("an answer came through a stalled proxy")
	}
	proxy.Resume()
	if err := conn.SetDeadline(time.Now().Add(long)); err != nil {
		t.Fatal(err)
	}
	if _, err := lines.ReadString('\n'); err != nil {
		t.Errorf("after the stall: %v", err)
	}
	proxy.Reset()
	if err := say(long); err == nil {
		t.Error("a connection outlives its reset")
	}
}
