package bench

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/bellwether-compute/bellwether/bench/plot"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/field"
	"github.com/bellwether-compute/bellwether/jobs/scan"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/folder"
	"github.com/bellwether-compute/bellwether/jobs/store/kept"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// ReuseConfig is the configuration of [Reuse].
type ReuseConfig struct {
	Dir    string // empty folder for the files and for the kept partials
	Files  int
	Bytes  int // size of each file; a partition is one file
	Keys   int // number of groups
	Slots  int
	Rounds int // number of measurements of the first run

	Cluster *ReuseCluster // configuration of the runs in a cluster, or nil
	Lookups uint64        // number of partitions of the job whose kept partials are looked for; 0: no such job

	Progress func(doing string, done, all uint64) // function that is called with the current activity
}

func (c ReuseConfig) validate() error {
	return cmp.Or(
		field.Check(c.Files >= 3, "Files", c.Files, "at least 3"),
		field.Check(c.Bytes >= 1000, "Bytes", c.Bytes, "at least 1000"),
		field.Check(c.Keys >= 1, "Keys", c.Keys, "at least 1"),
		field.Check(c.Slots >= 1, "Slots", c.Slots, "at least 1"),
		field.Check(c.Rounds >= 1, "Rounds", c.Rounds, "at least 1"),
		field.Check(c.Cluster == nil || c.Cluster.Workers >= 1, "Cluster", c.Cluster, "at least 1 worker"),
	)
}

// ReuseReport is the result of Reuse.
type ReuseReport struct {
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"` // size of all files
	Keys  int   `json:"keys"`
	Slots int   `json:"slots"`
	FirstRuns
	Cases []ReuseCase `json:"cases"`

	Cluster *ReuseClusterReport `json:"cluster,omitempty"`
	Lookups *ReuseLookups       `json:"lookups,omitempty"`
}

// ReuseCase is a run that reuses partials.
type ReuseCase struct {
	Name       string  `json:"name"`
	Label      string  `json:"-"` // short form of the name, for the chart
	Partitions uint64  `json:"partitions"`
	Computed   uint64  `json:"computed"`
	Wall       float64 `json:"wall_s"` // time of the run, from the listing of the files to the result, or from the submission to the durable result
	Full       float64 `json:"full_s"` // time of a run of the same files that reuses nothing
}

// Reuse measures runs of the job scan that reuse partials of earlier runs, each after a change of the
// input. Each result must have the bytes of a run that reuses nothing. If c.Cluster is not nil, the cluster runs the
// same scans, too.
func Reuse(ctx context.Context, c ReuseConfig) (r ReuseReport, err error) {
	if c.Progress == nil {
		c.Progress = func(string, uint64, uint64) {}
	}
	if err := c.validate(); err != nil {
		return r, fmt.Errorf("configure benchmark of reuse: %w", err)
	}
	r = ReuseReport{Files: c.Files, Keys: c.Keys, Slots: c.Slots}
	for i := range c.Files {
		c.Progress("writing the files", uint64(i), uint64(c.Files))
		if err := c.write(10*i, uint64(i)); err != nil {
			return r, err
		}
		r.Bytes += int64(c.Bytes)
	}
	if r.FirstRuns, err = c.first(ctx); err != nil {
		return r, err
	}
	if c.Cluster != nil {
		if r.Cluster, err = c.firstInCluster(ctx); err != nil {
			return r, fmt.Errorf("run in a cluster: %w", err)
		}
	}
	if err := c.changes(ctx, &r); err != nil || c.Lookups == 0 {
		return r, err
	}
	r.Lookups, err = c.lookUp(ctx)
	return r, err
}

