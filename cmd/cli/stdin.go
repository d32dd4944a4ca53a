package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
)

const inputParameter = "input"

// readsStandardInput reports whether the objects of a job are standard input.
func readsStandardInput(job jobs.Job, p jobs.Params) bool {
	var values map[string]json.RawMessage
	return takes(job, inputParameter) && json.Unmarshal(p, &values) == nil && string(values[inputParameter]) == `"-"`
}

// withStandardInput returns a context in which jobs read standard input as the object "-". The function
// release removes the copy of standard input. The copy is a file without a name, because jobs read ranges of
// it, in any order.
func (a *app) withStandardInput(ctx context.Context, job jobs.Job, p jobs.Params) (_ context.Context, release func(), err error) {
	if !readsStandardInput(job, p) {
		return ctx, func() {}, nil
	}
	f, err := os.CreateTemp("", "bellwether-stdin-*")
	if err != nil {
		return nil, nil, fmt.Errorf("copy standard input: %w", err)
	}
	err = os.Remove(f.Name()) // so that nothing is left if the process is killed
	var size int64
	if err == nil {
		size, err = io.Copy(f, a.TakeInput("-p input=-"))
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("copy standard input: %w", err), f.Close())
	}
	d := stdinDriver{file: f, object: source.Object{Name: console.StandardInput + compression(f), Size: size, Tag: "1"}}
	open := func(context.Context) (source.Driver, error) { return d, nil }
	ctx = source.Beside(ctx, source.Source{Schemes: []string{console.StandardInput}, Help: "standard input of run", Open: open})
	return ctx, func() { _ = f.Close() }, nil
}

// compression returns the ending of names of objects that are compressed like a file, or an empty text.
func compression(f io.ReaderAt) string {
	magic := make([]byte, 4)
	n, _ := f.ReadAt(magic, 0)
	switch magic = magic[:n]; {
	case bytes.HasPrefix(magic, []byte("\x1f\x8b")): // RFC 1952
		return ".gz"
	case bytes.HasPrefix(magic, []byte("\x28\xb5\x2f\xfd")): // RFC 8878
		return ".zst"
	case bytes.HasPrefix(magic, []byte("BZh")):
		return ".bz2"
	}
	return ""
}

// stdinDriver reads the copy of standard input.
type stdinDriver struct {
	file   *os.File
	object source.Object
}

func (d stdinDriver) List(_ context.Context, pattern string) iter.Seq2[source.Object, error] {
	if pattern != console.StandardInput {
		return source.Fail(fmt.Errorf("%s: %w: while the input is standard input, write ./%[1]s for a file", pattern, source.ErrNotFound))
	}
	return func(yield func(source.Object, error) bool) { yield(d.object, nil) }
}

func (d stdinDriver) Read(_ context.Context, _ source.Object, from, to int64) (io.ReadCloser, error) {
	return io.NopCloser(io.NewSectionReader(d.file, from, to-from)), nil
}

// refuseStandardInput returns an error if a job on a cluster is to read standard input.
func refuseStandardInput(job jobs.Job, p jobs.Params) error {
	if readsStandardInput(job, p) {
		return console.Usagef("parameter input: workers cannot read standard input of this process: use run, or objects that the workers can read")
	}
	return nil
}
