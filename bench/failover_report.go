package bench

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"

	"github.com/bellwether-compute/bellwether/jobs"
)

// FailoverReport is what Failover measured.
type FailoverReport struct {
	How       How         `json:"how"`
	Workers   int         `json:"workers"`
	Slots     int         `json:"slots"` // of all of them
	Job       string      `json:"job"`
	Params    jobs.Params `json:"params"`
	Failovers []Outage    `json:"failovers"`

	// By the names of what is summed up, which are those of an Outage; what is known
	// of no failover is left out.
	Steps      map[string]Summary `json:"steps"`
	Throughput map[string]Summary `json:"throughput,omitempty"`
	Repeated   map[string]Total   `json:"repeated,omitempty"`

	// Windows are of 250 ms each, the first from the blow on: what the failovers' shares
	// in that window are.
	Windows []Summary `json:"windows,omitempty"`

	// Of the whole job. They are left out where it was not run to its end.
	Partitions uint64 `json:"partitions,omitempty"`
	Executed   uint64 `json:"executed,omitempty"` // executions that were reported
	SHA256     string `json:"sha256,omitempty"`
	Same       *bool  `json:"same,omitempty"` // as in one process
}

// Summary sums up those failovers of which something is known.
type Summary struct {
	Spread
	Of int `json:"of"` // how many these are
}

// Total is a summary of what can be added up.
type Total struct {
	Summary
	Total float64 `json:"total"`
}

// step is a part of a failover.
type step struct {
	name, is, short string
	of              func(Outage) *float64
}

// steps are what a failover consists of, in order. What is nil is not known. Those
// without a short name are sums of the others.
var steps = []step{
	{"detect", "the leader is believed dead", "DETECT", func(o Outage) *float64 { return o.Detect }},
	{"elect", "the lease is held", "ELECT", func(o Outage) *float64 { return &o.Elect }},
	{"fence", "no earlier leader can write", "FENCE", func(o Outage) *float64 { return &o.Fence }},
	{"resume", "work can be given", "RESUME", func(o Outage) *float64 { return &o.Resume }},
	{"first_assignment", "a worker is given work", "WORK", func(o Outage) *float64 { return o.FirstAssignment }},
	{"first_result", "a new result is in (0: it already was)", "RESULT", func(o Outage) *float64 { return o.FirstResult }},
	{"until_ready", "from the blow until work can be given", "", func(o Outage) *float64 { return &o.Ready }},
	{"until_assigned", "from the blow until a worker is given work", "", func(o Outage) *float64 { return o.Assigned }},
}

// shares are what throughput is told by.
var shares = []struct {
	name, is string
	of       func(Shares) float64
}{
	{"before", "in the second before", func(s Shares) float64 { return s.Before }},
	{"after", "in all windows after", func(s Shares) float64 { return s.After }},
	{"lowest", "in the slowest window of 250 ms", func(s Shares) float64 { return s.Lowest }},
	{"lowest_undisturbed", "in the slowest of as many undisturbed", func(s Shares) float64 { return s.LowestUndisturbed }},
}

// repeats are what was done in vain. What is nil is not known.
var repeats = []struct {
	name, is string
	of       func(Repeats) *float64
}{
	{"lost_worker_seconds", "work, in worker-seconds", func(r Repeats) *float64 { return r.Lost }},
	{"executed_again", "partitions of the leader that was hit", func(r Repeats) *float64 { return new(float64(r.Again)) }},
	{"repeated", "partitions of others", func(r Repeats) *float64 { return new(float64(r.Others)) }},
}

func (r *FailoverReport) summarize() {
	r.Steps, r.Throughput, r.Repeated, r.Windows = map[string]Summary{}, map[string]Summary{}, map[string]Total{}, nil
	for _, s := range steps {
		if values := r.known(s.of); len(values) > 0 {
			r.Steps[s.name] = Summary{spreadOf(values), len(values)}
		}
	}
	for _, s := range shares {
		values := r.known(func(o Outage) *float64 {
			if o.Shares == nil {
				return nil
			}
			return new(s.of(*o.Shares))
		})
		if len(values) > 0 {
			r.Throughput[s.name] = Summary{spreadOfShares(values), len(values)}
		}
	}
	for _, s := range repeats {
		values := r.known(func(o Outage) *float64 {
			if o.Repeats == nil {
				return nil
			}
			return s.of(*o.Repeats)
		})
		if len(values) > 0 {
			total := 0.0
			for _, v := range values {
				total += v
			}
			r.Repeated[s.name] = Total{Summary{spreadOf(values), len(values)}, total}
		}
	}
	for i := 0; ; i++ {
		values := r.known(func(o Outage) *float64 {
			if o.Shares == nil || i >= len(o.Windows) {
				return nil
			}
			return &o.Windows[i]
		})
		if len(values) == 0 {
			return
		}
		r.Windows = append(r.Windows, Summary{spreadOfShares(values), len(values)})
	}
}

// known is something of all failovers of which it is known.
func (r *FailoverReport) known(of func(Outage) *float64) []float64 {
	var values []float64
	for _, o := range r.Failovers {
		if v := of(o); v != nil {
			values = append(values, *v)
		}
	}
	return values
}

