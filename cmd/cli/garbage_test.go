package cli_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// TestGarbageOnEverySubject sends malformed messages on every subject while a job runs. The cluster
// refuses all malformed messages and loses nothing.
func TestGarbageOnEverySubject(t *testing.T) {
	t.Parallel()
	c := newTestCluster(t, onJetStream, workers)
	nc, err := nats.Connect(c.url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	subjects, err := wire.NewSubjects(c.cluster)
	if err != nil {
		t.Fatal(err)
	}
	id := c.submitHeld(jobParams...)
	c.awaitDone(id, partitions/10)
	leader := c.leader()

	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, 0))
	send := func(subject string, data []byte) {
		t.Helper()
		if err := nc.PublishRequest(subject, nats.NewInbox(), data); err != nil {
			t.Fatal(err)
		}
	}
	for _, subject := range everySubject(c, subjects, leader) {
		for _, data := range garbage(chance, int(nc.MaxPayload())) {
			send(subject, data)
		}
	}
	for _, report := range wrongReports(leader.Epoch, id) {
		send(subjects.Report(report.Epoch), wire.Encode(report))
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}

	got := c.finish(id, jobParams...)
	if !slices.Equal(got.Epochs, []uint64{leader.Epoch}) {
		t.Errorf("epochs: got %v, want %d alone: the leader lost its place", got.Epochs, leader.Epoch)
	}
	if got.Repeated > workers {
		t.Errorf("repeated: got %d partitions, want at most %d at the job's end", got.Repeated, workers)
	}
	if n := len(c.Running()); n != workers {
		t.Errorf("%d of %d processes are left", n, workers)
	}
	var list []struct{}
	if c.do(&list, "list"); len(list) != 1 {
		t.Errorf("got %d jobs, want 1: garbage became a job", len(list))
	}
}

func everySubject(c *testCluster, s wire.Subjects, leader leaderAnswer) []string {
	c.t.Helper()
	var members []struct {
		ID string `json:"id"`
	}
	c.do(&members, "workers")
	list := []string{
		s.Beacon(), s.Suspicion(),
		s.Report(leader.Epoch), s.Report(leader.Epoch - 1), s.Report(leader.Epoch + 1),
		s.Ping(leader.Epoch), s.Ping(leader.Epoch + 1),
		s.Ask(wire.AskLeader), s.Ask(wire.AskWorkers), s.Ask(wire.AskJobs), s.Ask(wire.AskCancel),
		"bellwether.test.store.queue", // subject of submissions
	}
	for _, m := range members {
		list = append(list, s.Nudge(m.ID), s.Probe(m.ID), s.Offer(m.ID))
	}
	return list
}

// garbage returns malformed messages: empty, random, of an unknown version, truncated, with
// trailing bytes, and of the maximum size of NATS.
func garbage(chance *rand.Rand, most int) [][]byte {
	random := make([]byte, 300)
	for i := range random {
		random[i] = byte(chance.Uint32())
	}
	report := wire.Encode(wire.Report{
		Epoch: 1, Worker: "nobody", Sequence: 1,
		Hello: &wire.Hello{Host: "nowhere", PID: 1, Slots: 1, Since: time.Now()},
	})
	unknown := bytes.Clone(report)
	unknown[0] = 99
	return [][]byte{
		{},
		{0},
		{1},
		random, append([]byte{1}, random...),
		unknown, report[:len(report)/2], append(bytes.Clone(report), 0),
		bytes.Repeat([]byte{1}, most),
	}
}

// wrongReports are well-formed reports with impossible content.
func wrongReports(epoch uint64, job string) []wire.Report {
	hello := &wire.Hello{Host: "nowhere", PID: 1, Slots: 1, Since: time.Now()}
	item := func(p wire.Partial) []wire.Item { return []wire.Item{{Partial: &p}} }
	zero := []byte{0} // a partial of the job: the number 0
	damaged := wire.NewPartial(engine.Leaf(partitions-1), zero)
	damaged.Sum++
	report := func(worker string, epoch uint64, job string, items []wire.Item) wire.Report {
		return wire.Report{
			Epoch: epoch, Worker: worker, Sequence: 1, Hello: hello,
			Jobs: []wire.JobReport{{Job: job, First: 1, Items: items}},
		}
	}
	return []wire.Report{
		report("wrong-sum", epoch, job, item(damaged)),
		report("no-such-node", epoch, job, item(wire.NewPartial(engine.Leaf(partitions+1000), zero))),
		report("no-such-job", epoch, "0123456789abcdef", item(wire.NewPartial(engine.Leaf(0), zero))),
		report("old-epoch", epoch-1, job, item(wire.NewPartial(engine.Leaf(0), zero))),
		report("later-epoch", epoch+5, job, item(wire.NewPartial(engine.Leaf(0), zero))),
	}
}
