package bench

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/bellwether-compute/bellwether/bench/plot"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/field"
	"github.com/bellwether-compute/bellwether/jobs/scan"
)

// ScanConfig is the configuration of [Scan].
type ScanConfig struct {
	File    string // path of the file that Scan writes, reads and removes; the file must not exist
	Rows    uint64
	Between int // number of columns between the key and the number, of 9 characters
	Slots   int
	Rounds  int

	Blobs    *ScanBlobs    // configuration of the comparison with a download of blobs, or nil
	Failover *ScanFailover // configuration of the scan during which a leader is killed, or nil
	Groups   *ScanGroups   // configuration of the scan with many groups, or nil

	Progress func(doing string, done, all uint64) // function that is called with the current activity; may be called from several goroutines
}

func (c ScanConfig) validate() error {
	errs := []error{
		field.Check(c.Rows >= 1, "Rows", c.Rows, "at least 1"),
		field.Check(c.Between >= 0, "Between", c.Between, "at least 0"),
		field.Check(c.Slots >= 1, "Slots", c.Slots, "at least 1"),
		field.Check(c.Rounds >= 1, "Rounds", c.Rounds, "at least 1"),
	}
	if c.Blobs != nil {
		errs = append(errs, field.Check(c.Blobs.Count >= 1, "Blobs.Count", c.Blobs.Count, "at least 1"))
	}
	if c.Failover != nil {
		errs = append(errs, field.Check(c.Failover.Workers >= 2, "Failover.Workers", c.Failover.Workers, "at least 2"))
	}
	if c.Groups != nil {
		errs = append(errs, field.Check(c.Groups.Keys >= 1, "Groups.Keys", c.Groups.Keys, "at least 1"))
	}
	return cmp.Or(errs...)
}

// ScanReport is the result of Scan. Times are in seconds and for the whole file.
type ScanReport struct {
	Rows  uint64   `json:"rows"`
	Bytes int64    `json:"bytes"`
	Keys  int      `json:"keys"`
	Slots int      `json:"slots"`
	Scan  ScanTime `json:"scan"`
	Loop  ScanTime `json:"loop"`
	Ratio float64  `json:"ratio"` // processor time of the loop divided by the processor time of the scan

	Blobs    *ScanBlobsReport    `json:"blobs,omitempty"`
	Failover *ScanFailoverReport `json:"failover,omitempty"`
	Groups   *ScanGroupsReport   `json:"groups,omitempty"`
}

// ScanTime contains the medians of the times of all rounds.
type ScanTime struct {
	Wall float64 `json:"wall_s"`
	CPU  float64 `json:"cpu_s"` // processor time in user mode and in system mode
}

// stations is the number of different keys in the file.
const stations = 413

// Scan compares the job scan with a loop that is written by hand for one query and one file format.
// The query is the minimum, mean and maximum of a column by key. The job and the loop run in this
// process with the same number of goroutines and must compute the same result. The job and the loop
// read the file in pieces. The report contains processor times, because they depend less on other
// load of the machine than elapsed time.
func Scan(ctx context.Context, c ScanConfig) (r ScanReport, err error) {
	if c.Progress == nil {
		c.Progress = func(string, uint64, uint64) {}
	}
	if err := c.validate(); err != nil {
		return r, fmt.Errorf("configure scan benchmark: %w", err)
	}
	if _, err := cpuOf(os.Getpid()); err != nil {
		return r, err
	}
	r = ScanReport{Rows: c.Rows, Slots: c.Slots}
	defer func() {
		if removeErr := os.Remove(c.File); !errors.Is(removeErr, os.ErrNotExist) {
			err = errors.Join(err, removeErr)
		}
	}()
	if r.Bytes, err = c.write(ctx); err != nil {
		return r, err
	}
	var scans, loops scanTimes
	for round := range c.Rounds {
		c.Progress("scan and loop", uint64(round), uint64(c.Rounds))
		var byScan, byLoop map[string]measured
		if _, err = scans.measure(func() (err error) {
			byScan, err = c.scan(ctx, c.File)
			return err
		}); err != nil {
			return r, err
		}
		if _, err = loops.measure(func() (err error) {
			byLoop, err = scanByHand(c.File, r.Bytes, c.Between, c.Slots)
			return err
		}); err != nil {
			return r, err
		}
		r.Keys = len(byLoop)
		if err := sameMeasured(byScan, byLoop); err != nil {
			return r, err
		}
	}
	r.Scan, r.Loop = scans.medians(), loops.medians()
	r.Ratio = r.Loop.CPU / r.Scan.CPU
	if c.Blobs != nil {
		if r.Blobs, err = c.scanBlobs(ctx); err != nil {
			return r, fmt.Errorf("scan blobs: %w", err)
		}
	}
	if c.Failover != nil {
		if r.Failover, err = c.scanFailover(ctx); err != nil {
			return r, fmt.Errorf("scan while the leader is killed: %w", err)
		}
	}
	if c.Groups != nil {
		if r.Groups, err = c.scanGroups(ctx); err != nil {
			return r, fmt.Errorf("scan with many groups: %w", err)
		}
	}
	return r, nil
}

