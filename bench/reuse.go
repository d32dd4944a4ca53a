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

	Progress func(doing string, done, all uint64) // function that is called with the current activity
}

func (c ReuseConfig) validate() error {
	return cmp.Or(
		field.Check(c.Files >= 3, "Files", c.Files, "at least 3"),
		field.Check(c.Bytes >= 1000, "Bytes", c.Bytes, "at least 1000"),
		field.Check(c.Keys >= 1, "Keys", c.Keys, "at least 1"),
		field.Check(c.Slots >= 1, "Slots", c.Slots, "at least 1"),
		field.Check(c.Rounds >= 1, "Rounds", c.Rounds, "at least 1"),
	)
}

// ReuseReport is the result of Reuse.
type ReuseReport struct {
	Files     int         `json:"files"`
	Bytes     int64       `json:"bytes"` // size of all files
	Keys      int         `json:"keys"`
	Slots     int         `json:"slots"`
	Plain     ScanTime    `json:"plain"` // a run that keeps nothing
	Keeping   ScanTime    `json:"keeping"`
	KeptBytes int64       `json:"kept_bytes"` // size of what the first run has kept
	Cases     []ReuseCase `json:"cases"`
}

// ReuseCase is a run that reuses partials.
type ReuseCase struct {
	Name       string  `json:"name"`
	Label      string  `json:"-"` // short form of the name, for the chart
	Partitions uint64  `json:"partitions"`
	Computed   uint64  `json:"computed"`
	Wall       float64 `json:"wall_s"` // time of the run, from the listing of the files to the result
	Full       float64 `json:"full_s"` // time of a run of the same files that reuses nothing
}

// Reuse measures runs of the job scan that reuse partials of earlier runs, each after a change of the
// input. Each result must have the bytes of a run that reuses nothing.
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
	if err := c.first(ctx, &r); err != nil {
		return r, err
	}
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
		{"another removed, a kept file damaged", "one damaged", func() error { return errors.Join(os.Remove(c.file(0)), c.damage()) }},
	} {
		c.Progress("measuring", uint64(i), 6)
		if err := change.do(); err != nil {
			return r, err
		}
		one, err := c.compare(ctx, change.name)
		if err != nil {
			return r, fmt.Errorf("%s: %w", change.name, err)
		}
		one.Label = change.label
		r.Cases = append(r.Cases, one)
	}
	return r, nil
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

// damage changes a byte in the middle of the largest pack, which has partials of the first run.
func (c ReuseConfig) damage() error {
	entries, err := os.ReadDir(filepath.Join(c.shelf(), "packs"))
	if err != nil {
		return err
	}
	name, size := "", int64(0)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Size() > size {
			name, size = filepath.Join(c.shelf(), "packs", e.Name()), info.Size()
		}
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	data[len(data)/2] ^= 1
	return os.WriteFile(name, data, 0o666)
}

// first measures the first run, and beside it a run that keeps nothing.
func (c ReuseConfig) first(ctx context.Context, r *ReuseReport) error {
	var plain, keeping scanTimes
	for round := range c.Rounds {
		c.Progress("first run", uint64(round), uint64(c.Rounds))
		if _, err := plain.measure(func() error {
			_, _, err := c.run(ctx, false)
			return err
		}); err != nil {
			return err
		}
		if err := os.RemoveAll(c.shelf()); err != nil {
			return err
		}
		if _, err := keeping.measure(func() error {
			_, stats, err := c.run(ctx, true)
			r.KeptBytes = stats.Bytes
			return err
		}); err != nil {
			return err
		}
	}
	r.Plain, r.Keeping = plain.medians(), keeping.medians()
	return nil
}

// compare measures a run that reuses partials, and a run that does not.
func (c ReuseConfig) compare(ctx context.Context, name string) (one ReuseCase, err error) {
	one.Name = name
	began := time.Now()
	reused, _, err := c.run(ctx, true)
	if err != nil {
		return one, err
	}
	one.Wall = time.Since(began).Seconds()
	one.Partitions, one.Computed = reused.Partitions, reused.Partitions-reused.Reused.Partitions
	began = time.Now()
	full, _, err := c.run(ctx, false)
	one.Full = time.Since(began).Seconds()
	if err == nil && !bytes.Equal(full.Result, reused.Result) {
		err = errors.New("the result differs from that of a run that reuses nothing")
	}
	return one, err
}

// run runs the scan of all files.
func (c ReuseConfig) run(ctx context.Context, reuse bool) (r jobs.LocalResult, s kept.Stats, err error) {
	job := jobs.MustNew(scan.Definition)
	params, err := job.Params(nil, "input="+filepath.Join(c.Dir, "input")+"/", "by=key", fmt.Sprint("block=", c.Bytes),
		"aggregate=count,min(temperature),mean(temperature),max(temperature)")
	if err != nil {
		return r, s, err
	}
	local := jobs.Local{Slots: c.Slots, Attempts: 1, Grant: jobs.Grant{Files: []string{c.Dir}}}
	if !reuse {
		r, err = local.Run(ctx, job, params)
		return r, s, err
	}
	blobs, err := folder.Open(c.shelf())
	if err != nil {
		return r, s, err
	}
	family, err := job.Family(params, wire.ThisBuild())
	if err != nil {
		return r, s, err
	}
	list, err := kept.Open(ctx, kept.Config{Blobs: blobs, Family: family, Job: job.Name(), Version: job.Version(), Origin: "benchmark"})
	if err != nil {
		return r, s, err
	}
	local.Reuse = jobs.Reuse{Family: family, Kept: list}
	r, err = local.Run(ctx, job, params)
	list.Close(ctx)
	return r, list.Stats(), err
}

// Table writes the report as tables with tabs between columns.
func (r ReuseReport) Table(w io.Writer) {
	fmt.Fprintf(w, "%d files, %s bytes, %d keys, %d slots\n\n", r.Files, about(float64(r.Bytes)), r.Keys, r.Slots)
	fmt.Fprintf(w, "\tWALL\tPROCESSOR TIME\n")
	fmt.Fprintf(w, "first run, keeps nothing\t%.2f s\t%.2f s\n", r.Plain.Wall, r.Plain.CPU)
	fmt.Fprintf(w, "first run, keeps partials\t%.2f s\t%.2f s\n", r.Keeping.Wall, r.Keeping.CPU)
	fmt.Fprintf(w, "\nkept\t%s bytes, %.2f %% of the files\n", about(float64(r.KeptBytes)), 100*float64(r.KeptBytes)/float64(r.Bytes))
	fmt.Fprintf(w, "\n\tPARTITIONS\tCOMPUTED\tSHARE\tWALL\tFULL RUN\n")
	for _, one := range r.Cases {
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
