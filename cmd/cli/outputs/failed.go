package outputs

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/cmd/internal/human"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/dataset/output"
)

// listing is the output of the command: the manifest of an output, and what the output lacks.
type listing struct {
	output.Manifest
	Failed []failure `json:"failed,omitempty"`
}

// failure is a part of the input that is not in an output, because its partition was skipped.
type failure struct {
	Partition uint64 `json:"partition"`
	Item      string `json:"item,omitempty"`  // what the partition should have computed; empty if it has no name
	Error     string `json:"error,omitempty"` // reason; empty if the reasons of all partitions are too large to be stored
}

// failures returns what a job has skipped. If this program cannot name the items, failures prints a note.
func failures(ctx context.Context, a *console.App, c *client.Client, o client.Outcome) (list []failure) {
	if len(o.Skipped) == 0 {
		return nil
	}
	name := func(uint64) string { return "" }
	job, err := a.Job(o.Job)
	if err == nil {
		var names func(partition uint64) string
		if names, err = c.Items(ctx, job, o.ID); err == nil {
			name = names
		}
	}
	if err != nil {
		a.Note("the skipped partitions have no names: %v", human.FirstLine(err.Error()))
	}
	reasons := map[uint64]string{}
	for _, r := range o.SkipReasons {
		reasons[r.Partition] = r.Text
	}
	for _, partition := range o.Skipped {
		list = append(list, failure{partition, name(partition), reasons[partition]})
	}
	return list
}

// note says that an output lacks items, beside a copy or its rows.
func (l listing) note(a *console.App, id string) {
	if n := len(l.Failed); n == 1 {
		a.Note("1 item failed and is not in the output: '%s output %s' names it", a.Name, id)
	} else if n > 1 {
		a.Note("%s items failed and are not in the output: '%s output %s' names them", human.Count(n), a.Name, id)
	}
}

// table writes a table of the objects of an output, and of what the output lacks.
func (l listing) table(w io.Writer) {
	if l.Format == output.Files {
		console.Row(w, "ITEM", "FILE", "BYTES", "SHA256")
	} else {
		console.Row(w, "NAME", "ROWS", "BYTES", "SHA256")
	}
	for _, p := range l.Objects {
		if l.Format == output.Files {
			console.Row(w, cmp.Or(p.Item, "-"), p.Path, p.Bytes, p.SHA256)
		} else {
			console.Row(w, p.Name, p.Rows, p.Bytes, p.SHA256)
		}
	}
	if len(l.Failed) == 0 {
		return
	}
	fmt.Fprintln(w)
	console.Row(w, "FAILED", "ERROR")
	for _, f := range l.Failed {
		console.Row(w, cmp.Or(f.Item, fmt.Sprintf("partition %d", f.Partition)), human.FirstLine(cmp.Or(f.Error, "-")))
	}
}
