package client

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"

	"github.com/bellwether-compute/bellwether/jobs"
)

// Items returns a function that names what each partition of a job computes, such as the object that the partition
// reads. The parameter job is the definition of the job. Items fails with [ErrNotFound] if the job has no plan.
func (c *Client) Items(ctx context.Context, job jobs.Job, id string) (names func(partition uint64) string, err error) {
	s, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	spec, err := s.Spec(ctx, id)
	if err != nil {
		return nil, c.explain(fmt.Errorf("read job %s: %w", id, err))
	}
	if spec.Job != job.Name() || spec.Version != job.Version() {
		return nil, errorf(ErrNotFound, "job %s is %s version %s, and this program knows version %s of %s", id, spec.Job, spec.Version, job.Version(), job.Name())
	}
	plan, err := s.Plan(ctx, id)
	if err != nil {
		return nil, c.explain(fmt.Errorf("read the plan of job %s: %w", id, err))
	}
	return job.Items(jobs.WithFiles(ctx, jobFiles{c, id}), spec.Params, plan.Plan)
}

// jobFiles reads the files that were submitted with a job.
type jobFiles struct {
	client *Client
	id     string
}

// WriteFile implements [jobs.FileReader].
func (f jobFiles) WriteFile(ctx context.Context, sha256 string, size int64, w io.Writer) error {
	if _, err := hex.DecodeString(sha256); err != nil {
		return err
	}
	var a jobs.Attachment // files are stored like attachments
	text := fmt.Sprintf(`{"attachment":"file","size":%d,"sha256":%q}`, size, sha256)
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return err
	}
	return f.client.WriteAttachment(ctx, f.id, a, w)
}
