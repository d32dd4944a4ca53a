package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/bellwether-compute/bellwether/bench/peers/aggregate"
	"github.com/bellwether-compute/bellwether/bench/peers/failover"
	"github.com/bellwether-compute/bellwether/bench/peers/programs"
	"github.com/bellwether-compute/bellwether/bench/peers/report"
	"github.com/bellwether-compute/bellwether/bench/peers/rounds"
	"github.com/bellwether-compute/bellwether/bench/peers/scan"
	"github.com/bellwether-compute/bellwether/bench/peers/throughput"
)

type results struct {
	Began      time.Time          `json:"began"`
	Machine    string             `json:"machine"`
	Command    string             `json:"command"`
	Throughput *throughput.Result `json:"throughput,omitempty"`
	Failover   *failover.Result   `json:"failover,omitempty"`
	Aggregate  *aggregate.Result  `json:"aggregate,omitempty"`
	Rounds     *rounds.Result     `json:"rounds,omitempty"`
	Scan       *scan.Result       `json:"scan,omitempty"`
	Programs   *programs.Result   `json:"programs,omitempty"`

	tables []report.Table
}

func newResults() results {
	return results{
		Began:   time.Now().UTC().Truncate(time.Second),
		Machine: report.Machine() + ", " + runtime.Version(),
		Command: commandLine(),
	}
}

// commandLine returns the command line of this process, quoted for a shell.
func commandLine() string {
	line := os.Args[0]
	for _, arg := range os.Args[1:] {
		if strings.ContainsAny(arg, " ,;'\"$*") {
			arg = strconv.Quote(arg)
		}
		line += " " + arg
	}
	return line
}

// print writes tables, a section of a Markdown file, or JSON with every measurement.
func (r results) print(w io.Writer, format string) error {
	switch format {
	case "json":
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(r)
	case "markdown":
		if _, err := fmt.Fprintf(w, "Measured %s on %s, by\n\n    $ %s\n\n", r.Began.Format(time.DateOnly), r.Machine, r.Command); err != nil {
			return err
		}
		for _, t := range r.tables {
			if err := t.Markdown(w); err != nil {
				return err
			}
		}
		return nil
	}
	for _, t := range r.tables {
		if err := t.Text(w); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w, r.Machine)
	return err
}
