package client_test

import (
	"strings"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/deploy/local/faults"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// TestDistantNATS submits a job over a line of 600 ms in each direction, which stalls for a second,
// and reads the job's status, which includes the leader's answer, and its result.
func TestDistantNATS(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes about half a minute")
	}
	where := onJetStream(t)
	startWorkers(t, where, 1)
	if _, err := connect(t, where, time.Minute).Leader(t.Context()); err != nil {
		t.Fatal(err)
	}
	proxy, err := faults.NewTCPProxy(strings.TrimPrefix(where.NATS.URL, "nats://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	proxy.Delay(600 * time.Millisecond)
	where.NATS.URL = "nats://" + proxy.Address()
	c := connect(t, where, 0)

	proxy.Stall()
	time.AfterFunc(time.Second, proxy.Resume)
	id := submit(t, c, client.SubmitOptions{Pairs: []string{"n=3"}})
	if s, err := c.Wait(t.Context(), id); err != nil || s.State != store.Completed {
		t.Errorf("job ended as %s, %v, want it completed", s.State, err)
	}
	held := submit(t, c, client.SubmitOptions{Pairs: []string{"hold=true"}})
	for deadline := time.Now().Add(time.Minute); ; {
		s, err := c.Status(t.Context(), held)
		if err != nil {
			t.Fatal(err)
		}
		if s.Epoch > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no status has the leader's answer")
		}
	}
	if err := c.Cancel(t.Context(), held); err != nil {
		t.Error(err)
	}
	if _, err := c.Workers(t.Context()); err != nil {
		t.Error(err)
	}
}
