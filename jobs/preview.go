package jobs

import (
	"context"
	"fmt"
)

// Preview describes the input of a job. The function Preview of a [Definition] returns it.
type Preview struct {
	Columns []PreviewColumn `json:"columns"`
	Objects int             `json:"objects"` // number of objects that the job reads
	Bytes   int64           `json:"bytes"`   // size of the objects in bytes, compressed or not
}

// PreviewColumn is a column of a job's input.
type PreviewColumn struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// Previews reports whether the job has a preview.
func (j Job) Previews() bool { return j.previews }

// Preview describes the input of a job. Only a job whose method Previews returns true has a preview.
func (j Job) Preview(ctx context.Context, p Params, plan Plan) (Preview, error) {
	preview, err := j.preview(ctx, p, plan)
	if err != nil {
		return Preview{}, fmt.Errorf("preview input of job %s: %w", j.name, err)
	}
	return preview, nil
}

func (b binding[P, T, R]) preview(ctx context.Context, params Params, plan Plan) (preview Preview, err error) {
	defer recoverTo(&err)
	p, err := b.params.parse(params, nil)
	if err != nil {
		return preview, err
	}
	return b.def.Preview(ctx, p, plan)
}
