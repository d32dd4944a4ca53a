package bench

import (
	"fmt"

	"github.com/bellwether-compute/bellwether/bench/plot"
)

// Figure draws the throughput around the failovers, closer around the blow, and what
// each consisted of.
func (r FailoverReport) Figure() plot.Figure {
	f := plot.Figure{Title: r.title()}
	if len(r.Throughput) > 0 {
		f.Panels = append(f.Panels, r.around(), r.closer())
	}
	f.Panels = append(f.Panels, r.parts())
	return f
}

// around is the whole time that was watched.
func (r FailoverReport) around() plot.Panel {
	p := r.throughput("throughput, as a share of the survivors' steady rate")
	p.Lines = append(p.Lines, plot.Line{Name: "median, over 250 ms", Color: plot.Blue, Points: samplePoints(smooth(medians(r.samples())))})
	p.Marks = []plot.Mark{struck}
	if v, ok := r.Steps["until_assigned"]; ok {
		p.Marks = append(p.Marks, plot.Mark{At: v.Median / 1000, Label: "the next one gives work", Color: plot.Green})
	}
	return p
}

// closer is the time from a moment before the blow until all steps are over, with the
// median moment of each.
func (r FailoverReport) closer() plot.Panel {
	const before = 0.2
	p := r.throughput("the same, closer")
	p.Lines = append(p.Lines, plot.Line{Name: "median, over 50 ms", Color: plot.Blue, Points: samplePoints(medians(r.samples()))})
	p.Marks = []plot.Mark{struck}
	end := 0.0
	for _, m := range moments {
		if values := r.known(m.at); len(values) > 0 {
			at, label := median(values)/1000, m.name
			if m.name == "first result" && r.Steps["first_result"].Median == 0 {
				label += ", at the latest"
			}
			p.Marks = append(p.Marks, plot.Mark{At: at, Label: label, Color: m.color})
			end = max(end, at)
		}
	}
	// A quarter more is for the last label, and nothing is known beyond the windows.
	p.X.Min, p.X.Max = -before, min(end+(end+before)/4+2*fine.Seconds(), float64(len(r.Windows))*window.Seconds())
	p.Height = 180
	return p
}

// struck is when the leader is killed, stopped, or asked to go.
var struck = plot.Mark{At: 0, Label: "the leader is hit", Color: plot.Vermilion}

// moments are when the steps are over, in milliseconds since the blow, with the name
// and color that a step has.
var moments = []struct {
	name  string
	color plot.Color
	step  func(Outage) *float64 // that ends then
	at    func(Outage) *float64
}{
	{"believed dead", plot.Grey, func(o Outage) *float64 { return o.Detect }, func(o Outage) *float64 {
		if o.Detect == nil {
			return nil
		}
		return new(o.Ready - o.Resume - o.Fence - o.Elect)
	}},
	{"lease held", plot.Orange, func(o Outage) *float64 { return &o.Elect }, func(o Outage) *float64 { return new(o.Ready - o.Resume - o.Fence) }},
	{"fenced off", plot.Vermilion, func(o Outage) *float64 { return &o.Fence }, func(o Outage) *float64 { return new(o.Ready - o.Resume) }},
	{"ready", plot.Purple, func(o Outage) *float64 { return &o.Resume }, func(o Outage) *float64 { return &o.Ready }},
	{"work given", plot.Green, func(o Outage) *float64 { return o.FirstAssignment }, func(o Outage) *float64 { return o.Assigned }},
	{"first result", plot.Sky, func(o Outage) *float64 { return o.FirstResult }, func(o Outage) *float64 {
		if o.FirstResult == nil {
			return nil
		}
		return new(*o.Assigned + *o.FirstResult)
	}},
}

// throughput has the samples of each failover.
func (r FailoverReport) throughput(label string) plot.Panel {
	p := plot.Panel{
		X: plot.Axis{Label: "seconds since the leader was hit"},
		Y: plot.Axis{Label: label, Min: 0, Max: 1.6},
	}
	for _, samples := range r.samples() {
		p.Lines = append(p.Lines, plot.Line{Name: "each failover, over 50 ms", Color: plot.Sky, Faint: true, Points: samplePoints(samples)})
	}
	return p
}

// parts is what each failover consisted of.
func (r FailoverReport) parts() plot.Panel {
	p := plot.Panel{
		X: plot.Axis{Label: "milliseconds after the leader's last sign of life"},
		Y: plot.Axis{Label: "each failover"},
	}
	longest, most := 0.0, 0.0
	for i, o := range r.Failovers {
		row := plot.Row{Label: fmt.Sprint(i + 1)}
		length, ready := 0.0, 0.0
		for _, m := range moments {
			if ms := m.step(o); ms != nil {
				row.Parts = append(row.Parts, plot.Part{Name: m.name, Color: m.color, Length: *ms})
				length += *ms
			}
			if m.name == "ready" {
				ready = length
			}
		}
		p.Rows = append(p.Rows, row)
		longest = max(longest, length)
		most = max(most, 2*ready)
	}
	// Where no worker wants more for a long while, the bar is cut: what matters is before.
	if longest > 2*most {
		p.X.Max = most
	}
	return p
}

// samples are those of all failovers that have some.
func (r FailoverReport) samples() [][]float64 {
	var all [][]float64
	for _, o := range r.Failovers {
		if o.Shares != nil {
			all = append(all, o.Samples)
		}
	}
	return all
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
