package nats_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// subjects are those of the cluster that the configurations are for.
func subjects(t *testing.T) wire.Subjects {
	t.Helper()
	s, err := wire.NewSubjects("default")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// withAzure are the edits that README.md names for storage on Azure.
var withAzure = []string{`include "jetstream.conf"`, `include "azure.conf"`}

// onBoth runs a test with the permissions for each storage.
func onBoth(t *testing.T, test func(t *testing.T, edits ...string)) {
	t.Run("jetstream", func(t *testing.T) { test(t) })
	t.Run("azure", func(t *testing.T) { test(t, withAzure...) })
}

// TestSubmitterIsNoWorker sends, as those who may not, what only workers and
// leaders send. Nothing may arrive. The same sent by a worker does, so the test
// would notice.
func TestSubmitterIsNoWorker(t *testing.T) { onBoth(t, testSubmitterIsNoWorker) }

func testSubmitterIsNoWorker(t *testing.T, edits ...string) {
	f := &flock{t: t, url: startServer(t, edits...)}
	s := subjects(t)
	listener, _ := f.connect(worker)
	heard := make(chan *nats.Msg, 100)
	for _, subject := range []string{"bellwether.default.>", "_INBOX.>"} {
		if _, err := listener.ChanSubscribe(subject, heard); err != nil {
			t.Fatal(err)
		}
	}
	flush(t, listener)
	forged := []string{
		s.Report(1), s.Ping(1), s.Beacon(), s.Suspicion(), s.Nudge("wolf"), s.Probe("wolf"), s.Offer("wolf"), s.Ask(wire.AskStepDown),
		"bellwether.default.store.large.name.0.result.x",
		"_INBOX.receipt", // where the leader's receipts go, and its answers to pings
	}
	for _, user := range []string{submitter, observer, worker} {
		sender, _ := f.connect(user)
		for _, subject := range forged {
			if err := sender.Publish(subject, []byte(user)); err != nil {
				t.Fatal(err)
			}
		}
		flush(t, sender)
	}
	flush(t, listener) // the worker's messages are there, and so is what was sent before
	var arrived []string
	for len(heard) > 0 {
		m := <-heard
		if string(m.Data) == worker {
			arrived = append(arrived, m.Subject)
		} else {
			t.Errorf("a message of %s on %s arrived", m.Data, m.Subject)
		}
	}
	for _, subject := range forged {
		if !slices.Contains(arrived, subject) {
			t.Errorf("a worker's message on %s did not arrive", subject)
		}
	}
}

// TestAnswersAreNotSentElsewhere: a submitter cannot have the leader say something
// in its place, by a question that wants its answer on a subject of the cluster. An
// answer to "who leads" can be read as a beacon.
func TestAnswersAreNotSentElsewhere(t *testing.T) { onBoth(t, testAnswersAreNotSentElsewhere) }

func testAnswersAreNotSentElsewhere(t *testing.T, edits ...string) {
	f := &flock{t: t, url: startServer(t, edits...)}
	s := subjects(t)
	leader, _ := f.connect(worker)
	asked := make(chan *nats.Msg, 2)
	if _, err := leader.ChanSubscribe(s.Ask(wire.AskLeader), asked); err != nil {
		t.Fatal(err)
	}
	listener, _ := f.connect(worker)
	beacons, err := listener.SubscribeSync(s.Beacon())
	if err != nil {
		t.Fatal(err)
	}
	flush(t, leader)
	flush(t, listener)
	for _, user := range []string{submitter, worker} {
		wolf, _ := f.connect(user)
		if err := wolf.PublishRequest(s.Ask(wire.AskLeader), s.Beacon(), nil); err != nil {
			t.Fatal(err)
		}
		flush(t, wolf)
		question := <-asked
		if err := question.Respond([]byte(user)); err != nil {
			t.Fatal(err)
		}
		flush(t, leader)
	}
	beacon, err := beacons.NextMsg(5 * time.Second)
	if err != nil || string(beacon.Data) != worker {
		t.Errorf("a beacon in the leader's name: %+v, %v; want that of a worker alone", beacon, err)
	}
}

// TestSubmitterHearsNothing listens, as those who may not, to what workers say.
func TestSubmitterHearsNothing(t *testing.T) { onBoth(t, testSubmitterHearsNothing) }

func testSubmitterHearsNothing(t *testing.T, edits ...string) {
	f := &flock{t: t, url: startServer(t, edits...)}
	for _, user := range []string{submitter, observer} {
		spy, refused := f.connect(user)
		for _, subject := range []string{">", "bellwether.>", "bellwether.default.ask.jobs", "$KV.>", "$JS.>", "_R_.>"} {
			if _, err := spy.SubscribeSync(subject); err != nil {
				t.Fatal(err)
			}
			flush(t, spy)
			f.until("the server refuses "+subject, func() bool {
				return strings.Contains(refused.String(), `Subscription to "`+subject+`"`)
			})
		}
		inbox, err := spy.SubscribeSync("_INBOX.>") // it may, but those of the workers are elsewhere
		if err != nil {
			t.Fatal(err)
		}
		flush(t, spy)
		nc, _ := f.connect(worker)
		if err := nc.Publish("_INBOX.receipt", nil); err != nil {
			t.Fatal(err)
		}
		flush(t, nc)
		flush(t, spy)
		if n, _, err := inbox.Pending(); err != nil || n != 0 {
			t.Errorf("%s hears answers to workers: %d, %v", user, n, err)
		}
	}
}
