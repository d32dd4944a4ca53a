package cli_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/bellwether-compute/bellwether/cmd/cli"
	"github.com/bellwether-compute/bellwether/jobs"
)

// TestCredentials reaches NATS servers that want to know who asks.
func TestCredentials(t *testing.T) {
	run := func(url string, args ...string) (status int, errs string) {
		var out, err bytes.Buffer
		args = append(args, "list", "--nats", url, "--timeout", "5s")
		status = cli.Run(context.Background(), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &err}, jobs.MustNew(squares))
		return status, err.String()
	}
	for _, tt := range []struct {
		name    string
		options server.Options
		right   []string
		env     map[string]string
	}{
		{
			name:    "user and password",
			options: server.Options{Username: "shepherd", Password: "wool"},
			right:   []string{"--user", "shepherd", "--password", "wool"},
			env:     map[string]string{"NATS_USER": "shepherd", "NATS_PASSWORD": "wool"},
		},
		{
			name:    "token",
			options: server.Options{Authorization: "wool"},
			right:   []string{"--user", "wool"},
			env:     map[string]string{"BELLWETHER_NATS_USER": "wool", "NATS_USER": "cotton"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, name := range []string{"NATS_USER", "NATS_PASSWORD", "NATS_CREDS", "NATS_NKEY", "BELLWETHER_NATS_USER", "BELLWETHER_NATS_PASSWORD"} {
				t.Setenv(name, "")
			}
			url := startGuarded(t, tt.options)
			if status, errs := run(url, tt.right...); status != 0 {
				t.Errorf("with the right flags: status %d, %s", status, errs)
			}
			if status, errs := run(url); status != 3 || !strings.Contains(errs, "refuses these credentials") {
				t.Errorf("without: status %d, %s", status, errs)
			}
			if status, errs := run(url, "--user", "wolf", "--password", "wool"); status != 3 || !strings.Contains(errs, "refuses these credentials") {
				t.Errorf("with wrong flags: status %d, %s", status, errs)
			}
			for name, value := range tt.env {
				t.Setenv(name, value)
			}
			if status, errs := run(url); status != 0 {
				t.Errorf("with the right environment: status %d, %s", status, errs)
			}
		})
	}
}

// startGuarded starts a NATS server with JetStream that is guarded in this way.
func startGuarded(t *testing.T, options server.Options) (url string) {
	t.Helper()
	options.Host, options.Port = "127.0.0.1", server.RANDOM_PORT
	options.JetStream, options.StoreDir = true, t.TempDir()
	options.NoLog, options.NoSigs = true, true
	s, err := server.NewServer(&options)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("the NATS server does not start")
	}
	return s.ClientURL()
}

// TestNoJetStream says what is missing where NATS is there and JetStream is not.
func TestNoJetStream(t *testing.T) {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	defer s.WaitForShutdown()
	defer s.Shutdown()
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("the NATS server does not start")
	}
	var out, errs bytes.Buffer
	args := []string{"list", "--nats", s.ClientURL(), "--timeout", "5s"}
	status := cli.Run(context.Background(), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, jobs.MustNew(squares))
	if status != 3 || !strings.Contains(errs.String(), "JetStream") {
		t.Errorf("status %d, %s", status, errs.String())
	}
}