// Table writes the report for people, with tabs between columns.
func (r FailoverReport) Table(w io.Writer) {
	fmt.Fprintf(w, "%s\n", r.title())
	r.tableSteps(w)
	r.tableThroughput(w)
	r.tableRepeated(w)
	if r.Same != nil {
		fmt.Fprintf(w, "\nbytes\t%s\n", map[bool]string{true: "the same as in one process", false: "DIFFER from those of one process"}[*r.Same])
	}
	r.tableEach(w)
}

func (r FailoverReport) title() string {
	return fmt.Sprintf("%s by %s, %s with %s in all",
		english.Plural(len(r.Failovers), "failover", ""), r.How, english.Plural(r.Workers, "worker", ""), english.Plural(r.Slots, "slot", ""))
}

func (r FailoverReport) tableSteps(w io.Writer) {
	fmt.Fprintf(w, "\nSTEP\tMEDIAN\tP95\tWORST\n")
	for _, s := range steps {
		v, ok := r.Steps[s.name]
		if !ok {
			fmt.Fprintf(w, "%s\t-\t-\t-\n", s.is)
			continue
		}
		fmt.Fprintf(w, "%s\t%.1f ms\t%.1f ms\t%.1f ms%s\n", s.is, v.Median, v.P95, v.Worst, r.ofSome(v))
	}
}

func (r FailoverReport) tableThroughput(w io.Writer) {
	if len(r.Throughput) == 0 {
		return
	}
	fmt.Fprintf(w, "\nTHROUGHPUT, AS A SHARE OF THE SURVIVORS'\tMEDIAN\tP95\tWORST\n")
	for _, s := range shares {
		v := r.Throughput[s.name]
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%.2f%s\n", s.is, v.Median, v.P95, v.Worst, r.ofSome(v))
	}

	const perSecond = int(time.Second / window)
	fmt.Fprintf(w, "\nMEDIAN, P95 AND WORST IN WINDOWS FROM\t+0 ms\t+250 ms\t+500 ms\t+750 ms\n")
	for i, v := range r.Windows {
		if i%perSecond == 0 {
			fmt.Fprintf(w, "%d s after the blow", i/perSecond)
		}
		fmt.Fprintf(w, "\t%.2f %.2f %.2f", v.Median, v.P95, v.Worst)
		if i%perSecond == perSecond-1 || i == len(r.Windows)-1 {
			fmt.Fprintln(w)
		}
	}
}

func (r FailoverReport) tableRepeated(w io.Writer) {
	if len(r.Repeated) == 0 {
		return
	}
	fmt.Fprintf(w, "\nDONE IN VAIN\tMEDIAN\tP95\tWORST\tTOTAL\n")
	for _, s := range repeats {
		v, ok := r.Repeated[s.name]
		if !ok {
			fmt.Fprintf(w, "%s\t-\t-\t-\t-\n", s.is)
			continue
		}
		digits := 0
		if s.name == "lost_worker_seconds" {
			digits = 3
		}
		fmt.Fprintf(w, "%s\t%.*f\t%.*f\t%.*f\t%.*f%s\n",
			s.is, digits, v.Median, digits, v.P95, digits, v.Worst, digits, v.Total, r.ofSome(v.Summary))
	}
}

// ofSome says of how many failovers something is known, where that is not all.
func (r FailoverReport) ofSome(v Summary) string {
	if v.Of == len(r.Failovers) {
		return ""
	}
	return fmt.Sprintf("\tin %d of %d", v.Of, len(r.Failovers))
}

// tableEach has a row for each failover.
func (r FailoverReport) tableEach(w io.Writer) {
	fmt.Fprintf(w, "\nEACH, IN MS")
	each := slices.Clone(steps)
	each = slices.DeleteFunc(each, func(s step) bool { return s.short == "" })
	for _, s := range each {
		fmt.Fprintf(w, "\t%s", s.short)
	}
	throughput, repeated := len(r.Throughput) > 0, len(r.Repeated) > 0
	if throughput {
		fmt.Fprintf(w, "\tBEFORE\tAFTER\tSLOWEST")
	}
	if repeated {
		fmt.Fprintf(w, "\tLOST S\tAGAIN\tOTHERS")
	}
	fmt.Fprintln(w)
	for i, o := range r.Failovers {
		fmt.Fprint(w, i+1)
		for _, s := range each {
			fmt.Fprintf(w, "\t%s", ifKnown(1, s.of(o)))
		}
		switch {
		case o.Shares != nil:
			fmt.Fprintf(w, "\t%.2f\t%.2f\t%.2f", o.Before, o.After, o.Lowest)
		case throughput:
			fmt.Fprint(w, strings.Repeat("\t-", 3))
		}
		if o.Repeats != nil {
			fmt.Fprintf(w, "\t%s\t%d\t%d", ifKnown(3, o.Lost), o.Again, o.Others)
		}
		fmt.Fprintln(w)
	}
}

// ifKnown writes a value with so many digits after the point.
func ifKnown(digits int, v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.*f", digits, *v)
}
