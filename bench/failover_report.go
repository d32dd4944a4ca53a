package bench

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"

	"github.com/bellwether-compute/bellwether/jobs"
)

// FailoverReport is the result of Failover.
type FailoverReport struct {
	How       How         `json:"how"`
	Workers   int         `json:"workers"`
	Slots     int         `json:"slots"` // sum of the slots of all workers
	Job       string      `json:"job"`
	Params    jobs.Params `json:"params"`
	Failovers []Outage    `json:"failovers"`

	// The maps Steps, Throughput and Repeats contain a summary for each value of an Outage. The
	// keys are the JSON names of the values. A value that is unknown for every failover is omitted.
	Steps      map[string]Summary `json:"steps"`
	Throughput map[string]Summary `json:"throughput,omitempty"`
	Repeated   map[string]Total   `json:"repeated,omitempty"`

	// Windows has a summary over all failovers for each throughput window of 250 ms. The first
	// window begins with the loss of the leader.
	Windows []Summary `json:"windows,omitempty"`

	// The fields from Partitions on describe the whole job. Figures of the whole job are omitted if
	// the job did not run to its end.
	Partitions uint64 `json:"partitions,omitempty"`
	Executed   uint64 `json:"executed,omitempty"` // number of reported executions of partitions
	SHA256     string `json:"sha256,omitempty"`
	Same       *bool  `json:"same,omitempty"` // true if the result is the same as in one process, byte for byte
}

// Summary summarizes a value over the failovers for which the value is known.
type Summary struct {
	Spread
	Of int `json:"of"` // number of failovers for which the value is known
}

// Total is a summary of a value, together with the sum of the value over the failovers.
type Total struct {
	Summary
	Total float64 `json:"total"`
}

// stepRows and the other lists of rows describe the rows of the report's tables. A row shows one
// value of an Outage, and the field name is the value's JSON name. A row with a column is a step,
// which is also shown for each failover. A row of stepRows without a column is a sum of steps.
var (
	stepRows = []struct{ name, label, column string }{
		{"detect", "the leader is believed dead", "DETECT"},
		{"elect", "the lease is held", "ELECT"},
		{"fence", "no earlier leader can write", "FENCE"},
		{"resume", "work can be assigned", "RESUME"},
		{"first_assignment", "a worker is assigned work", "WORK"},
		{"first_result", "a new result has arrived (0: before that)", "RESULT"},
		{"until_ready", "from the loss until work can be assigned", ""},
		{"until_assigned", "from the loss until a worker is assigned work", ""},
	}
	throughputRows = []struct{ name, label string }{
		{"before", "in the second before"},
		{"after", "in all windows after"},
		{"lowest", "in the slowest window of 250 ms"},
		{"lowest_undisturbed", "in the slowest of as many undisturbed windows"},
	}
	repeatedRows = []struct {
		name, label string
		digits      int
	}{
		{"lost_worker_seconds", "lost work, in worker-seconds", 3},
		{"executed_again", "partitions of the lost leader", 0},
		{"repeated", "partitions of other workers", 0},
	}
)

// steps returns the values of stepRows by name. Unknown values are nil.
func (o Outage) steps() map[string]*float64 {
	return map[string]*float64{
		"detect": o.Detect, "elect": &o.Elect, "fence": &o.Fence, "resume": &o.Resume,
		"first_assignment": o.FirstAssignment, "first_result": o.FirstResult,
		"until_ready": &o.Ready, "until_assigned": o.Assigned,
	}
}

func (r *FailoverReport) summarize() {
	steps, throughput, repeated := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
	var windows [][]float64
	add := func(to map[string][]float64, name string, v float64) { to[name] = append(to[name], v) }
	for _, o := range r.Failovers {
		for name, v := range o.steps() {
			if v != nil {
				add(steps, name, *v)
			}
		}
		if o.Shares != nil {
			add(throughput, "before", o.Before)
			add(throughput, "after", o.After)
			add(throughput, "lowest", o.Lowest)
			add(throughput, "lowest_undisturbed", o.LowestUndisturbed)
			for i, v := range o.Windows {
				if i == len(windows) {
					windows = append(windows, nil)
				}
				windows[i] = append(windows[i], v)
			}
		}
		if o.Repeats != nil {
			add(repeated, "executed_again", float64(o.Again))
			add(repeated, "repeated", float64(o.Others))
			if o.Lost != nil {
				add(repeated, "lost_worker_seconds", *o.Lost)
			}
		}
	}
	r.Steps, r.Throughput, r.Repeated, r.Windows = map[string]Summary{}, map[string]Summary{}, map[string]Total{}, nil
	for name, values := range steps {
		r.Steps[name] = Summary{spreadOf(values), len(values)}
	}
	for name, values := range throughput {
		r.Throughput[name] = Summary{spreadOfShares(values), len(values)}
	}
	for name, values := range repeated {
		r.Repeated[name] = Total{Summary{spreadOf(values), len(values)}, sum(values)}
	}
	for _, values := range windows {
		r.Windows = append(r.Windows, Summary{spreadOfShares(values), len(values)})
	}
}

