package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/dataset/output"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
)

// jobScheme is the beginning of names that refer to the output of an earlier job.
const jobScheme = "job:"

func isJob(name string) bool { return strings.HasPrefix(name, jobScheme) }

// jobOutputs is the driver for names such as job:ID. jobOutputs lists the objects in the output of
// a job of this cluster. The objects keep their names, so other drivers read the objects.
type jobOutputs struct{ set *source.Set }

// List implements source.Lister.
func (d jobOutputs) List(ctx context.Context, pattern string) iter.Seq2[source.Object, error] {
	m, err := d.manifest(ctx, strings.TrimPrefix(pattern, jobScheme))
	if err != nil {
		return source.Fail(err)
	}
	return m.List(ctx, d.set)
}

// manifest returns the manifest of the output of a job.
func (d jobOutputs) manifest(ctx context.Context, id string) (m output.Manifest, err error) {
	cfg, err := cluster.OfProcess()
	if err != nil {
		return m, err
	}
	c, err := client.Connect(ctx, client.Config{Cluster: cfg, Name: "bellwether dataset"})
	if err != nil {
		return m, err
	}
	defer c.Close()
	if id, err = c.Find(ctx, id); err != nil {
		return m, errors.Join(err, source.ErrNotFound)
	}
	o, err := c.Outcome(ctx, id)
	if err == nil {
		err = o.Err()
	}
	if err != nil {
		return m, err
	}
	name, ok := output.Of(o.Result)
	if !ok {
		return m, fmt.Errorf("job %s has no output: want the ID of a job with the parameter output", id)
	}
	return output.Read(ctx, d.set, name)
}

// Read returns ErrUnsupported: List expands a name of this driver to objects of other drivers.
func (d jobOutputs) Read(_ context.Context, o source.Object, _, _ int64) (io.ReadCloser, error) {
	return nil, fmt.Errorf("read %s: %w", o.Name, source.ErrUnsupported)
}
