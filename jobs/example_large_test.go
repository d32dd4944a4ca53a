package jobs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/bellwether-compute/bellwether/jobs"
)

type journalParams struct {
	Partitions uint64 `json:"partitions" min:"1" help:"number of texts"`
}

// journal joins texts. Workers hold all of the journal neither for a merge nor for the result if it exceeds their memory.
var journal = jobs.Definition[journalParams, []byte, jobs.Attachment]{
	Name: "journal", Version: "1", Summary: "texts in the order of their partitions",
	Defaults: journalParams{Partitions: 1000},
	Plan: func(_ context.Context, p journalParams) (jobs.Plan, error) {
		return jobs.Plan{Partitions: p.Partitions}, nil
	},
	Open: func(_ context.Context, p journalParams, _ jobs.Plan) (jobs.Mapper[[]byte], error) {
		return p, nil
	},
	Merge: func(left, right []byte) ([]byte, error) { return append(left, right...), nil },
	Finish: func(_ context.Context, _ journalParams, root []byte) (jobs.Attachment, error) {
		return jobs.NewAttachment("journal", root), nil
	},
	Large: &jobs.Large[journalParams, jobs.Attachment]{
		Has: func(journalParams) bool { return true },
		Merge: func(left, right io.Reader, merged io.Writer) error {
			_, err := io.Copy(merged, io.MultiReader(left, right))
			return err
		},
		Finish: func(_ context.Context, _ journalParams, root *io.SectionReader) (jobs.Attachment, error) {
			return jobs.AttachSection("journal", root)
		},
	},
	Codec: jobs.Raw{},
}

// Map returns the text of a partition.
func (p journalParams) Map(_ context.Context, partition uint64) ([]byte, error) {
	return fmt.Appendf(nil, "page %d\n", partition), nil
}

// A check finds functions on streams that write other bytes than Merge: here one that writes the right partial first.
func ExampleLarge() {
	swapped := journal
	swapped.Large = &jobs.Large[journalParams, jobs.Attachment]{
		Has: journal.Large.Has, Finish: journal.Large.Finish,
		Merge: func(left, right io.Reader, merged io.Writer) error { return journal.Large.Merge(right, left, merged) },
	}
	for _, d := range []jobs.Definition[journalParams, []byte, jobs.Attachment]{journal, swapped} {
		job := jobs.MustNew(d)
		params, err := job.Params(nil, "partitions=3")
		if err != nil {
			fmt.Println(err)
			return
		}
		done, err := jobs.Check{Slots: 2, Attempts: 1}.Run(context.Background(), job, params)
		if difference, found := errors.AsType[*jobs.DifferenceError](err); found {
			fmt.Println(difference.Runs, "differ")
			continue
		}
		fmt.Println(string(bytes.ReplaceAll(done.Attachment.Data(), []byte("\n"), []byte(", "))), err)
	}
	// Output:
	// page 0, page 1, page 2,  <nil>
	// its merge and the Merge of Large differ
}
