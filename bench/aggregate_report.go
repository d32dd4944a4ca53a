package bench

import (
	"fmt"
	"io"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/bellwether-compute/bellwether/bench/plot"
)

// AggregateReport is the result of Aggregate.
type AggregateReport struct {
	Workers int              `json:"workers"`
	Cores   int              `json:"cores"`           // number of goroutines of the plain loop, and number of slots of the run in one process
	Shard   uint64           `json:"shard,omitempty"` // size in bytes of a shard; 0 if the job is not sharded
	Kill    Victim           `json:"kill,omitempty"`
	Points  []AggregatePoint `json:"points"`
}

// AggregatePoint is the result for one shape. Times and ratios are medians of the rounds. The
// figures of processes are from the last round.
type AggregatePoint struct {
	AggregateShape
	Loop         float64      `json:"loop_seconds"`
	Alike        float64      `json:"alike_seconds"`         // time of the loop that adds as the job does: pairwise or in shards
	Local        float64      `json:"run_seconds"`           // time of the same job in one process
	First        float64      `json:"first_cluster_seconds"` // time of the cluster's run before the first measured one
	Cluster      float64      `json:"cluster_seconds"`       // time from the submission to the durable result
	LocalRatio   float64      `json:"run_ratio"`             // median ratio of Local to the loop's time in the same round
	ClusterRatio float64      `json:"cluster_ratio"`
	OverAlike    float64      `json:"cluster_alike_ratio"` // median ratio of Cluster to Alike
	PingP99      float64      `json:"ping_p99_seconds"`    // 99th percentile over all rounds of the times until the leader answered a ping
	Epochs       int          `json:"epochs"`              // largest number of leaders in a round
	Repeated     uint64       `json:"repeated"`            // maximum over the rounds of the number of repeated executions of partitions
	Processes    []ProcessUse `json:"processes"`
	Killed       *KilledPoint `json:"killed,omitempty"`
}

// KilledPoint is the result of the runs in which a process was killed.
type KilledPoint struct {
	Seconds   float64      `json:"seconds"`
	Extra     float64      `json:"extra_seconds"` // median over the rounds of the time that the kill added
	Epochs    int          `json:"epochs"`        // largest number of leaders in a round
	Lost      float64      `json:"lost_seconds"`  // median over the rounds of the cluster's time for the repeated executions: see lost
	Repeated  uint64       `json:"repeated"`      // largest number of repeated executions of partitions in a round
	Processes []ProcessUse `json:"processes"`
}

// mostExtra is the longest time in seconds that a kill should add, apart from the time for the work that is lost
// with the process.
const mostExtra = 1

// met reports whether the kill added at most mostExtra and the time for the lost work.
func (k KilledPoint) met() bool { return k.Extra <= mostExtra+k.Lost }

// lost returns how many seconds the cluster needs to compute the partitions again that were lost with the killed
// process. Partitions that the process had computed but not yet reported are not counted.
func (r aggregateRound) lost(partitions uint64) float64 {
	return r.cluster.seconds * float64(r.killed.repeated) / float64(partitions)
}

func newAggregatePoint(s AggregateShape, rounds []aggregateRound) AggregatePoint {
	var loop, alike, local, cluster, localRatio, clusterRatio, overAlike, killed, extra, lost, pings []float64
	p := AggregatePoint{AggregateShape: s, First: rounds[0].first}
	var k KilledPoint
	for _, r := range rounds {
		loop, alike, local, cluster = append(loop, r.loop), append(alike, r.alike), append(local, r.local), append(cluster, r.cluster.seconds)
		localRatio, clusterRatio = append(localRatio, r.local/r.loop), append(clusterRatio, r.cluster.seconds/r.loop)
		overAlike = append(overAlike, r.cluster.seconds/r.alike)
		pings = append(pings, r.cluster.pings...)
		p.Epochs, p.Repeated, p.Processes = max(p.Epochs, r.cluster.epochs), max(p.Repeated, r.cluster.repeated), r.cluster.processes
		if r.killed.epochs > 0 {
			killed, extra = append(killed, r.killed.seconds), append(extra, r.killed.seconds-r.cluster.seconds)
			lost = append(lost, r.lost(s.Partitions))
			k.Epochs, k.Repeated, k.Processes = max(k.Epochs, r.killed.epochs), max(k.Repeated, r.killed.repeated), r.killed.processes
		}
	}
	p.Loop, p.Alike, p.Local, p.Cluster = Median(loop), Median(alike), Median(local), Median(cluster)
	p.LocalRatio, p.ClusterRatio, p.OverAlike = Median(localRatio), Median(clusterRatio), Median(overAlike)
	if len(pings) > 0 {
		p.PingP99 = Quantile(pings, 0.99)
	}
	if len(killed) > 0 {
		k.Seconds, k.Extra, k.Lost = Median(killed), Median(extra), Median(lost)
		p.Killed = &k
	}
	return p
}

// String returns the shape as "1,000 x 8 MB".
func (s AggregateShape) String() string {
	return fmt.Sprintf("%s x %s", humanize.Comma(int64(s.Partitions)), humanize.Bytes(s.Bytes))
}

// Merged returns the total size in bytes of the operands of all merges.
func (s AggregateShape) Merged() uint64 { return 2 * (s.Partitions - 1) * s.Bytes }

