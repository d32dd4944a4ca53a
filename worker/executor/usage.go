package executor

import (
	"runtime/metrics"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// usage says what the worker uses of its machine.
func (w *Worker) usage() wire.Usage {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	u := wire.Usage{Memory: samples[0].Value.Uint64() - samples[1].Value.Uint64()}
	w.mu.Lock()
	u.Items, u.Bytes = w.session.Kept()
	w.mu.Unlock()
	return u
}
