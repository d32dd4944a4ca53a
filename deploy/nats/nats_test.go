package nats_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

type outcome struct {
	ID, State, SHA256 string
	Partitions        uint64
}

func TestSubmitterSubmitsAndWorkersWork(t *testing.T) {
	f := startFlock(t, 2)

	var done, again outcome
	f.must(submitter, &done, "submit", "probe", "-p", "partitions=1000", "--wait")
	if done.State != "completed" || done.Partitions != 1000 {
		t.Fatalf("got %+v", done)
	}
	f.must(submitter, &again, "result", done.ID)
	if again.SHA256 != done.SHA256 {
		t.Errorf("result says %+v, submit --wait %+v", again, done)
	}
	var list []outcome
	f.must(submitter, &list, "list")
	if len(list) != 1 || list[0].ID != done.ID {
		t.Errorf("list: %+v", list)
	}
	var status outcome
	f.must(submitter, &status, "status", done.ID)
	if status.State != "completed" {
		t.Errorf("status: %+v", status)
	}
	var leader struct{ Epoch uint64 }
	f.must(submitter, &leader, "leader")
	var history []struct{ Epoch uint64 }
	f.must(submitter, &history, "history")
	if len(history) != 1 || history[0].Epoch != leader.Epoch {
		t.Errorf("history %+v, leader %+v", history, leader)
	}

	var long outcome
	f.must(submitter, &long, "submit", "probe", "-p", "partitions=1000000", "-p", "sleep=20ms")
	f.until("the long job runs", func() bool {
		var now outcome
		f.must(submitter, &now, "status", long.ID)
		return now.State == "running"
	})
	if status := f.run(t.Context(), submitter, io.Discard, io.Discard, "cancel", long.ID); status != 0 {
		t.Errorf("cancel: status %d", status)
	}
	f.must(submitter, &status, "status", long.ID)
	if status.State != "cancelled" {
		t.Errorf("after cancel: %+v", status)
	}

	// Partials and results that are too large for one message go another way.
	var large outcome
	f.must(submitter, &large, "submit", "probe", "-p", "partitions=20", "-p", "partial-size=2000000", "--wait")
	if large.State != "completed" {
		t.Errorf("large partials: %+v", large)
	}
	f.must(submitter, &large, "submit", "bulky", "--wait")
	if large.State != "completed" {
		t.Errorf("large result: %+v", large)
	}
	f.refusedNothing()
}

func TestLeadershipChanges(t *testing.T) {
	f := startFlock(t, 2)
	var before, after struct {
		Epoch  uint64
		Worker string
	}
	f.must(submitter, &before, "leader")
	if status := f.run(t.Context(), submitter, io.Discard, io.Discard, "leader", "step-down", "--timeout", "500ms"); status != 3 {
		t.Errorf("a submitter's step-down: status %d, want 3", status)
	}
	f.must(submitter, &after, "leader")
	if after != before {
		t.Errorf("a submitter made the leader step down: %+v, then %+v", before, after)
	}
	if status := f.run(t.Context(), worker, io.Discard, io.Discard, "leader", "step-down"); status != 0 {
		t.Errorf("a worker's step-down: status %d", status)
	}
	f.until("another leads", func() bool { return f.ask(submitter, &after, "leader") == nil && after.Epoch > before.Epoch })
	var done outcome
	f.must(submitter, &done, "submit", "probe", "-p", "partitions=100", "--wait")
	if done.State != "completed" || after.Worker == before.Worker {
		t.Errorf("job %+v, leaders %+v, %+v", done, before, after)
	}
	f.refusedNothing()
}

// refusedNothing checks that the server let the workers do all that they tried.
func (f *flock) refusedNothing() {
	f.t.Helper()
	for _, l := range f.logs {
		if strings.Contains(strings.ToLower(l.String()), "permissions violation") {
			f.t.Errorf("the configuration lacks something that workers need:\n%s", l)
		}
	}
}

