package bench

import (
	"fmt"

	"github.com/bellwether-compute/bellwether/bench/plot"
)

// Figure draws the throughput around the failovers, and what each consisted of.
func (r FailoverReport) Figure() plot.Figure {
	around := plot.Panel{
		X: plot.Axis{Label: "seconds since the leader was hit"},
		Y: plot.Axis{Label: "throughput, as a share of the survivors' steady rate", Min: 0, Max: 1.6},
	}
	var each [][]float64
	for _, o := range r.Failovers {
		around.Lines = append(around.Lines, plot.Line{Name: "each failover, over 50 ms", Color: plot.Sky, Faint: true, Points: samplePoints(o.Samples)})
		each = append(each, o.Samples)
	}
	around.Lines = append(around.Lines, plot.Line{Name: "median, over 250 ms", Color: plot.Blue, Points: samplePoints(smooth(medians(each)))})
	around.Marks = []plot.Mark{
		{At: 0, Label: "the leader is hit", Color: plot.Vermilion},
		{At: r.Steps["until_assigned"].Median / 1000, Label: "the next one gives work", Color: plot.Green},
	}
	parts := plot.Panel{
		X: plot.Axis{Label: "milliseconds after the leader's last sign of life"},
		Y: plot.Axis{Label: "each failover"},
	}
	for i, o := range r.Failovers {
		// Where no worker wants more for a while, the bar is cut: what matters is before.
		parts.X.Max = max(parts.X.Max, 2*(o.Detect+o.Elect+o.Fence+o.Resume))
		parts.Rows = append(parts.Rows, plot.Row{Label: fmt.Sprint(i + 1), Parts: []plot.Part{
			{Name: "believed dead", Color: plot.Grey, Length: o.Detect},
			{Name: "lease held", Color: plot.Orange, Length: o.Elect},
			{Name: "fenced off", Color: plot.Vermilion, Length: o.Fence},
			{Name: "ready", Color: plot.Purple, Length: o.Resume},
			{Name: "work given", Color: plot.Green, Length: o.FirstAssignment},
			{Name: "first result", Color: plot.Sky, Length: o.FirstResult},
		}})
	}
	return plot.Figure{
		Title:  fmt.Sprintf("%d failovers (%s), %d workers with %d slots", len(r.Failovers), r.How, r.Workers, r.Slots),
		Panels: []plot.Panel{around, parts},
	}
}

// samplePoints puts samples in the middle of their time.
func samplePoints(samples []float64) []plot.Point {
	var points []plot.Point
	for i, share := range samples {
		middle := (float64(i)+0.5)*fine.Seconds() - steadyBefore.Seconds()
		points = append(points, plot.Point{X: middle, Y: share})
	}
	return points
}

// medians is the median of the first values, of the second, and so on, as far as
// there are any.
func medians(lists [][]float64) []float64 {
	var all []float64
	for i := 0; ; i++ {
		var values []float64
		for _, list := range lists {
			if i < len(list) {
				values = append(values, list[i])
			}
		}
		if len(values) == 0 {
			return all
		}
		all = append(all, median(values))
	}
}

// smooth is the mean over a window around each sample.
func smooth(samples []float64) []float64 {
	const half = int(window/fine) / 2
	smoothed := make([]float64, len(samples))
	for i := range samples {
		around := samples[max(0, i-half):min(len(samples), i+half+1)]
		sum := 0.0
		for _, v := range around {
			sum += v
		}
		smoothed[i] = sum / float64(len(around))
	}
	return smoothed
}
