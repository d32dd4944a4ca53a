package bench

import (
	"fmt"
	"io"

	"github.com/dustin/go-humanize"

	"github.com/bellwether-compute/bellwether/bench/plot"
)

// Table writes the report as a table with tabs between columns.
func (r ScaleReport) Table(w io.Writer) {
	fmt.Fprintf(w, "workers of %d slots, simulated; the leader's process alone\n", r.Slots)
	for _, list := range [][]ScalePoint{r.ByWorkers, r.ByPartitions} {
		if len(list) == 0 {
			continue
		}
		fmt.Fprintf(w, "\nWORKERS\tPARTITIONS\tCORES\tMEMORY\tMESSAGES\tBYTES\tSTORAGE CALLS\tCHECKPOINT\tTOOK%s\n", viewersHeading(list))
		for _, p := range list {
			fmt.Fprintf(w, "%s\t%s\t%.3f\t%.1f MB\t%.0f/s\t%.1f kB/s\t%.1f/s\t%.1f kB\t%.1f s",
				humanize.Comma(int64(p.Workers)), humanize.Comma(int64(p.Partitions)), p.Cores, float64(p.Memory)/1e6, p.Messages, p.Bytes/1e3, p.Calls, float64(p.Checkpoint)/1e3, p.Took)
			if p.Viewers > 0 {
				fmt.Fprintf(w, "\t%d\t%+.4f\t%.1f kB/s", p.Viewers, p.ViewerCores, p.ViewerBytes/1e3)
			}
			fmt.Fprintln(w)
		}
	}
}

// viewersHeading returns the heading of the columns for viewers, or "" if no point has viewers.
func viewersHeading(list []ScalePoint) string {
	if list[0].Viewers == 0 {
		return ""
	}
	return "\tVIEWERS\tTHEIR CORES\tBYTES PER VIEWER"
}

// Figure draws the cost of leading over the number of workers, in blue, and over the number of
// partitions, in orange. Both curves use the same axes, so that the figure shows which number has
// more influence.
func (r ScaleReport) Figure() plot.Figure {
	f := plot.Figure{Title: fmt.Sprintf("What leading costs, with workers of %d slots", r.Slots)}
	for _, what := range []struct {
		label string
		y     func(ScalePoint) float64
	}{
		{"cores kept busy", func(p ScalePoint) float64 { return p.Cores }},
		{"memory in MB", func(p ScalePoint) float64 { return float64(p.Memory) / 1e6 }},
		{"messages per second", func(p ScalePoint) float64 { return p.Messages }},
		{"kB per second in messages", func(p ScalePoint) float64 { return p.Bytes / 1e3 }},
		{"kB of the largest checkpoint", func(p ScalePoint) float64 { return float64(p.Checkpoint) / 1e3 }},
		{"storage calls per second", func(p ScalePoint) float64 { return p.Calls }},
	} {
		workers := plot.Line{Color: plot.Blue, Dots: true}
		for _, p := range r.ByWorkers {
			workers.Name = fmt.Sprintf("over workers, %s partitions", humanize.Comma(int64(p.Partitions)))
			workers.Points = append(workers.Points, plot.Point{X: float64(p.Workers), Y: what.y(p)})
		}
		partitions := plot.Line{Color: plot.Orange, Dots: true}
		for _, p := range r.ByPartitions {
			partitions.Name = fmt.Sprintf("over partitions, %s workers", humanize.Comma(int64(p.Workers)))
			partitions.Points = append(partitions.Points, plot.Point{X: float64(p.Partitions), Y: what.y(p)})
		}
		f.Panels = append(f.Panels, plot.Panel{
			X: plot.Axis{Label: "workers, or partitions", Log: true}, Y: plot.Axis{Label: what.label},
			Lines: []plot.Line{partitions, workers}, Height: 110,
		})
	}
	return f
}