// TestSubmitterIsNoWorker sends, as a submitter, what only workers and leaders
// send. Nothing may arrive. The same sent by a worker does, so the test would
// notice.
func TestSubmitterIsNoWorker(t *testing.T) {
	f := &flock{t: t, url: startServer(t)}
	subjects, err := wire.NewSubjects("default")
	if err != nil {
		t.Fatal(err)
	}
	listener, _ := f.connect(worker)
	heard := make(chan *nats.Msg, 100)
	for _, subject := range []string{"bellwether.default.>", "_INBOX.>"} {
		if _, err := listener.ChanSubscribe(subject, heard); err != nil {
			t.Fatal(err)
		}
	}
	flush(t, listener)
	forged := []string{
		subjects.Report(1), subjects.Ping(1), subjects.Beacon(), subjects.Suspect(),
		subjects.Nudge("wolf"), subjects.Offer("wolf"), subjects.Ask(wire.AskStepDown),
		"bellwether.default.store.large.name.0.result.x",
		"_INBOX.receipt", // where the leader's receipts go
	}
	for _, user := range []string{submitter, worker} {
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
			t.Errorf("a submitter's message on %s arrived", m.Subject)
		}
	}
	for _, subject := range forged {
		if !slices.Contains(arrived, subject) {
			t.Errorf("a worker's message on %s did not arrive", subject)
		}
	}
}

// TestSubmitterHearsNothing listens, as a submitter, to what workers say.
func TestSubmitterHearsNothing(t *testing.T) {
	f := &flock{t: t, url: startServer(t)}
	spy, refused := f.connect(submitter)
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
		t.Errorf("a submitter hears answers to workers: %d, %v", n, err)
	}
}

// TestSubmitterAndStorage tries, as a submitter, to read and write what is the
// workers' alone.
func TestSubmitterAndStorage(t *testing.T) {
	f := startFlock(t, 1)
	var done outcome
	f.must(submitter, &done, "submit", "probe", "-p", "partitions=10", "--wait")

	nc, _ := f.connect(worker)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	own, err := js.KeyValue(t.Context(), "bellwether-default")
	if err != nil {
		t.Fatal(err)
	}
	wolf, _ := f.connect(submitter)
	const values, lease = "$KV.bellwether-default.", "$KV.bellwether_default_lease.leader"
	id := done.ID

	for _, key := range []string{"manifest." + id, "result." + id, "plan." + id, "active." + id, "term.0000000000000001", "partial." + id + ".x", "poison." + id} {
		t.Run("write "+key, func(t *testing.T) {
			before, _ := own.Get(t.Context(), key)
			unanswered(t, wolf, values+key, "garbage")
			after, _ := own.Get(t.Context(), key)
			if (before == nil) != (after == nil) || before != nil && before.Revision() != after.Revision() {
				t.Errorf("a submitter wrote %s", key)
			}
		})
	}
	for name, request := range map[string]struct{ subject, body string }{
		"write the lease":               {lease, "garbage"},
		"read the lease":                {"$JS.API.DIRECT.GET.KV_bellwether_default_lease." + lease, ""},
		"read the lease by number":      {"$JS.API.STREAM.MSG.GET.KV_bellwether_default_lease", `{"seq":1}`},
		"look up the lease":             {"$JS.API.STREAM.INFO.KV_bellwether_default_lease", ""},
		"read a plan":                   {"$JS.API.DIRECT.GET.KV_bellwether-default." + values + "plan." + id, ""},
		"read any value":                {"$JS.API.STREAM.MSG.GET.KV_bellwether-default", `{"last_by_subj":"` + values + "plan." + id + `"}`},
		"read any value directly":       {"$JS.API.DIRECT.GET.KV_bellwether-default", `{"last_by_subj":"` + values + "plan." + id + `"}`},
		"delete values":                 {"$JS.API.STREAM.PURGE.KV_bellwether-default", ""},
		"delete the bucket":             {"$JS.API.STREAM.DELETE.KV_bellwether-default", ""},
		"change the bucket":             {"$JS.API.STREAM.UPDATE.KV_bellwether-default", "{}"},
		"read large values":             {"$JS.API.STREAM.MSG.GET.bellwether-default-large", `{"seq":1}`},
		"take a submission":             {"$JS.API.CONSUMER.MSG.NEXT.bellwether-default-queue.receivers", `{"batch":1,"no_wait":true}`},
		"consume the queue":             {"$JS.API.CONSUMER.CREATE.bellwether-default-queue.wolf", "{}"},
		"read the queue":                {"$JS.API.STREAM.MSG.GET.bellwether-default-queue", `{"seq":1}`},
		"acknowledge a submission":      {"$JS.ACK.bellwether-default-queue.receivers.1.1.1.1.0", "+ACK"},
		"list streams":                  {"$JS.API.STREAM.NAMES", ""},
		"make a stream in the account":  {"$JS.API.STREAM.CREATE.wolf", `{"name":"wolf","subjects":["bellwether.>"]}`},
		"make the leader step down":     {"bellwether.default.ask.step-down", ""},
		"act as a worker to the leader": {"bellwether.default.epoch.1.report", ""},
	} {
		t.Run(name, func(t *testing.T) { unanswered(t, wolf, request.subject, request.body) })
	}

	// The same way of asking gets an answer where it is allowed.
	for _, subject := range []string{
		"bellwether.default.ask.leader",
		"$JS.API.DIRECT.GET.KV_bellwether-default." + values + "manifest." + id,
	} {
		if _, err := wolf.Request(subject, nil, 5*time.Second); err != nil {
			t.Errorf("%s: %v", subject, err)
		}
	}
	f.refusedNothing()
}

