package kmeans

import (
	"context"

	"github.com/bellwether-compute/bellwether/jobs/dataset"
	"github.com/bellwether-compute/bellwether/jobs/dataset/output"
)

// Result is the result of the job: a table of clusters.
type Result struct {
	Columns     []Column  `json:"columns"` // cluster, its number of rows, and the columns of the input
	Rows        [][]any   `json:"rows"`
	Inertia     float64   `json:"inertia"`   // sum of the squared distances of all rows to their centres
	Moves       uint64    `json:"moves"`     // number of rounds with centres
	Converged   bool      `json:"converged"` // false if the job ended because of the parameter rounds
	RowsRead    uint64    `json:"rows_read"`
	BytesRead   int64     `json:"bytes_read"` // stored size of the objects in bytes
	RowsSkipped uint64    `json:"rows_skipped"`
	Skipped     []Skipped `json:"skipped,omitempty"` // descriptions of the first skipped rows
	Written     *Output   `json:"output,omitempty"`  // rows with their clusters
}

// Column is a column of the table.
type Column struct {
	Name string `json:"name"`
	Type string `json:"type"` // integer or float
}

// Skipped is a row that could not be read.
type Skipped struct {
	Object string `json:"object"`
	Offset int64  `json:"offset"` // offset of the row in the object in bytes
	Error  string `json:"error"`
}

// Output describes the output of a job with the parameter output.
type Output struct {
	Manifest string        `json:"manifest"` // name of the object that lists the objects
	Format   output.Format `json:"format"`
	Objects  int           `json:"objects"`
	Rows     uint64        `json:"rows"`
	Bytes    int64         `json:"bytes"`
}

func finish(ctx context.Context, p Params, s state, totals dataset.Totals) (result Result, err error) {
	used := s.Columns
	result = Result{
		Columns: []Column{{clusterColumn, "integer"}, {"rows", "integer"}}, Inertia: s.Inertia, Moves: s.Rounds, Converged: s.Converged,
		RowsRead: totals.Records, BytesRead: totals.Bytes, RowsSkipped: totals.Skipped,
	}
	for _, name := range used {
		result.Columns = append(result.Columns, Column{name, "float"})
	}
	for c, n := range s.Sizes {
		row := []any{c + 1, n}
		for _, x := range s.Centres[c*len(used) : (c+1)*len(used)] {
			row = append(row, x)
		}
		result.Rows = append(result.Rows, row)
	}
	for _, f := range totals.Samples {
		result.Skipped = append(result.Skipped, Skipped{f.Object, f.Offset, f.Text})
	}
	if p.Output != "" {
		result.Written, err = commit(ctx, p, used, s.Parts, totals.OutputID)
	}
	return result, err
}
