package kmeans

import (
	"context"
	"fmt"
	"iter"
	"strconv"

	"github.com/bellwether-compute/bellwether/jobs/dataset"
	"github.com/bellwether-compute/bellwether/jobs/dataset/output"
)

// clusterColumn and distanceColumn are the columns that the output has beside those of the input. The distance is the
// square of the distance to the centre.
const (
	clusterColumn  = "cluster"
	distanceColumn = "squared_distance"
)

// fieldsOfObject is the number of fields of an object of the output, about, so that an object has some megabytes.
const fieldsOfObject = 2 << 20

// prepare refuses an output folder that is in use. It reports whether the job has an output.
func prepare(ctx context.Context, p Params, _ []string) (bool, error) {
	if p.Output == "" {
		return false, nil
	}
	return true, dataset.CheckOutput(ctx, p.Output)
}

func discard(ctx context.Context, p Params, outputID string) error {
	return p.folder(ctx, outputID).Abandon(ctx)
}

// folder returns the folder of the output with an ID.
func (p Params) folder(ctx context.Context, id string) output.Folder {
	return dataset.OutputFolder(ctx, p.Output, id, output.Format(p.OutputFormat))
}

// outputColumns returns the columns of the output of a job that uses the given columns.
func (p Params) outputColumns(used []string) (columns []output.Column) {
	for _, name := range names(p.Keep) {
		columns = append(columns, output.Column{Name: name, Type: "text"})
	}
	for _, name := range used {
		columns = append(columns, output.Column{Name: name, Type: "float"})
	}
	return append(columns, output.Column{Name: clusterColumn, Type: "integer"}, output.Column{Name: distanceColumn, Type: "float"})
}

// write writes the rows of a partition with their clusters, in objects of about equal size.
func write(ctx context.Context, p Params, s state, at dataset.Place, r rows) (parts []output.Part, err error) {
	to, columns := p.folder(ctx, at.OutputID), p.outputColumns(r.names)
	each := max(1, fieldsOfObject/max(1, len(columns)))
	for lo := 0; lo < r.count() && err == nil; lo += each {
		if err = context.Cause(ctx); err != nil {
			break
		}
		var part output.Part
		part, err = to.Write(ctx, fmt.Sprintf("%08d-%06d", at.Partition, len(parts)), columns, s.lines(r, lo, min(lo+each, r.count())))
		if err == nil {
			parts, err = append(parts, part), to.RemoveLate(ctx, part)
		}
	}
	return parts, err
}

// lines yields the fields of the rows lo to hi-1.
func (s state) lines(r rows, lo, hi int) iter.Seq[[][]byte] {
	width, kept := len(r.names), len(r.kept)/r.count() // columns of a row
	return func(yield func([][]byte) bool) {
		fields := make([][]byte, kept+width+2)
		for at := lo; at < hi; at++ {
			row := r.row(at)
			c, squared := Nearest(row, s.Centres)
			for i, text := range r.kept[at*kept : (at+1)*kept] {
				fields[i] = []byte(text)
			}
			numbers := fields[kept:]
			for j, x := range row {
				numbers[j] = strconv.AppendFloat(numbers[j][:0], x, 'g', -1, 64)
			}
			numbers[width] = strconv.AppendInt(numbers[width][:0], int64(c)+1, 10)
			numbers[width+1] = strconv.AppendFloat(numbers[width+1][:0], squared, 'g', -1, 64)
			if !yield(fields) {
				return
			}
		}
	}
}

// commit commits the output.
func commit(ctx context.Context, p Params, used []string, parts []output.Part, id string) (*Output, error) {
	name, m, err := p.folder(ctx, id).Commit(ctx, p.outputColumns(used), parts)
	if err != nil {
		return nil, err
	}
	return &Output{Manifest: name, Format: m.Format, Objects: len(m.Objects), Rows: m.Rows, Bytes: m.Bytes}, nil
}
