package client

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/deploy/local/natsserver"
	"github.com/bellwether-compute/bellwether/deploy/local/natsserver/natstest"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/memory"
)

func TestMayRetry(t *testing.T) {
	skipped := store.Work{Skipped: []uint64{2}}
	kept := []store.StoredNode{{Node: engine.Node{Level: 1}}, {Node: engine.Leaf(3)}}
	for name, test := range map[string]struct {
		record
		want string // part of the error; empty if the job may be retried
		err  error
	}{
		"running":            {record{manifest: store.Manifest{State: store.Running}}, "has not ended", ErrNotEnded},
		"failed":             {record{manifest: store.Manifest{State: store.Failed}}, "", nil},
		"cancelled":          {record{manifest: store.Manifest{State: store.Cancelled}}, "", nil},
		"whole":              {record{manifest: store.Manifest{State: store.Completed, Partitions: 4}}, "has skipped nothing", ErrInvalid},
		"skipped":            {record{manifest: store.Manifest{State: store.Completed, Partitions: 4, Work: skipped, Nodes: kept}}, "", nil},
		"part of it kept":    {record{manifest: store.Manifest{State: store.Completed, Partitions: 4, Work: skipped, Nodes: kept[:1]}}, "has not kept", ErrInvalid},
		"nothing kept":       {record{manifest: store.Manifest{State: store.Completed, Partitions: 4, Work: skipped}}, "has not kept", ErrInvalid},
		"output of rows":     {record{manifest: store.Manifest{State: store.Completed, Partitions: 4, Work: skipped, Nodes: kept}, rows: true}, "an output of rows", ErrInvalid},
		"job with estimates": {record{spec: store.Spec{Estimates: true}, manifest: store.Manifest{State: store.Completed, Partitions: 4, Work: skipped}}, "a job with estimates", ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			err := test.mayRetry()
			if !errors.Is(err, test.err) || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if got, want := test.completable(), name == "skipped"; got != want {
				t.Errorf("completable is %v, want %v", got, want)
			}
		})
	}
}

// The status of a job proposes a retry exactly if Retry accepts it, also if only the result says that the output has rows.
func TestCompletableIsRetried(t *testing.T) {
	s := store.New(store.Config{Blobs: memory.NewBlobs(), Queue: memory.NewQueue(time.Minute)})
	c, err := Connect(t.Context(), Config{Cluster: cluster.Config{NATS: cluster.NATS{URL: natstest.Start(t, natsserver.Config{}).URL()}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	c.store = s
	now := time.UnixMilli(1_700_000_000_000)
	for _, test := range []struct {
		name, params, result string
		completable          bool
	}{
		{"without an output", `{}`, `{"output":{"sum":3}}`, true},
		{"files", `{"output":"out"}`, `{"files":{"manifest":"out/A"}}`, true},
		{"rows", `{"output":"out"}`, `{"output":{"manifest":"out/A"}}`, false},
		{"without a result", `{"output":"out"}`, "", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			now = now.Add(time.Second)
			spec := store.Spec{ID: store.NewID(now), Job: "sum", Version: "1", Params: jobs.Params(test.params), MaxAttempts: 1, MaxSkipped: 1, Submitted: now}
			m := store.Manifest{
				Epoch: 1, Sequence: 9, State: store.Completed, Partitions: 4, Started: now, Finished: now,
				Nodes: []store.StoredNode{{Node: engine.Node{Level: 1}, Data: []byte("p")}, {Node: engine.Leaf(3), Data: []byte("p")}},
				Work:  store.Work{Skipped: []uint64{2}},
			}
			err := s.Submit(t.Context(), spec)
			if err == nil && test.result != "" {
				err = s.PutResult(t.Context(), spec.ID, []byte(test.result))
			}
			if err == nil {
				_, err = s.PutManifest(t.Context(), spec.ID, m, store.IfAbsent)
			}
			if err != nil {
				t.Fatal(err)
			}
			status, err := c.Status(t.Context(), spec.ID)
			if err != nil || status.Completable != test.completable {
				t.Errorf("completable is %v, %v, want %v", status.Completable, err, test.completable)
			}
			if _, err := c.Retry(t.Context(), spec.ID); (err == nil || !errors.Is(err, ErrInvalid)) != test.completable {
				t.Errorf("retry: got %v", err)
			}
		})
	}
}
