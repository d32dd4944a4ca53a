package cli_test

import (
	"syscall"
	"testing"
)

// TestScaling changes the number of workers during a job as an autoscaler would, once to
// zero. Nothing is computed twice, and the result has the same bytes.
func TestScaling(t *testing.T) {
	t.Parallel()
	const all = 1000
	params := []string{"n=10000", "width=10", "sleep=20ms"} // 20 s of one slot
	f := newTestFlock(t, onJetStream, 1)
	id := f.submitHeld(params...)
	f.awaitDone(id, all/50)
	f.scale(12)
	f.awaitDone(id, all/4)
	f.scale(3)
	f.awaitDone(id, all/2)
	f.scale(0)
	var checkpoint statusAnswer
	f.do(&checkpoint, "status", id)
	if checkpoint.Live || checkpoint.State != "running" || checkpoint.Done < all/2 {
		t.Errorf("without workers: live=%t, state=%s, %d partitions done", checkpoint.Live, checkpoint.State, checkpoint.Done)
	}
	f.scale(6)
	got := f.finish(id, params...)
	if got.Executed != got.Partitions {
		t.Errorf("executed %d of %d partitions", got.Executed, got.Partitions)
	}
	if n := f.repeatedBy(); n > 0 {
		t.Errorf("%d partitions were executed twice", n)
	}
}

// scale starts workers, or stops the oldest, until n run, and waits until a leader knows
// all of them.
func (f *testFlock) scale(n int) {
	f.t.Helper()
	running := f.Running()
	if more := n - len(running); more >= 0 {
		f.add(more)
		return
	}
	leave := running[:len(running)-n]
	for _, p := range leave {
		p.Signal(syscall.SIGTERM)
	}
	for _, p := range leave {
		if err := p.Wait(); err != nil {
			f.t.Errorf("%s was told to stop and ended with %v", p.Name(), err)
		}
	}
	if n > 0 {
		f.awaitWorkers(n)
	}
}
