package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/dataset/output"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
)

// jobScheme is the beginning of names that refer to the output of an earlier job.
const jobScheme = "job:"

// jobOutputs is the driver for names such as job:ID. jobOutputs lists the objects in the output of
// a job of the cluster. The objects keep their names, so other drivers read the objects.
type jobOutputs struct {
	cluster cluster.Config
	set     *source.Set
}

func openOutputs(ctx context.Context) (source.Driver, error) {
	cfg, err := cluster.Of(ctx)
	return jobOutputs{cfg, Open(ctx)}, err
}

// List implements source.Lister.
func (d jobOutputs) List(ctx context.Context, pattern string) iter.Seq2[source.Object, error] {
	m, err := d.manifest(ctx, strings.TrimPrefix(pattern, jobScheme))
	if err != nil {
		return source.Fail(err)
	}
	return listOutput(ctx, m, d.set)
}

func listOutput(ctx context.Context, m output.Manifest, from source.Lister) iter.Seq2[source.Object, error] {
	if len(m.Objects) == 0 {
		return source.Fail(jobs.Permanent(errors.New("the output of the job has no rows: want a job whose output has rows")))
	}
	return m.List(ctx, from)
}

// manifest returns the manifest of the output of a job.
func (d jobOutputs) manifest(ctx context.Context, id string) (m output.Manifest, err error) {
	c, err := client.Connect(ctx, client.Config{Cluster: d.cluster, Name: "bellwether dataset"})
	if err != nil {
		return m, err
	}
	defer c.Close()
	if id, err = c.Find(ctx, id); err != nil {
		return m, err
	}
	o, err := c.Outcome(ctx, id)
	if err != nil {
		return m, err
	}
	if err = o.Err(); err != nil {
		return m, jobs.Permanent(err)
	}
	name, ok := output.Of(o.Result)
	if !ok {
		return m, jobs.Permanent(fmt.Errorf("job %s has no output: want the ID of a job with the parameter output", id))
	}
	return output.Read(ctx, d.set, name)
}

// Read returns ErrUnsupported: List expands a name of this driver to objects of other drivers.
func (d jobOutputs) Read(_ context.Context, o source.Object, _, _ int64) (io.ReadCloser, error) {
	return nil, fmt.Errorf("read %s: %w", o.Name, source.ErrUnsupported)
}
