package bench

import (
	"fmt"
	"io"

	"github.com/bellwether-compute/bellwether/bench/plot"
)

// Table writes the report for people, with tabs between columns.
func (r ScaleReport) Table(w io.Writer) {
	fmt.Fprintf(w, "workers of %d slots, simulated; the leader's process alone\n\n", r.Slots)
	fmt.Fprintf(w, "WORKERS\tPARTITIONS\tCORES\tMEMORY\tMESSAGES\tBYTES\tSTORAGE CALLS\tCHECKPOINT\tTOOK\n")
	for _, list := range [][]ScalePoint{r.ByWorkers, r.ByPartitions} {
		for _, p := range list {
			fmt.Fprintf(w, "%d\t%d\t%.3f\t%.1f MB\t%.0f/s\t%.1f kB/s\t%.1f/s\t%.1f kB\t%.1f s\n",
				p.Workers, p.Partitions, p.Cores, float64(p.Memory)/1e6, p.Messages, p.Bytes/1e3, p.Calls, float64(p.Checkpoint)/1e3, p.Took)
		}
	}
}

// Figure draws what leading costs over the workers, in blue, and over the partitions,
// in orange.
func (r ScaleReport) Figure() plot.Figure {
	f := plot.Figure{Title: fmt.Sprintf("What leading costs, with workers of %d slots", r.Slots)}
	for _, by := range []struct {
		label string
		color plot.Color
		list  []ScalePoint
		x     func(ScalePoint) float64
	}{
		{"workers", plot.Blue, r.ByWorkers, func(p ScalePoint) float64 { return float64(p.Workers) }},
		{"partitions", plot.Orange, r.ByPartitions, func(p ScalePoint) float64 { return float64(p.Partitions) }},
	} {
		if len(by.list) == 0 {
			continue
		}
		for _, what := range []struct {
			label string
			y     func(ScalePoint) float64
		}{
			{"cores kept busy", func(p ScalePoint) float64 { return p.Cores }},
			{"memory in MB", func(p ScalePoint) float64 { return float64(p.Memory) / 1e6 }},
			{"messages per second", func(p ScalePoint) float64 { return p.Messages }},
			{"bytes of the largest checkpoint", func(p ScalePoint) float64 { return float64(p.Checkpoint) }},
		} {
			line := plot.Line{Name: "over " + by.label, Color: by.color, Dots: true}
			for _, p := range by.list {
				line.Points = append(line.Points, plot.Point{X: by.x(p), Y: what.y(p)})
			}
			f.Panels = append(f.Panels, plot.Panel{
				X: plot.Axis{Label: by.label, Log: true}, Y: plot.Axis{Label: what.label},
				Lines: []plot.Line{line}, Height: 110,
			})
		}
	}
	return f
}
