package worker_test

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/worker"
)

// textBytes is the size of the text of a partition. The texts of five of them exceed the least memory of a worker.
const textBytes = 15_000_000

type textResult struct {
	Text jobs.Attachment `json:"text"`
}

// texts is a job that appends texts. The counters say how often its functions on streams were called.
func texts(merges, finishes *atomic.Int64) jobs.Job {
	return jobs.MustNew(jobs.Definition[struct{}, []byte, textResult]{
		Name: "texts", Version: "1", Codec: jobs.Raw{},
		Plan:  func(context.Context, struct{}) (jobs.Plan, error) { return jobs.Plan{Partitions: 5}, nil },
		Open:  func(context.Context, struct{}, jobs.Plan) (jobs.Mapper[[]byte], error) { return textMapper{}, nil },
		Merge: func(left, right []byte) ([]byte, error) { return append(left, right...), nil },
		Finish: func(_ context.Context, _ struct{}, root []byte) (textResult, error) {
			return textResult{jobs.NewAttachment("text", root)}, nil
		},
		Large: &jobs.Large[struct{}, textResult]{
			Has: func(struct{}) bool { return true },
			Merge: func(left, right io.Reader, merged io.Writer) error {
				merges.Add(1)
				_, err := io.Copy(merged, left)
				_, other := io.Copy(merged, right)
				return cmp.Or(err, other)
			},
			Finish: func(_ context.Context, _ struct{}, root *io.SectionReader) (textResult, error) {
				finishes.Add(1)
				text, err := jobs.AttachSection("text", root)
				return textResult{text}, err
			},
		},
	})
}

type textMapper struct{}

func (textMapper) Map(_ context.Context, partition uint64) ([]byte, error) {
	return bytes.Repeat([]byte{'a' + byte(partition)}, textBytes), nil
}

func (textMapper) PartialBytes() int64 { return textBytes }

// TestTextsExceedMemory computes a result that exceeds the memory of each worker, so that its partials are merged and its
// attachment is written from files.
func TestTextsExceedMemory(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	var merges, finishes atomic.Int64
	c.job = texts(&merges, &finishes)
	for range 2 {
		dir := t.TempDir()
		c.start(func(cfg *worker.Config) { cfg.Memory, cfg.SpillDir = 64<<20, dir })
	}
	id := c.submit()
	m := c.checkpoint(id, "the job has ended", func(m store.Manifest) bool { return m.State.Final() })
	want, err := jobs.Local{Slots: 1, Attempts: 1}.Run(t.Context(), c.job, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.store.Result(c.patient(), id, ""); err != nil || !slices.Equal(got, want.Result) {
		t.Errorf("the job is %s: result %s, error %v, want %s", m.State, got, err, want.Result)
	}
	if merges.Load() == 0 || finishes.Load() == 0 {
		t.Errorf("%d merges and %d results were made as streams, want some", merges.Load(), finishes.Load())
	}
}