// TestRollUpsOff: with the stream that README.md describes, a submitter that may
// write one key cannot have it replace all others, and workers miss nothing.
func TestRollUpsOff(t *testing.T) {
	f := &flock{t: t, url: startServer(t)}
	nc, _ := f.connect(worker)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: "KV_bellwether-default", Subjects: []string{"$KV.bellwether-default.>"},
		Storage: jetstream.FileStorage, MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew,
		DenyDelete: true, AllowDirect: true, AllowRollup: false,
	})
	if err != nil {
		t.Fatal(err)
	}
	f.startWorkers(1)
	var done outcome
	f.must(submitter, &done, "submit", "probe", "-p", "partitions=20", "-p", "partial-size=2000000", "--wait")

	wolf, _ := f.connect(submitter)
	for _, reach := range []string{"sub", "all"} {
		m := nats.NewMsg("$KV.bellwether-default.spec." + done.ID)
		m.Header.Set("Nats-Rollup", reach)
		answer, err := wolf.RequestMsg(m, 5*time.Second)
		if err != nil || !strings.Contains(string(answer.Data), "rollup not permitted") {
			t.Errorf("roll-up of %s: %s, %v", reach, answer.Data, err)
		}
	}
	f.must(submitter, &done, "result", done.ID)
	f.refusedNothing()
}

// unanswered sends a request that nobody may take.
func unanswered(t *testing.T, nc *nats.Conn, subject, body string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	answer, err := nc.RequestWithContext(ctx, subject, []byte(body))
	switch {
	case err == nil:
		t.Errorf("%s: answered %q", subject, answer.Data)
	case !errors.Is(err, nats.ErrNoResponders):
		t.Errorf("%s: %v, want that nobody listens", subject, err)
	}
}

// TestWorkerKeepsTheLease: not even a worker can delete what epochs grow by.
func TestWorkerKeepsTheLease(t *testing.T) {
	f := startFlock(t, 1)
	nc, refused := f.connect(worker)
	for _, subject := range []string{
		"$JS.API.STREAM.DELETE.KV_bellwether_default_lease",
		"$JS.API.STREAM.PURGE.KV_bellwether_default_lease",
		"$JS.API.STREAM.UPDATE.KV_bellwether_default_lease",
		"$JS.API.STREAM.DELETE.KV_bellwether-default",
		"$KV.bellwether-other.manifest.x",
		"bellwether.other.beacon",
	} {
		if err := nc.Publish(subject, nil); err != nil {
			t.Fatal(err)
		}
		flush(t, nc)
		f.until("the server refuses "+subject, func() bool {
			return strings.Contains(refused.String(), `Publish to "`+subject+`"`)
		})
	}
}

func TestStrangersGetNowhere(t *testing.T) {
	url := startServer(t)
	for name, options := range map[string][]nats.Option{
		"anonymous":          nil,
		"unknown user":       {nats.UserInfo("wolf", workerPassword)},
		"wrong password":     {nats.UserInfo(worker, submitterPassword)},
		"without a password": {nats.UserInfo(worker, "")},
	} {
		t.Run(name, func(t *testing.T) {
			nc, err := nats.Connect(url, options...)
			if err == nil {
				nc.Close()
			}
			if !errors.Is(err, nats.ErrAuthorization) {
				t.Errorf("got %v, want %v", err, nats.ErrAuthorization)
			}
		})
	}
	f := &flock{t: t, url: url}
	if status := f.run(t.Context(), "", io.Discard, io.Discard, "list"); status != 3 {
		t.Errorf("list without credentials: status %d, want 3", status)
	}
}

// flush returns once the server has taken all that was sent.
func flush(t *testing.T, nc *nats.Conn) {
	t.Helper()
	if err := nc.FlushTimeout(5 * time.Second); err != nil {
		t.Fatal(err)
	}
}