// write writes the input file. Each run writes the same rows.
func (c ScanConfig) write(ctx context.Context) (size int64, err error) {
	f, err := os.OpenFile(c.File, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriterSize(f, 1<<20)
	n := uint64(0)
	for line := range c.lines {
		size += int64(len(line))
		if _, err := w.Write(line); err != nil {
			return size, err
		}
		if n == c.Rows {
			break
		}
		if n%(1<<20) == 0 {
			if ctx.Err() != nil {
				return size, context.Cause(ctx)
			}
			c.Progress("writing the file", n, c.Rows)
		}
		n++
	}
	return size, w.Flush()
}

// lines yields the header of the input and then rows without end. A line is valid until the next
// line is yielded.
func (c ScanConfig) lines(yield func(line []byte) bool) {
	random := rand.New(rand.NewPCG(1, 2))
	between := strings.Repeat("some text;", c.Between)
	line := []byte("station;")
	for i := range c.Between {
		line = fmt.Appendf(line, "column%d;", i+1)
	}
	line = append(line, "temperature\n"...)
	for yield(line) {
		line = append(strconv.AppendInt(append(line[:0], "Station "...), int64(random.IntN(stations)), 10), ';')
		line = append(line, between...)
		line = append(strconv.AppendFloat(line, float64(random.IntN(1400)-500)/10, 'f', 1, 64), '\n')
	}
}

// measured contains the minimum, mean and maximum of one key.
type measured struct{ min, mean, max float64 }

func sameMeasured(byScan, byLoop map[string]measured) error {
	if len(byScan) != len(byLoop) {
		return fmt.Errorf("the scan has %d keys, the loop %d", len(byScan), len(byLoop))
	}
	for key, want := range byLoop {
		if got := byScan[key]; got != want {
			return fmt.Errorf("key %q: the scan has %+v, the loop %+v", key, got, want)
		}
	}
	return nil
}

func scanJob(input string) (job jobs.Job, params jobs.Params, err error) {
	job = jobs.MustNew(scan.Definition)
	params, err = job.Params(nil, "input="+input, "format=csv", "delimiter=;", "by=station",
		"aggregate=min(temperature),mean(temperature),max(temperature)")
	return job, params, err
}

// grant allows jobs the folder of the file and the blobs.
func (c ScanConfig) grant() jobs.Grant {
	return jobs.Grant{Files: []string{filepath.Dir(c.File)}, Containers: []string{scanContainer}}
}

// scan runs the job scan over an input and returns its result by key.
func (c ScanConfig) scan(ctx context.Context, input string) (map[string]measured, error) {
	job, params, err := scanJob(input)
	if err != nil {
		return nil, err
	}
	done, err := jobs.Local{Slots: c.Slots, Grant: c.grant()}.Run(ctx, job, params)
	if err != nil {
		return nil, err
	}
	var result struct{ Rows [][4]json.RawMessage }
	if err := json.Unmarshal(done.Result, &result); err != nil {
		return nil, err
	}
	all := map[string]measured{}
	for _, row := range result.Rows {
		var key, least, most string
		var mean float64
		if err := errors.Join(json.Unmarshal(row[0], &key), json.Unmarshal(row[1], &least), json.Unmarshal(row[2], &mean), json.Unmarshal(row[3], &most)); err != nil {
			return nil, err
		}
		low, lowErr := strconv.ParseFloat(least, 64)
		high, highErr := strconv.ParseFloat(most, 64)
		if err := errors.Join(lowErr, highErr); err != nil {
			return nil, err
		}
		all[key] = measured{low, mean, high}
	}
	return all, nil
}

// scanTimes contains the times of all rounds.
type scanTimes struct{ wall, cpu []float64 }

// measure calls the function do and returns its duration in seconds.
func (t *scanTimes) measure(do func() error) (wall float64, err error) {
	before, err := cpuOf(os.Getpid())
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := do(); err != nil {
		return 0, err
	}
	wall = time.Since(began).Seconds()
	after, err := cpuOf(os.Getpid())
	t.wall, t.cpu = append(t.wall, wall), append(t.cpu, (after-before).Seconds())
	return wall, err
}

func (t *scanTimes) medians() ScanTime { return ScanTime{Median(t.wall), Median(t.cpu)} }

// Table writes the report as a table with tabs between columns.
func (r ScanReport) Table(w io.Writer) {
	fmt.Fprintf(w, "%s rows, %s bytes, %d keys, %d slots\n\n", about(float64(r.Rows)), about(float64(r.Bytes)), r.Keys, r.Slots)
	fmt.Fprintf(w, "\tWALL\tPROCESSOR TIME\tPER ROW\n")
	for _, line := range []struct {
		name string
		time ScanTime
	}{{"scan", r.Scan}, {"loop by hand", r.Loop}} {
		fmt.Fprintf(w, "%s\t%.2f s\t%.2f s\t%.0f ns\n", line.name, line.time.Wall, line.time.CPU, line.time.CPU/float64(r.Rows)*1e9)
	}
	fmt.Fprintf(w, "\nspeed of the scan by processor time\t%.2f of the loop\n", r.Ratio)
	if r.Blobs != nil {
		r.Blobs.table(w)
	}
	if r.Failover != nil {
		r.Failover.table(w)
	}
	if r.Groups != nil {
		r.Groups.table(w)
	}
}

// Figure draws the processor time of the scan and of the loop.
func (r ScanReport) Figure() plot.Figure {
	return plot.Figure{
		Title: fmt.Sprintf("Scan of %s rows", about(float64(r.Rows))),
		Panels: []plot.Panel{{
			X: plot.Axis{Label: "1: scan, 2: loop by hand"}, Y: plot.Axis{Label: "seconds of processor time"},
			Lines: []plot.Line{{Color: plot.Blue, Dots: true, Points: []plot.Point{{X: 1, Y: r.Scan.CPU}, {X: 2, Y: r.Loop.CPU}}}},
		}},
	}
}
