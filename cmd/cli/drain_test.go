package cli_test

import (
	"regexp"
	"testing"
)

// TestDrainTimeout stops a worker whose partition takes a minute.
func TestDrainTimeout(t *testing.T) {
	f := newTestFlock(t, onJetStream, 0)
	output := newTestOutput(t)
	worker := startWorker(t, output, "--nats", f.url, "--cluster", f.cluster, "--drain-timeout", "1s")
	f.awaitWorkers(1)
	f.submit("n=1", "width=1", "sleep=1m")
	f.until("the worker is busy", func() bool {
		var workers []struct {
			State string `json:"state"`
		}
		f.do(&workers, "workers")
		return len(workers) == 1 && workers[0].State == "busy"
	})
	stopWorker(t, worker)
	output.await(regexp.MustCompile(`msg="(Draining takes too long), running partitions are cancelled" .*running=1`))
}