// LeaderShare returns how many more bytes the leader's process moved than the other workers'
// processes did on average, as a share of the merged bytes. The leader's process is also a worker,
// so the difference is the cost of leading. LeaderShare is at least 0.
func (p AggregatePoint) LeaderShare() float64 {
	leader, others, n := 0.0, 0.0, 0.0
	for _, u := range p.Processes {
		switch u.Role {
		case roleLeader:
			leader = float64(u.Moved)
		case roleWorker:
			others += float64(u.Moved)
			n++
		}
	}
	if n == 0 || p.Merged() == 0 {
		return 0
	}
	return max(0, (leader-others/n)/float64(p.Merged()))
}

// most returns the largest memory among the processes that have a given role.
func most(uses []ProcessUse, role string) (bytes uint64) {
	for _, u := range uses {
		if u.Role == role {
			bytes = max(bytes, u.Resident)
		}
	}
	return bytes
}

// shards says how large the shards are.
func (r AggregateReport) shards() string {
	if r.Shard == 0 {
		return ""
	}
	return " in shards of " + humanize.IBytes(r.Shard)
}

// Table writes the report as tables with tabs between columns.
func (r AggregateReport) Table(w io.Writer) {
	fmt.Fprintf(w, "sums of vectors%s: %d workers with one slot each, and plain loops of %d goroutines\n\n", r.shards(), r.Workers, r.Cores)
	alike := strings.ToUpper(AggregateConfig{Shard: r.Shard}.manner())
	fmt.Fprintf(w, "VECTORS\tLOOP\t%s\tRUN\tCLUSTER\tRUN/LOOP\tCLUSTER/LOOP\tCLUSTER/%s\tFIRST RUN\tMEMORY: LEADER\tWORKER\tNATS\tLEADER MOVES\tPINGS P99\tLEADERS\n", alike, alike)
	for _, p := range r.Points {
		fmt.Fprintf(w, "%v\t%.2f s\t%.2f s\t%.2f s\t%.2f s\t%.2f\t%.2f\t%.2f\t%.2f s\t%s\t%s\t%s\t+%.2f %%\t%.0f ms\t%d\n", p.AggregateShape, p.Loop, p.Alike, p.Local, p.Cluster, p.LocalRatio, p.ClusterRatio, p.OverAlike, p.First,
			humanize.Bytes(most(p.Processes, roleLeader)), humanize.Bytes(most(p.Processes, roleWorker)), humanize.Bytes(most(p.Processes, roleNATS)), 100*p.LeaderShare(), 1000*p.PingP99, p.Epochs)
	}
	if r.Kill == KillNobody {
		return
	}
	fmt.Fprintf(w, "\nthe %s killed half-way, want at most %d s more than for the lost work\n\nVECTORS\tCLUSTER\tEXTRA\tLOST WORK\tMET\tLEADERS\tREPEATED\tMEMORY: WORKER\tNATS\n", r.Kill, mostExtra)
	for _, p := range r.Points {
		if k := p.Killed; k != nil {
			met := map[bool]string{true: "yes", false: "no"}[k.met()]
			fmt.Fprintf(w, "%v\t%.2f s\t%+.2f s\t%.2f s\t%s\t%d\t%d\t%s\t%s\n", p.AggregateShape, k.Seconds, k.Extra, k.Lost, met, k.Epochs, k.Repeated,
				humanize.Bytes(max(most(k.Processes, roleLeader), most(k.Processes, roleWorker))), humanize.Bytes(most(k.Processes, roleNATS)))
		}
	}
}

// Figure draws the times, and the times relative to the loop, over the size of a vector.
func (r AggregateReport) Figure() plot.Figure {
	loop := plot.Line{Name: "plain loop", Color: plot.Grey, Dots: true}
	alike := plot.Line{Name: "plain loop, " + AggregateConfig{Shard: r.Shard}.manner(), Color: plot.Orange, Dots: true}
	local := plot.Line{Name: "run, one process", Color: plot.Green, Dots: true}
	cluster := plot.Line{Name: fmt.Sprintf("cluster of %d workers", r.Workers), Color: plot.Blue, Dots: true}
	killed := plot.Line{Name: fmt.Sprintf("cluster, the %s killed", r.Kill), Color: plot.Vermilion, Dots: true}
	alikeRatio, localRatio, clusterRatio := alike, local, cluster
	for _, p := range r.Points {
		x := float64(p.Bytes)
		add := func(l *plot.Line, y float64) { l.Points = append(l.Points, plot.Point{X: x, Y: y}) }
		add(&loop, p.Loop)
		add(&alike, p.Alike)
		add(&alikeRatio, p.Alike/p.Loop)
		add(&local, p.Local)
		add(&cluster, p.Cluster)
		add(&localRatio, p.LocalRatio)
		add(&clusterRatio, p.ClusterRatio)
		if p.Killed != nil {
			add(&killed, p.Killed.Seconds)
		}
	}
	times := plot.Panel{
		X: plot.Axis{Label: "bytes of a vector", Log: true}, Y: plot.Axis{Label: "seconds", Log: true},
		Lines: []plot.Line{loop, alike, local, cluster},
	}
	if r.Kill != KillNobody {
		times.Lines = append(times.Lines, killed)
	}
	ratios := plot.Panel{
		X: plot.Axis{Label: "bytes of a vector", Log: true}, Y: plot.Axis{Label: "time relative to the loop", Log: true},
		Lines: []plot.Line{alikeRatio, localRatio, clusterRatio},
	}
	return plot.Figure{Title: "Sums of vectors" + r.shards() + ", by the size of a vector", Panels: []plot.Panel{times, ratios}}
}