// changes measures the runs after changes of the input.
func (c ReuseConfig) changes(ctx context.Context, r *ReuseReport) error {
	last, middle := c.Files-1, c.Files/2
	for i, change := range []struct {
		name, label string
		do          func() error
	}{
		{"the same files again", "no change", func() error { return nil }},
		{"one file more", "one more", func() error { return c.write(10*last+10, 1001) }},
		{"one file changed in the middle", "one changed", func() error { return c.write(10*middle, 1002) }},
		{"one file inserted in the middle", "one inserted", func() error { return c.write(10*middle+5, 1003) }},
		{"one file removed", "one removed", func() error { return os.Remove(c.file(10 * (middle / 2))) }},
		{"another removed, a kept file damaged", "one damaged", func() error { return errors.Join(os.Remove(c.file(0)), c.damage(ctx)) }},
	} {
		c.Progress("measuring", uint64(i), 6)
		if err := change.do(); err != nil {
			return err
		}
		one, full, err := compare(ctx, change.name, nil, c.run)
		if err != nil {
			return fmt.Errorf("%s: %w", change.name, err)
		}
		one.Label = change.label
		r.Cases = append(r.Cases, one)
		if r.Cluster == nil {
			continue
		}
		if one, _, err = compare(ctx, change.name, full, c.runInCluster); err == nil {
			_, err = c.settled(ctx)
		}
		if err != nil {
			return fmt.Errorf("%s, in a cluster: %w", change.name, err)
		}
		r.Cluster.Cases = append(r.Cluster.Cases, one)
	}
	return nil
}

func (c ReuseConfig) file(number int) string {
	return filepath.Join(c.Dir, "input", fmt.Sprintf("%05d.csv", number))
}

func (c ReuseConfig) shelf() string { return filepath.Join(c.Dir, "kept") }

// write writes a file whose rows depend on the seed. The file's time is an hour ago, so its content is certain.
func (c ReuseConfig) write(number int, seed uint64) error {
	random := rand.New(rand.NewPCG(1, seed))
	text := []byte("key,temperature\n")
	for len(text) < c.Bytes {
		line := append(strconv.AppendInt([]byte("key "), int64(random.IntN(c.Keys)), 10), ',')
		line = append(strconv.AppendFloat(line, float64(random.IntN(1400)-500)/10, 'f', 1, 64), '\n')
		text = append(text, line...)
	}
	end := bytes.LastIndexByte(text[:c.Bytes], '\n') + 1
	name := c.file(number)
	hourAgo := time.Now().Add(-time.Hour)
	return errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, text[:end], 0o666), os.Chtimes(name, hourAgo, hourAgo))
}

// damage changes a byte in the middle of the largest pack, which has partials of the first run, in the folder and in
// the cluster.
func (c ReuseConfig) damage(ctx context.Context) error {
	shelf, err := folder.Open(c.shelf())
	if err == nil {
		err = damage(ctx, shelf)
	}
	if err != nil || c.Cluster == nil {
		return err
	}
	blobs, err := c.Cluster.Cluster.Kept(ctx)
	if err == nil {
		err = damage(ctx, blobs)
	}
	return err
}

func damage(ctx context.Context, blobs kept.Blobs) error {
	keys, err := blobs.List(ctx, "packs/")
	if err != nil || len(keys) == 0 {
		return err
	}
	largest := ""
	var data []byte
	for _, key := range keys {
		one, _, err := blobs.Get(ctx, key)
		if err != nil {
			return err
		}
		if len(one) > len(data) {
			largest, data = key, one
		}
	}
	data[len(data)/2] ^= 1
	_, err = blobs.Put(ctx, largest, data, store.Always)
	return err
}

// reuseRun is a run of the scan.
type reuseRun struct {
	result             []byte
	partitions, reused uint64
	seconds            float64
	keptBytes          int64 // only of a run in this process
}

// compare measures a run that reuses partials, and a run that does not. The results must be the same, and equal want
// unless that is nil.
func compare(ctx context.Context, name string, want []byte, run func(ctx context.Context, reuse bool) (reuseRun, error)) (one ReuseCase, result []byte, err error) {
	reused, err := run(ctx, true)
	if err != nil {
		return one, nil, err
	}
	full, err := run(ctx, false)
	if err == nil && (!bytes.Equal(full.result, reused.result) || want != nil && !bytes.Equal(want, full.result)) {
		err = errors.New("the result differs from that of a run that reuses nothing")
	}
	return ReuseCase{Name: name, Partitions: reused.partitions, Computed: reused.partitions - reused.reused, Wall: reused.seconds, Full: full.seconds}, full.result, err
}

