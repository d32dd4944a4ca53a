package failover

import (
	"fmt"

	"github.com/bellwether-compute/bellwether/bench/peers/report"
)

// Tables returns the results as tables.
func (r Result) Tables() []report.Table {
	t := report.Table{
		Title: "from SIGKILL of the leader until the next one acted",
		Head:  []string{"system", "kills", "median ms", "p95 ms", "worst ms", "its median / Bellwether's", "versions", "settings"},
		Notes: []string{fmt.Sprintf("%d candidates each, all idle. Bellwether's median is the one with its storage on %s.", r.Candidates, onJetStream)},
	}
	own := report.Figures{}
	for _, s := range r.Systems {
		if s.Name == bellwetherOn(onJetStream) {
			own = s.Millis
		}
	}
	for _, s := range r.Systems {
		t.Add(s.Name, fmt.Sprint(len(s.Millis)), report.Number(s.Millis.Median()), report.Number(s.Millis.Quantile(0.95)),
			report.Number(s.Millis.Most()), report.Number(s.Millis.Median()/own.Median()), s.Versions, s.Settings)
	}
	return []report.Table{t}
}
