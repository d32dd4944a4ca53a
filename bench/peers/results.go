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

	"github.com/bellwether-compute/bellwether/bench/peers/failover"
	"github.com/bellwether-compute/bellwether/bench/peers/report"
	"github.com/bellwether-compute/bellwether/bench/peers/throughput"
)

// results are what was measured, and where.
type results struct {
	Began      time.Time          `json:"began"`
	Machine    string             `json:"machine"`
	Command    string             `json:"command"`
	Throughput *throughput.Result `json:"throughput,omitempty"`
	Failover   *failover.Result   `json:"failover,omitempty"`
}

func newResults() results {
	return results{
		Began:   time.Now().UTC().Truncate(time.Second),
		Machine: machine(),
		Command: commandLine(),
	}
}

// commandLine is this program's, as one would type it.
func commandLine() string {
	line := "peers"
	for _, arg := range os.Args[1:] {
		if strings.ContainsAny(arg, " ,;'\"$*") {
			arg = strconv.Quote(arg)
		}
		line += " " + arg
	}
	return line
}

// machine describes this machine as far as it says what it is.
func machine() string {
	words := []string{fmt.Sprintf("%d cores", runtime.NumCPU())}
	if model := field("/proc/cpuinfo", "model name"); model != "" {
		words = append(words, model)
	}
	if memory := field("/proc/meminfo", "MemTotal"); memory != "" {
		words = append(words, memory+" memory")
	}
	if kernel, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		words = append(words, "Linux "+strings.TrimSpace(string(kernel)))
	}
	return strings.Join(append(words, runtime.Version()), ", ")
}

// field is what a file of /proc says after a name and a colon; empty if it does not.
func field(file, name string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if key, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func (r results) tables() (all []report.Table) {
	if r.Throughput != nil {
		all = append(all, r.Throughput.Tables()...)
	}
	if r.Failover != nil {
		all = append(all, r.Failover.Tables()...)
	}
	return all
}

// print writes the results: as tables, as a section of a Markdown file, or as JSON
// with each single measurement.
func (r results) print(w io.Writer, format string) error {
	switch format {
	case "json":
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(r)
	case "markdown":
		if _, err := fmt.Fprintf(w, "## Peers\n\nMeasured %s on %s, by\n\n    %s\n\n", r.Began.Format(time.DateOnly), r.Machine, r.Command); err != nil {
			return err
		}
		for _, t := range r.tables() {
			if err := t.Markdown(w); err != nil {
				return err
			}
		}
		return nil
	}
	for _, t := range r.tables() {
		if err := t.Text(w); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w, r.Machine)
	return err
}