// job returns the scan of all files.
func (c ReuseConfig) job() (jobs.Job, jobs.Params, error) {
	job := jobs.MustNew(scan.Definition)
	params, err := job.Params(nil, "input="+filepath.Join(c.Dir, "input")+"/", "by=key", fmt.Sprint("block=", c.Bytes),
		"aggregate=count,min(temperature),mean(temperature),max(temperature)")
	return job, params, err
}

// run runs the scan in this process.
func (c ReuseConfig) run(ctx context.Context, reuse bool) (one reuseRun, err error) {
	began := time.Now()
	job, params, err := c.job()
	if err != nil {
		return one, err
	}
	local := jobs.Local{Slots: c.Slots, Attempts: 1, Grant: jobs.Grant{Files: []string{c.Dir}}}
	var list *kept.Partials
	if reuse {
		if list, local.Reuse, err = c.open(ctx, job, params); err != nil {
			return one, err
		}
	}
	r, err := local.Run(ctx, job, params)
	if reuse {
		list.Close(ctx)
		one.keptBytes = list.Stats().Bytes
	}
	one.result, one.partitions, one.reused, one.seconds = r.Result, r.Partitions, r.Reused.Partitions, time.Since(began).Seconds()
	return one, err
}

// open opens the kept partials of the scan in the folder.
func (c ReuseConfig) open(ctx context.Context, job jobs.Job, params jobs.Params) (list *kept.Partials, r jobs.Reuse, err error) {
	blobs, err := folder.Open(c.shelf())
	if err != nil {
		return nil, r, err
	}
	if r.Family, err = job.Family(params, wire.ThisBuild()); err != nil {
		return nil, r, err
	}
	list, err = kept.Open(ctx, kept.Config{Blobs: blobs, Family: r.Family, Job: job.Name(), Version: job.Version(), Origin: "benchmark"})
	r.Kept = list
	return list, r, err
}

// Table writes the report as tables with tabs between columns.
func (r ReuseReport) Table(w io.Writer) {
	fmt.Fprintf(w, "%d files, %s bytes, %d keys, %d slots\n\n", r.Files, about(float64(r.Bytes)), r.Keys, r.Slots)
	r.FirstRuns.table(w, r.Bytes)
	cases(w, r.Cases)
	if r.Cluster != nil {
		r.Cluster.table(w, r.Bytes)
	}
	if r.Lookups != nil {
		r.Lookups.table(w)
	}
}

// cases writes the table of the runs after changes.
func cases(w io.Writer, list []ReuseCase) {
	fmt.Fprintf(w, "\n\tPARTITIONS\tCOMPUTED\tSHARE\tWALL\tFULL RUN\n")
	for _, one := range list {
		fmt.Fprintf(w, "%s\t%d\t%d\t%.2f %%\t%.0f ms\t%.0f ms\n", one.Name, one.Partitions, one.Computed,
			100*float64(one.Computed)/float64(one.Partitions), 1e3*one.Wall, 1e3*one.Full)
	}
}

// Figure draws the time of each run beside that of a full run.
func (r ReuseReport) Figure() plot.Figure {
	p := plot.Panel{X: plot.Axis{Label: "milliseconds"}}
	for _, one := range r.Cases {
		p.Rows = append(p.Rows,
			plot.Row{Label: one.Label, Parts: []plot.Part{{Name: "with kept partials", Color: plot.Blue, Length: 1e3 * one.Wall}}},
			plot.Row{Parts: []plot.Part{{Name: "full run", Color: plot.Grey, Length: 1e3 * one.Full}}})
	}
	return plot.Figure{Title: fmt.Sprintf("Runs after a change of %d files", r.Files), Panels: []plot.Panel{p}}
}
