package client

import (
	"errors"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
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
