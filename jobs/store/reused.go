package store

import (
	"context"
	"fmt"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// Plan is the stored plan of a job.
type Plan struct {
	jobs.Plan
	Found string // name of the blob with what the worker that planned the job has found; empty if the job reuses nothing
}

// Reused describes what a job has reused instead of computing it.
type Reused struct {
	Partitions uint64        `cbor:"1,keyasint,omitempty" json:"partitions"` // number of reused partitions, which count as executed
	Work       time.Duration `cbor:"2,keyasint,omitempty" json:"-"`          // time for which Map has run for them in earlier jobs
	From       []string      `cbor:"3,keyasint,omitempty" json:"from"`       // jobs that have kept what was reused, sorted
	Lost       uint64        `cbor:"4,keyasint,omitempty" json:"lost"`       // number of packs of kept partials that were missing or damaged

	Root  []byte `cbor:"5,keyasint,omitempty" json:"-"` // key under which the root should be kept; empty if it is kept already or a partition must not be reused
	Build string `cbor:"6,keyasint,omitempty" json:"-"` // build of the worker that computed the key
}

// Found is what the worker that planned a job has found among the kept partials: finished nodes, which later
// manifests contain.
type Found struct {
	Reused
	Nodes []StoredNode `cbor:"10,keyasint,omitempty"`
}

// foundNode is the node under which Found is stored. It is outside every tree.
var foundNode = engine.Node{Level: 254}

// PutFound writes what a worker has found for a job, and returns the name of the blob. A failed write may have taken
// effect, so PutFound returns the name even if it returns an error.
func (s *Store) PutFound(ctx context.Context, id string, f Found) (blob string, err error) {
	return s.PutPartial(ctx, id, foundNode, encode(f))
}

// Found returns what a worker has found for a job. If the nodes are not in order or not in the tree, the error is
// [ErrCorrupt].
func (s *Store) Found(ctx context.Context, id, blob string, tree engine.Tree) (Found, error) {
	data, err := s.Partial(ctx, id, blob)
	if err != nil {
		return Found{}, err
	}
	f, err := decode[Found](data)
	if err != nil {
		return Found{}, err
	}
	next := uint64(0)
	for _, n := range f.Nodes {
		if !tree.Contains(n.Node) || tree.Span(n.Node).Lo < next {
			return Found{}, fmt.Errorf("%w: found node %v of job %s", ErrCorrupt, n.Node, id)
		}
		next = tree.Span(n.Node).Hi
	}
	return f, nil
}

// Blobs returns the driver, in which package kept keeps partials for later jobs.
func (s *Store) Blobs() Blobs { return s.blobs }
