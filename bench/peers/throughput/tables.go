package throughput

import (
	"fmt"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"github.com/bellwether-compute/bellwether/bench/peers/report"
)

// Tables returns a table for each load, and a table that describes the systems.
func (r Result) Tables() []report.Table {
	var tables []report.Table
	for _, l := range r.Loads {
		t := report.Table{
			Title: l.Name,
			Head:  []string{"system", "tasks", "seconds", "tasks/s", "least – most", "Bellwether's rate / its", "setting"},
		}
		own := r.own(l)
		for _, runs := range l.Runs {
			rates := runs.Rates()
			t.Add(runs.System, humanize.Comma(int64(runs.Tasks)), report.Number(runs.Seconds.Median()),
				report.Number(rates.Median()), report.Number(rates.Least())+" – "+report.Number(rates.Most()),
				report.Number(report.Ratios(own, rates).Median()), runs.Setting.String())
		}
		tables = append(tables, t)
	}
	about := report.Table{Title: "systems", Head: []string{"system", "versions", "durability", "set otherwise than by default"}}
	for _, s := range r.Systems {
		about.Add(s.Name, s.Versions, s.Durability, s.Tuning)
	}
	about.Notes = []string{fmt.Sprintf("%s of %s each, %s; medians. "+
		"A ratio is the median of the rounds' ratios.", english.Plural(r.Processes, "worker process", ""), english.Plural(r.Slots, "slot", ""), english.Plural(r.Rounds, "round", ""))}
	return append(tables, about)
}

// own returns the rates of Bellwether for a load, or nil if Bellwether was not measured.
func (r Result) own(l Loaded) report.Figures {
	for _, runs := range l.Runs {
		if runs.System == Bellwether {
			return runs.Rates()
		}
	}
	return nil
}
