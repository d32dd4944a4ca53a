package nats_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	values = "$KV.bellwether-default."
	lease  = "$KV.bellwether_default_lease.leader"
)

// withoutMsgGet are the edits by which one server does with the narrower way to
// read, as jetstream.conf says.
var withoutMsgGet = []string{
	`{ service: "$JS.API.STREAM.MSG.GET.KV_bellwether-default", accounts: [ASK] }`, "",
	`{ service: "$JS.API.STREAM.MSG.GET.bellwether-default-large", accounts: [ASK] }`, "",
	`{ service: { account: WORK, subject: "$JS.API.STREAM.MSG.GET.KV_bellwether-default" } }`, "",
	`{ service: { account: WORK, subject: "$JS.API.STREAM.MSG.GET.bellwether-default-large" } }`, "",
}

// TestSubmitterAndStorage tries, as a submitter, to read and write what is the
// workers' alone.
func TestSubmitterAndStorage(t *testing.T) {
	f := startFlock(t, 1)
	var done outcome
	f.must(submitter, &done, "submit", "probe", "-p", "partitions=10", "--wait")
	id := done.ID
	own := f.values(t)
	wolf, _ := f.connect(submitter)

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
		"purge the lease":               {"$JS.API.STREAM.PURGE.KV_bellwether_default_lease", ""},
		"delete values":                 {"$JS.API.STREAM.PURGE.KV_bellwether-default", ""},
		"delete a value":                {"$JS.API.STREAM.MSG.DELETE.KV_bellwether-default", `{"seq":1}`},
		"delete the bucket":             {"$JS.API.STREAM.DELETE.KV_bellwether-default", ""},
		"change the bucket":             {"$JS.API.STREAM.UPDATE.KV_bellwether-default", "{}"},
		"delete large values":           {"$JS.API.STREAM.PURGE.bellwether-default-large", ""},
		"take a submission":             {"$JS.API.CONSUMER.MSG.NEXT.bellwether-default-queue.receivers", `{"batch":1,"no_wait":true}`},
		"consume the queue":             {"$JS.API.CONSUMER.CREATE.bellwether-default-queue.wolf", "{}"},
		"consume the values":            {"$JS.API.CONSUMER.CREATE.KV_bellwether-default.wolf", "{}"},
		"delete the queue's consumer":   {"$JS.API.CONSUMER.DELETE.bellwether-default-queue.receivers", ""},
		"read the queue":                {"$JS.API.STREAM.MSG.GET.bellwether-default-queue", `{"seq":1}`},
		"empty the queue":               {"$JS.API.STREAM.PURGE.bellwether-default-queue", ""},
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
		answered(t, wolf, subject, "")
	}
	f.refusedNothing()
}

// TestSubmitterReadsNarrowly: without MSG.GET, a submitter cannot read plans and
// partials either, and lacks nothing.
func TestSubmitterReadsNarrowly(t *testing.T) {
	f := startFlock(t, 1, withoutMsgGet...)
	f.workWhole(t)
	var done outcome
	f.must(submitter, &done, "submit", "bulky", "--wait")
	wolf, _ := f.connect(submitter)
	plan := values + "plan." + done.ID
	for name, request := range map[string]struct{ subject, body string }{
		"a plan":           {"$JS.API.DIRECT.GET.KV_bellwether-default." + plan, ""},
		"the last plan":    {"$JS.API.DIRECT.GET.KV_bellwether-default." + values + "plan.*", ""},
		"the last value":   {"$JS.API.DIRECT.GET.KV_bellwether-default." + values + ">", ""},
		"a value":          {"$JS.API.STREAM.MSG.GET.KV_bellwether-default", `{"last_by_subj":"` + plan + `"}`},
		"a value directly": {"$JS.API.DIRECT.GET.KV_bellwether-default", `{"last_by_subj":"` + plan + `"}`},
		"a large value":    {"$JS.API.STREAM.MSG.GET.bellwether-default-large", `{"seq":1}`},
	} {
		t.Run(name, func(t *testing.T) { unanswered(t, wolf, request.subject, request.body) })
	}
	// What may be read is not a way to the rest.
	result := "$JS.API.DIRECT.GET.KV_bellwether-default." + values + "result." + done.ID
	for _, body := range []string{`{"last_by_subj":"` + plan + `"}`, `{"multi_last":["` + plan + `"]}`, `{"seq":1}`, `{"next_by_subj":"` + plan + `"}`} {
		if answer := answered(t, wolf, result, body); len(answer.Data) > 0 || answer.Header.Get("Status") != "408" {
			t.Errorf("%s to %s: answered %q, %v", body, result, answer.Data, answer.Header)
		}
	}
	f.refusedNothing()
}

// TestSubmitterCannotRollUp: whoever may write one key of a stream that allows
// roll-ups can have it replace all others.
func TestSubmitterCannotRollUp(t *testing.T) {
	f := startFlock(t, 1)
	var done outcome
	f.must(submitter, &done, "submit", "probe", "-p", "partitions=10", "--wait")
	wolf, _ := f.connect(submitter)
	for _, reach := range []string{"sub", "all"} {
		m := nats.NewMsg(values + "spec." + done.ID)
		m.Header.Set("Nats-Rollup", reach)
		answer, err := wolf.RequestMsg(m, 5*time.Second)
		if err != nil || !strings.Contains(string(answer.Data), "rollup not permitted") {
			t.Errorf("roll-up of %s: %s, %v", reach, answer.Data, err)
		}
	}
	f.must(submitter, &done, "result", done.ID)
}

// TestWorkerKeepsTheLease: not even a worker can delete what epochs grow by, nor
// touch another cluster.
func TestWorkerKeepsTheLease(t *testing.T) {
	f := startFlock(t, 1)
	nc, refused := f.connect(worker)
	for _, subject := range []string{
		"$JS.API.STREAM.DELETE.KV_bellwether_default_lease",
		"$JS.API.STREAM.PURGE.KV_bellwether_default_lease",
		"$JS.API.STREAM.UPDATE.KV_bellwether_default_lease",
		"$JS.API.STREAM.MSG.DELETE.KV_bellwether_default_lease",
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

// values opens the cluster's values as a worker.
func (f *flock) values(t *testing.T) jetstream.KeyValue {
	t.Helper()
	nc, _ := f.connect(worker)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	own, err := js.KeyValue(t.Context(), "bellwether-default")
	if err != nil {
		t.Fatal(err)
	}
	return own
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

// answered sends a request that somebody must take.
func answered(t *testing.T, nc *nats.Conn, subject, body string) *nats.Msg {
	t.Helper()
	answer, err := nc.Request(subject, []byte(body), 5*time.Second)
	if err != nil {
		t.Fatalf("%s: %v", subject, err)
	}
	return answer
}
