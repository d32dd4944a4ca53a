package programs

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/bellwether-compute/bellwether/bench/peers/report"
)

// Config is the configuration of [Run].
type Config struct {
	report.Setup
	Text int64 // bytes of the text whose words are counted
}

// Result contains all measurements.
type Result struct {
	Cores    int        `json:"cores"`
	Rounds   int        `json:"rounds"`
	Contests []Measured `json:"contests"`
}

// Measured contains the measurements of a contest.
type Measured struct {
	Title  string  `json:"title"`
	Units  float64 `json:"units"`
	Unit   string  `json:"unit"`
	Target string  `json:"target"`
	Runs   []Runs  `json:"runs"`
}

// Runs contains the durations of a command in the order of the rounds.
type Runs struct {
	Name    string         `json:"name"`
	Seconds report.Figures `json:"seconds"`
}

// Run measures all contests. The order of the commands differs between rounds.
func Run(ctx context.Context, cfg Config) (Result, error) {
	r := Result{Cores: runtime.GOMAXPROCS(0), Rounds: cfg.Rounds}
	dir := filepath.Join(cfg.Dir, "programs")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return r, err
	}
	list, err := contests(ctx, cfg.Program, dir, cfg.Text)
	if err != nil {
		return r, fmt.Errorf("prepare programs: %w", err)
	}
	for _, c := range list {
		m := Measured{Title: c.title, Units: c.units, Unit: c.unit, Target: c.target}
		for _, e := range c.entries {
			m.Runs = append(m.Runs, Runs{Name: e.name})
		}
		var want []byte
		for round := range cfg.Rounds {
			for i := range c.entries {
				at := (i + round) % len(c.entries)
				e := c.entries[at]
				seconds, output, err := e.run(ctx, filepath.Join(dir, "source", "saved"))
				if err != nil {
					return r, fmt.Errorf("%s: %s: %w", c.title, e.name, err)
				}
				if want == nil && !e.differs {
					want = output
				}
				if !e.differs && !bytes.Equal(output, want) {
					return r, fmt.Errorf("%s: the output of %s differs from that of an earlier command: %.100q, want %.100q", c.title, e.name, output, want)
				}
				cfg.Progress("%s, round %d: %s %.2f s", c.title, round+1, e.name, seconds)
				m.Runs[at].Seconds = append(m.Runs[at].Seconds, seconds)
			}
		}
		r.Contests = append(r.Contests, m)
	}
	return r, os.RemoveAll(dir)
}

// Tables returns a table for each contest.
func (r Result) Tables() (tables []report.Table) {
	for _, m := range r.Contests {
		t := report.Table{Title: m.Title, Head: []string{"", "seconds", m.Unit + "/s", "seconds / " + m.Runs[0].Name + "'s"}}
		for _, runs := range m.Runs {
			seconds := runs.Seconds.Median()
			t.Add(runs.Name, report.Number(seconds), report.Number(m.Units/seconds), report.Number(report.Ratios(runs.Seconds, m.Runs[0].Seconds).Median()))
		}
		t.Notes = []string{fmt.Sprintf("Target: %s. %d cores, %d rounds; medians. The time is that of the whole command.", m.Target, r.Cores, r.Rounds)}
		tables = append(tables, t)
	}
	return tables
}
