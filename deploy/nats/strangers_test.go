package nats_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
)

func TestStrangersGetNowhere(t *testing.T) { onBoth(t, testStrangersGetNowhere) }

func testStrangersGetNowhere(t *testing.T, edits ...string) {
	url := startServer(t, edits...)
	for name, options := range map[string][]nats.Option{
		"anonymous":          nil,
		"unknown user":       {nats.UserInfo("wolf", passwords[worker])},
		"wrong password":     {nats.UserInfo(worker, passwords[submitter])},
		"without a password": {nats.UserInfo(worker, "")},
		"a token":            {nats.Token(passwords[worker])},
	} {
		t.Run(name, func(t *testing.T) {
			nc, err := nats.Connect(url, append(options, nats.RootCAs(os.Getenv("NATS_CA")))...)
			if err == nil {
				nc.Close()
			}
			if !errors.Is(err, nats.ErrAuthorization) {
				t.Errorf("got %v, want %v", err, nats.ErrAuthorization)
			}
		})
	}
	f := &flock{t: t, url: url}
	if status := f.status("", "list"); status != 3 {
		t.Errorf("list without credentials: status %d, want 3", status)
	}
}

// TestNothingInTheClear: a client that does not check the server's certificate, or
// whose authority is another, gets no connection either way.
func TestNothingInTheClear(t *testing.T) {
	f := &flock{t: t, url: startServer(t)}
	t.Setenv("NATS_CA", "")
	nc, err := nats.Connect(f.url, nats.UserInfo(worker, passwords[worker]))
	if err == nil {
		nc.Close()
		t.Error("connected to a server whose authority is unknown")
	}
	var errs strings.Builder
	if status := f.run(t.Context(), worker, &errs, &errs, "leader"); status != 3 || !strings.Contains(errs.String(), "--tlsca") {
		t.Errorf("status %d: %s; want a hint at --tlsca", status, &errs)
	}
}
