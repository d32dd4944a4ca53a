package ledger

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// goneWorker is a worker that has died, for display.
type goneWorker struct {
	wire.GoneWorker
	at time.Duration
}

// noteGone keeps a worker that has died, with what it ran, for display.
func (l *Ledger) noteGone(w *worker, cause string) {
	g := goneWorker{at: l.now, GoneWorker: wire.GoneWorker{ID: w.id, Host: w.hello.Host, PID: w.hello.PID, Cause: cause, Used: w.usage.Memory}}
	work := ""
	for _, a := range w.assignments {
		if a.state != stateRunning {
			continue
		}
		if work != "" {
			work += ", "
		}
		if work += fmt.Sprintf("%s of job %s", a.text(), engine.JobOf(a.job.spec.ID)); len(work) > wire.MaxGoneWork {
			break
		}
	}
	g.Work = strings.ToValidUTF8(work[:min(len(work), wire.MaxGoneWork)], "")
	l.gone = slices.Insert(l.gone[:min(len(l.gone), wire.MaxGone-1)], 0, g)
}

// Gone returns the workers that have died under this leader, the last one first.
func (l *Ledger) Gone() []wire.GoneWorker {
	list := make([]wire.GoneWorker, 0, len(l.gone))
	for _, g := range l.gone {
		g.For = l.now - g.at
		list = append(list, g.GoneWorker)
	}
	return list
}