// Table writes the report as tables with tabs between columns.
func (r FailoverReport) Table(w io.Writer) {
	fmt.Fprintf(w, "%s\n", r.title())
	r.tableSteps(w)
	if len(r.Throughput) > 0 {
		r.tableThroughput(w)
	}
	if len(r.Repeated) > 0 {
		r.tableRepeated(w)
	}
	if r.Same != nil {
		fmt.Fprintf(w, "\nbytes\t%s\n", map[bool]string{true: "the same as in one process", false: "DIFFER from those of one process"}[*r.Same])
	}
	r.tableEach(w)
}

func (r FailoverReport) title() string {
	return fmt.Sprintf("%s by %s, %s with %s in all", english.Plural(len(r.Failovers), "failover", ""), r.How,
		english.Plural(r.Workers, "worker", ""), english.Plural(r.Slots, "slot", ""))
}

func (r FailoverReport) tableSteps(w io.Writer) {
	fmt.Fprintf(w, "\nSTEP\tMEDIAN\tP95\tWORST\n")
	for _, row := range stepRows {
		if v, ok := r.Steps[row.name]; ok {
			fmt.Fprintf(w, "%s\t%.1f ms\t%.1f ms\t%.1f ms%s\n", row.label, v.Median, v.P95, v.Worst, r.known(v))
		} else {
			fmt.Fprintf(w, "%s\t-\t-\t-\n", row.label)
		}
	}
}

func (r FailoverReport) tableThroughput(w io.Writer) {
	fmt.Fprintf(w, "\nTHROUGHPUT, AS A SHARE OF THE SURVIVORS'\tMEDIAN\tP95\tWORST\n")
	for _, row := range throughputRows {
		v := r.Throughput[row.name]
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%.2f%s\n", row.label, v.Median, v.P95, v.Worst, r.known(v))
	}

	const perSecond = int(time.Second / window)
	fmt.Fprintf(w, "\nMEDIAN, P95 AND WORST IN WINDOWS FROM\t+0 ms\t+250 ms\t+500 ms\t+750 ms\n")
	for i, v := range r.Windows {
		if i%perSecond == 0 {
			fmt.Fprintf(w, "%d s after the loss", i/perSecond)
		}
		fmt.Fprintf(w, "\t%.2f %.2f %.2f", v.Median, v.P95, v.Worst)
		if i%perSecond == perSecond-1 || i == len(r.Windows)-1 {
			fmt.Fprintln(w)
		}
	}
}

func (r FailoverReport) tableRepeated(w io.Writer) {
	fmt.Fprintf(w, "\nREPEATED WORK\tMEDIAN\tP95\tWORST\tTOTAL\n")
	for _, row := range repeatedRows {
		if v, ok := r.Repeated[row.name]; ok {
			fmt.Fprintf(w, "%s\t%.*f\t%.*f\t%.*f\t%.*f%s\n",
				row.label, row.digits, v.Median, row.digits, v.P95, row.digits, v.Worst, row.digits, v.Total, r.known(v.Summary))
		} else {
			fmt.Fprintf(w, "%s\t-\t-\t-\t-\n", row.label)
		}
	}
}

// known returns a note if a value is not known for all failovers.
func (r FailoverReport) known(v Summary) string {
	if v.Of == len(r.Failovers) {
		return ""
	}
	return fmt.Sprintf("\tin %d of %d", v.Of, len(r.Failovers))
}

func (r FailoverReport) tableEach(w io.Writer) {
	fmt.Fprintf(w, "\nEACH, IN MS")
	for _, row := range stepRows {
		if row.column != "" {
			fmt.Fprintf(w, "\t%s", row.column)
		}
	}
	throughput := len(r.Throughput) > 0
	if throughput {
		fmt.Fprintf(w, "\tBEFORE\tAFTER\tSLOWEST")
	}
	if len(r.Repeated) > 0 {
		fmt.Fprintf(w, "\tLOST S\tAGAIN\tOTHERS")
	}
	fmt.Fprintln(w)
	for i, o := range r.Failovers {
		fmt.Fprint(w, i+1)
		values := o.steps()
		for _, row := range stepRows {
			if row.column != "" {
				fmt.Fprintf(w, "\t%s", numberOrDash(1, values[row.name]))
			}
		}
		switch {
		case o.Shares != nil:
			fmt.Fprintf(w, "\t%.2f\t%.2f\t%.2f", o.Before, o.After, o.Lowest)
		case throughput:
			fmt.Fprint(w, strings.Repeat("\t-", 3))
		}
		if o.Repeats != nil {
			fmt.Fprintf(w, "\t%s\t%d\t%d", numberOrDash(3, o.Lost), o.Again, o.Others)
		}
		fmt.Fprintln(w)
	}
}

func numberOrDash(digits int, v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.*f", digits, *v)
}
