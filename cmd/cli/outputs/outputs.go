// Package outputs is the command output of a command line, which lists and copies what jobs over files
// have written. Only programs whose main function names the package contain it, because the formats and
// sources of such jobs are large:
//
//	cli.Program{Jobs: known, Commands: []cli.Command{outputs.Command}}.Main()
package outputs

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/cmd/internal/human"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/dataset"
	"github.com/bellwether-compute/bellwether/jobs/dataset/output"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
)

// options are the flags of the command.
type options struct {
	to     string
	byItem bool
	print  bool
}

// Command returns the command output.
func Command(a *console.App) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:     "output ID|FOLDER",
		GroupID: console.OnCluster,
		Short:   "List, copy or print the output of a job",
		Long: `List, copy or print the objects that a job has written to the folder of its parameter
output. They are found by the manifest of the job, so rows that were written twice because
a worker died do not count. Items that are not in it, because their partitions were skipped
(submit --max-skipped), follow as failed, with the reason. This process reads the objects
itself, with its own credentials.

Files that programs of the job exec have written have the paths that the programs gave
them. If two items wrote one path, --copy needs --by-item, with which the files of each item go
to a folder of their own, named by the number of the item's partition.

In place of the ID of a job, the name of its folder does too: a name with a slash, such as
logs/errors or azblob://CONTAINER/errors.`,
		Args:              console.WantArgs(1, 1),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), a, args[0]) },
		ValidArgsFunction: a.CompleteID,
	}
	cmd.Flags().StringVar(&o.to, "copy", "", "copy the objects to this folder")
	cmd.Flags().BoolVar(&o.byItem, "by-item", false, "with --copy: copy the files of each item to a folder of their own")
	cmd.Flags().BoolVar(&o.print, "print", false, "print the rows; of CSV the header only once")
	console.CompleteFolders(cmd, "copy")
	return cmd
}

// run lists, copies or prints the output of a job, given by its ID, or of a folder.
func (o options) run(ctx context.Context, a *console.App, name string) error {
	if o.to != "" && o.print {
		return console.Usagef("--copy and --print exclude each other")
	}
	if o.byItem && o.to == "" {
		return console.Usagef("--by-item is for --copy")
	}
	ctx, stop := console.Interruptible(ctx)
	defer stop()
	cfg, err := a.Target.Config()
	if err != nil {
		return err
	}
	ctx, release := jobs.WithGrant(a.OnTarget(ctx), a.OwnGrant())
	defer release()
	l := listing{}
	folder := name
	if !strings.Contains(name, "/") {
		if folder, l.Failed, err = outputOf(ctx, a, cfg, name); err != nil {
			return err
		}
	}
	from := dataset.Open(ctx)
	l.Manifest, err = output.Read(ctx, from, folder)
	switch {
	case err != nil:
		return err
	case o.to != "":
		l.note(a, name)
		return copyTo(ctx, a, from, l.Manifest, o.to, o.byItem)
	case o.print:
		l.note(a, name)
		return printRows(ctx, a, from, l.Manifest)
	}
	return a.Show(l, l.table)
}

// outputOf returns the folder in storage that contains a job's output, and what the output lacks.
func outputOf(ctx context.Context, a *console.App, cfg cluster.Config, id string) (folder string, lacks []failure, err error) {
	c, err := a.ConnectTo(ctx, cfg, a.Timeout)
	if err != nil {
		return "", nil, err
	}
	defer c.Close()
	if id, err = c.Find(ctx, id); err != nil {
		return "", nil, err
	}
	o, err := c.Outcome(ctx, id)
	if err == nil {
		err = o.Err()
	}
	if err != nil {
		return "", nil, err
	}
	folder, ok := output.Of(o.Result)
	if !ok {
		return "", nil, fmt.Errorf("job %s has no output: '%s result %[1]s' shows its result", id, a.Name)
	}
	return folder, failures(ctx, a, c, o), nil
}

// copyTo copies the objects of a job's output to a folder. copyTo keeps files that an
// earlier copy has written.
func copyTo(ctx context.Context, a *console.App, from source.Driver, m output.Manifest, folder string, byItem bool) error {
	names, err := copyNames(m, byItem)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	for i, p := range m.Objects {
		content, err := output.Content(ctx, from, p)
		if err != nil {
			return err
		}
		name := filepath.Join(folder, filepath.FromSlash(names[i]))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return err
		}
		if err := createFile(name, content); err != nil {
			return err
		}
	}
	what := fmt.Sprintf("%s objects with %s rows", human.Count(len(m.Objects)), human.Count(m.Rows))
	if m.Format == output.Files {
		what = human.Count(len(m.Objects)) + " files"
	}
	a.Note("copied %s, %s, to %s", what, human.Size(m.Bytes), folder)
	return nil
}

// copyNames returns the names of the copies of the objects of an output.
func copyNames(m output.Manifest, byItem bool) (names []string, err error) {
	items := map[string]string{} // items by the name of the copy
	for _, p := range m.Objects {
		if m.Format != output.Files {
			names = append(names, path.Base(p.Name))
			continue
		}
		partition, _, _ := strings.Cut(output.Folder{ID: m.ID}.Label(p), "-")
		name := p.Path
		if byItem {
			name = path.Join(partition, p.Path)
		}
		item := fmt.Sprintf("%q of partition %s", p.Item, partition)
		if other, twice := items[name]; twice {
			return nil, console.Usagef("the items %s and %s both wrote %s: add --by-item, for a folder for each item", other, item, name)
		}
		items[name] = item
		names = append(names, name)
	}
	return names, nil
}

// createFile creates a file with its complete content in one step. createFile accepts an existing
// file with the same content, and fails if the content differs. If the process is killed,
// createFile may leave a file .copy-* behind.
func createFile(name string, content []byte) error {
	f, err := os.OpenFile(filepath.Join(filepath.Dir(name), ".copy-"+rand.Text()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	err = os.Link(f.Name(), name)
	if errors.Is(err, fs.ErrExist) {
		if old, readErr := os.ReadFile(name); readErr == nil && bytes.Equal(old, content) {
			return nil
		}
	}
	return err
}

// printRows prints the objects of a job's output one after the other.
func printRows(ctx context.Context, a *console.App, from source.Driver, m output.Manifest) error {
	if !m.Format.Text() {
		return console.Usagef("--print: the output is %s: want --copy", m.Format)
	}
	header := []byte(nil)
	for i, p := range m.Objects {
		content, err := output.Content(ctx, from, p)
		if err != nil {
			return err
		}
		if m.Format == output.CSV {
			if i == 0 {
				header = m.Header()
			} else if !bytes.HasPrefix(content, header) {
				return fmt.Errorf("%s: %w: it does not begin with the header", p.Name, output.ErrDamaged)
			} else {
				content = content[len(header):]
			}
		}
		if _, err := a.Out.Write(content); err != nil {
			return fmt.Errorf("print: %w", err)
		}
	}
	return nil
}
