package throughput

import (
	"fmt"

	"github.com/bellwether-compute/bellwether/bench/peers/report"
)

// Tables are the results for people: one table per load, and one on the systems.
func (r Result) Tables() []report.Table {
	var tables []report.Table
	for _, l := range r.Loads {
		t := report.Table{
			Title: l.Name,
			Head:  []string{"system", "tasks", "seconds", "tasks/s", "least – most", "Bellwether is faster by", "setting"},
		}
		own := r.own(l)
		for _, runs := range l.Runs {
			rates := runs.Rates()
			t.Add(runs.System, report.Count(int64(runs.Tasks)), fmt.Sprintf("%.3f", runs.Seconds.Median()),
				report.Number(rates.Median()), report.Number(rates.Least())+" – "+report.Number(rates.Most()),
				report.Number(report.Ratios(own, rates).Median()), runs.Setting.String())
		}
		tables = append(tables, t)
	}
	about := report.Table{Title: "systems", Head: []string{"system", "versions", "durability", "set otherwise than by default"}}
	for _, s := range r.Systems {
		about.Add(s.Name, s.Versions, s.Durability, s.Tuning)
	}
	about.Notes = []string{fmt.Sprintf("%d worker processes of %d slots each, %d rounds; medians. "+
		"Bellwether's lead is the median of the rounds' ratios of tasks per second.", r.Processes, r.Slots, r.Rounds)}
	return append(tables, about)
}

// own is Bellwether's rates under a load; none where it was left out.
func (r Result) own(l Loaded) report.Figures {
	for _, runs := range l.Runs {
		if runs.System == Bellwether {
			return runs.Rates()
		}
	}
	return nil
}
