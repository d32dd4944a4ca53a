package bench

import (
	"fmt"
	"io"
	"slices"

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

	Steps      map[string]Spread `json:"steps"`      // by the names of the steps, of those that took place
	Throughput map[string]Spread `json:"throughput"` // before, after, lowest and lowest_undisturbed
	Lost       Spread            `json:"lost_worker_seconds"`

	// Of the whole job. They are left out where it was not run to its end.
	Partitions uint64 `json:"partitions,omitempty"`
	Executed   uint64 `json:"executed,omitempty"` // executions that were reported
	SHA256     string `json:"sha256,omitempty"`
	Same       *bool  `json:"same,omitempty"` // as in one process
}

// steps are what a failover consists of, in order.
var steps = []struct {
	name, is string
	of       func(Outage) float64
}{
	{"detect", "the leader is believed dead", func(o Outage) float64 { return o.Detect }},
	{"elect", "the lease is held", func(o Outage) float64 { return o.Elect }},
	{"fence", "no earlier leader can write", func(o Outage) float64 { return o.Fence }},
	{"resume", "work can be given", func(o Outage) float64 { return o.Resume }},
	{"first_assignment", "a worker is given work", func(o Outage) float64 { return o.FirstAssignment }},
	{"first_result", "a worker reports something new", func(o Outage) float64 { return o.FirstResult }},
	{"until_ready", "from the blow until work can be given", func(o Outage) float64 { return o.Ready }},
	{"until_assigned", "from the blow until a worker is given work", func(o Outage) float64 { return o.Assigned }},
}

// shares are what throughput is told by.
var shares = []struct {
	name, is string
	of       func(Outage) float64
}{
	{"before", "in the second before", func(o Outage) float64 { return o.Before }},
	{"after", "in all windows after", func(o Outage) float64 { return o.After }},
	{"lowest", "in the slowest window of 250 ms", func(o Outage) float64 { return o.Lowest }},
	{"lowest_undisturbed", "in the slowest of as many undisturbed", func(o Outage) float64 { return o.LowestUndisturbed }},
}

func (r *FailoverReport) summarize() {
	each := func(of func(Outage) float64) []float64 {
		var values []float64
		for _, o := range r.Failovers {
			values = append(values, of(o))
		}
		return values
	}
	r.Steps, r.Throughput = map[string]Spread{}, map[string]Spread{}
	for _, s := range steps {
		r.Steps[s.name] = spreadOf(slices.DeleteFunc(each(s.of), func(ms float64) bool { return ms == 0 }))
	}
	for _, s := range shares {
		r.Throughput[s.name] = spreadOfShares(each(s.of))
	}
	r.Lost = spreadOf(each(func(o Outage) float64 { return o.Lost }))
}

// Table writes the report for people, with tabs between columns.
func (r FailoverReport) Table(w io.Writer) {
	fmt.Fprintf(w, "%d times %s, %d workers with %d slots\n\n", len(r.Failovers), r.How, r.Workers, r.Slots)
	fmt.Fprintf(w, "STEP\tMEDIAN\tP95\tWORST\n")
	for _, s := range steps {
		v := r.Steps[s.name]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", s.is, stepTook(v.Median), stepTook(v.P95), stepTook(v.Worst))
	}
	fmt.Fprintf(w, "\nTHROUGHPUT, AS A SHARE OF THE SURVIVORS'\tMEDIAN\tP95\tWORST\n")
	for _, s := range shares {
		v := r.Throughput[s.name]
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%.2f\n", s.is, v.Median, v.P95, v.Worst)
	}
	fmt.Fprintf(w, "\nlost work, in worker-seconds\t%.3f\t%.3f\t%.3f\n", r.Lost.Median, r.Lost.P95, r.Lost.Worst)
	var again, repeated uint64
	for _, o := range r.Failovers {
		again, repeated = again+o.Again, repeated+o.Repeated
	}
	fmt.Fprintf(w, "partitions executed again\t%d of the leader that was hit, %d others\n", again, repeated)
	if r.Same != nil {
		fmt.Fprintf(w, "bytes\t%s\n", map[bool]string{true: "the same as in one process", false: "DIFFER from those of one process"}[*r.Same])
	}
}

// stepTook writes how long a step took. One of no time did not take place.
func stepTook(ms float64) string {
	if ms == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f ms", ms)
}
