package exec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/dustin/go-humanize"
	"github.com/fxamacker/cbor/v2"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset"
	"github.com/bellwether-compute/bellwether/jobs/dataset/output"
	"github.com/bellwether-compute/bellwether/jobs/exec/account"
)

// Files describes the files that the calls of a job have written to BELLWETHER_OUT.
type Files struct {
	Manifest string `json:"manifest"` // name of the object that lists the files
	Calls    uint64 `json:"calls"`    // number of calls of the phase map, without those that were skipped
	Files    int    `json:"files"`
	Bytes    int64  `json:"bytes"`
}

func (p Params) checkOutput() error {
	if p.Output == "" {
		return nil
	}
	if p.Keep {
		return errors.New("parameters output and keep: want one of them, because a kept process has no folder for each call")
	}
	if err := output.CheckName(p.Output); err != nil {
		return fmt.Errorf("parameter output: %w", err)
	}
	return nil
}

func (p Params) noAudit() string {
	if p.Output == "" {
		return ""
	}
	return "each call writes its files to other objects; leave out the parameter output"
}

// outputPlan is the data of the plan of a job with an output.
type outputPlan struct {
	ID    string `cbor:"1,keyasint"` // ID of the output
	Input []byte `cbor:"2,keyasint"` // data of the plan without an output
}

// planOutput adds a new output to a plan.
func (p Params) planOutput(ctx context.Context, plan jobs.Plan) (jobs.Plan, error) {
	if err := dataset.CheckOutput(ctx, p.Output); err != nil {
		return jobs.Plan{}, err
	}
	data, err := cbor.Marshal(outputPlan{output.NewID(), plan.Data})
	return jobs.Plan{Partitions: plan.Partitions, Data: data}, err
}

// openOutput returns the plan without its output, and the output, which is nil if there is none.
func (p Params) openOutput(plan jobs.Plan) (jobs.Plan, *outputFiles, error) {
	if p.Output == "" {
		return plan, nil, nil
	}
	var data outputPlan
	if err := cbor.Unmarshal(plan.Data, &data); err != nil {
		return plan, nil, fmt.Errorf("decode plan: %w", err)
	}
	return jobs.Plan{Partitions: plan.Partitions, Data: data.Input}, &outputFiles{p.Output, data.ID}, nil
}

// outputFiles stores the files of calls.
type outputFiles struct{ name, id string }

func (o outputFiles) folder(ctx context.Context) output.Folder {
	return dataset.OutputFolder(ctx, o.name, o.id, output.Files)
}

const (
	// outName is the name of the folder BELLWETHER_OUT in the working folder of a call. No object and no
	// submitted file has a name that begins with a dot there.
	outName = ".out"
	// maxFiles is the largest number of files of a call. The limit bounds the size of partials.
	maxFiles = 10_000
)

// outFolder is the folder BELLWETHER_OUT of a call that has ended.
type outFolder struct {
	dir  string
	most int64            // maximum number of bytes of all files
	user *account.Account // user as whom the program has run; nil: the user of this process
}

// store writes the files of a partition's call to objects. An attempt whose error occurs later loses these
// objects, and the end of the job removes them.
func (o outputFiles) store(ctx context.Context, partition uint64, item string, out outFolder) (files, error) {
	to := o.folder(ctx)
	var parts []output.Part
	err := out.each(func(name string, content []byte) error {
		p, err := to.WriteFile(ctx, fmt.Sprintf("%08d-%06d", partition, len(parts)), output.Part{Path: name, Item: item}, content)
		parts = append(parts, p)
		return err
	})
	if err == nil && len(parts) > 0 {
		err = to.RemoveLate(ctx, parts...)
	}
	if err != nil {
		return files{}, fmt.Errorf("map: files of the call: %w", err)
	}
	return newFiles(o.id, item, parts), nil
}

// each calls do for each file of the folder, in the order of their names. The program may have written anything:
// a link to a file that only this process can read, or a pipe that has no writer.
func (f outFolder) each(do func(name string, content []byte) error) error {
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	names, err := f.list(root)
	if err != nil {
		return err
	}
	left := f.most
	for _, name := range names {
		content, err := f.read(root, name, left)
		if err != nil {
			return err
		}
		left -= int64(len(content))
		if err := do(name, content); err != nil {
			return err
		}
	}
	return nil
}

// list returns the names of the files, sorted. It reads no file, so that nothing is stored if there is one that
// cannot be stored.
func (f outFolder) list(root *os.Root) (names []string, err error) {
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || entry.IsDir():
			return err
		case len(names) == maxFiles:
			return jobs.Permanent(fmt.Errorf("there are more than %d: write fewer, for example as an archive", maxFiles))
		case !entry.Type().IsRegular():
			return jobs.Permanent(fmt.Errorf("%q: %w", name, errNoFile))
		}
		names = append(names, name)
		if err := output.CheckPath(name); err != nil {
			return jobs.Permanent(fmt.Errorf("%.1100q: %w", name, err))
		}
		return nil
	})
	return names, err
}

// read reads a file of at most the given number of bytes.
func (f outFolder) read(root *os.Root, name string, most int64) ([]byte, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || f.user != nil && !owns(f.user, info): // a process that has escaped may have replaced the file
		return nil, jobs.Permanent(fmt.Errorf("%q: %w", name, errNoFile))
	case info.Size() > most:
		return nil, jobs.Permanent(fmt.Errorf("%s has %s, and the files of a call may have %s in all: raise max-output, or write less", name, humanize.IBytes(uint64(info.Size())), humanize.IBytes(uint64(f.most))))
	}
	return io.ReadAll(io.LimitReader(file, info.Size()))
}

var errNoFile = errors.New("it is no file of the program: want files, without links and pipes")

// commit writes the manifest of a job's files.
func (p Params) commit(ctx context.Context, f files) (*Files, error) {
	calls, parts, err := f.parts()
	if err != nil {
		return nil, err
	}
	name, m, err := outputFiles{p.Output, f.output}.folder(ctx).Commit(ctx, []output.Column{}, parts)
	if err != nil {
		return nil, err
	}
	return &Files{Manifest: name, Calls: calls, Files: len(m.Objects), Bytes: m.Bytes}, nil
}
