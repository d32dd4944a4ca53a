package bench

import (
	"fmt"

	"github.com/bellwether-compute/bellwether/bench/plot"
)

// Figure draws the throughput around the failovers, a close-up of the time after the loss of the
// leader, and the steps of each failover.
func (r FailoverReport) Figure() plot.Figure {
	f := plot.Figure{Title: r.title()}
	if len(r.Throughput) > 0 {
		f.Panels = append(f.Panels, r.overview(), r.closeUp())
	}
	f.Panels = append(f.Panels, r.stepBars())
	return f
}

// overview draws the throughput from before the loss of the leader to the end of Watch.
func (r FailoverReport) overview() plot.Panel {
	p := r.throughput("throughput, as a share of the survivors' steady rate")
	p.Lines = append(p.Lines, plot.Line{Name: "median, over 250 ms", Color: plot.Blue, Points: samplePoints(smooth(medians(r.samples())))})
	if v, ok := r.Steps["until_assigned"]; ok {
		p.Marks = append(p.Marks, plot.Mark{At: v.Median / 1000, Label: "the next leader assigns work", Color: plot.Green})
	}
	return p
}

// closeUp draws the throughput until all steps are over, with a mark at the median end of each step.
func (r FailoverReport) closeUp() plot.Panel {
	const before = 0.2
	p := r.throughput("the same, closer")
	p.Lines = append(p.Lines, plot.Line{Name: "median, over 50 ms", Color: plot.Blue, Points: samplePoints(medians(r.samples()))})
	end := 0.0
	for _, s := range plotSteps {
		var moments []float64
		for _, o := range r.Failovers {
			if at, ok := o.endOf(s.name); ok {
				moments = append(moments, at)
			}
		}
		if len(moments) == 0 {
			continue
		}
		at, label := Median(moments)/1000, s.label
		if s.name == "first_result" && r.Steps["first_result"].Median == 0 {
			label += ", at the latest"
		}
		p.Marks = append(p.Marks, plot.Mark{At: at, Label: label, Color: s.color})
		end = max(end, at)
	}
	// The range leaves a quarter of its length for the last label. The range does not exceed the
	// last window, because data ends there.
	p.X.Min, p.X.Max = -before, min(end+(end+before)/4+2*fine.Seconds(), float64(len(r.Windows))*window.Seconds())
	p.Height = 180
	return p
}

// plotSteps lists the steps of a failover in order. Each label describes the event that ends the
// step.
var plotSteps = []struct {
	name, label string
	color       plot.Color
}{
	{"detect", "believed dead", plot.Grey},
	{"elect", "lease held", plot.Orange},
	{"fence", "fenced off", plot.Vermilion},
	{"resume", "ready", plot.Purple},
	{"first_assignment", "work assigned", plot.Green},
	{"first_result", "first result", plot.Sky},
}

// endOf returns the milliseconds from the loss of the leader to the end of a step, if they are known.
func (o Outage) endOf(step string) (ms float64, known bool) {
	switch step {
	case "detect":
		return o.Ready - o.Resume - o.Fence - o.Elect, o.Detect != nil
	case "elect":
		return o.Ready - o.Resume - o.Fence, true
	case "fence":
		return o.Ready - o.Resume, true
	case "resume":
		return o.Ready, true
	}
	if o.Assigned == nil || step == "first_result" && o.FirstResult == nil {
		return 0, false
	}
	if step == "first_result" {
		return *o.Assigned + *o.FirstResult, true
	}
	return *o.Assigned, true
}

// throughput returns a panel with the throughput samples of each failover.
func (r FailoverReport) throughput(label string) plot.Panel {
	p := plot.Panel{
		X:     plot.Axis{Label: "seconds since the leader was lost"},
		Y:     plot.Axis{Label: label, Min: 0, Max: 1.6},
		Marks: []plot.Mark{{At: 0, Label: "leader lost", Color: plot.Vermilion}},
	}
	for _, samples := range r.samples() {
		p.Lines = append(p.Lines, plot.Line{Name: "each failover, over 50 ms", Color: plot.Sky, Faint: true, Points: samplePoints(samples)})
	}
	return p
}

func (r FailoverReport) stepBars() plot.Panel {
	p := plot.Panel{
		X: plot.Axis{Label: "milliseconds after the leader's last sign of life"},
		Y: plot.Axis{Label: "each failover"},
	}
	longest, longestReady := 0.0, 0.0
	for i, o := range r.Failovers {
		row := plot.Row{Label: fmt.Sprint(i + 1)}
		length, values := 0.0, o.steps()
		for _, s := range plotSteps {
			if ms := values[s.name]; ms != nil {
				row.Parts = append(row.Parts, plot.Part{Name: s.label, Color: s.color, Length: *ms})
				length += *ms
			}
			if s.name == "resume" {
				longestReady = max(longestReady, length)
			}
		}
		p.Rows = append(p.Rows, row)
		longest = max(longest, length)
	}
	// If workers do not request work for a long time, the longest bar is cut so that the earlier
	// steps remain visible.
	if longest > 4*longestReady {
		p.X.Max = 2 * longestReady
	}
	return p
}

// samples returns the throughput samples of the failovers for which they are known.
func (r FailoverReport) samples() [][]float64 {
	var all [][]float64
	for _, o := range r.Failovers {
		if o.Shares != nil {
			all = append(all, o.Samples)
		}
	}
	return all
}

// samplePoints returns a point for each sample, in the middle of the sample's time interval.
func samplePoints(samples []float64) []plot.Point {
	var points []plot.Point
	for i, share := range samples {
		points = append(points, plot.Point{X: (float64(i)+0.5)*fine.Seconds() - steadyBefore.Seconds(), Y: share})
	}
	return points
}

// medians returns the median of the first values of all lists, of the second values, and so on.
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
		all = append(all, Median(values))
	}
}

// smooth returns a moving average: for each sample, the mean over a window around the sample.
func smooth(samples []float64) []float64 {
	const half = int(window/fine) / 2
	smoothed := make([]float64, len(samples))
	for i := range samples {
		around := samples[max(0, i-half):min(len(samples), i+half+1)]
		smoothed[i] = sum(around) / float64(len(around))
	}
	return smoothed
}
