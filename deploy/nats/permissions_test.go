package nats_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// The edits are those that README.md and jetstream.conf describe: storage on Azure, and the
// narrower read permissions that are sufficient with one server.
var (
	azure  = []string{`include "jetstream.conf"`, `include "azure.conf"`}
	narrow = []string{
		`{ service: "$JS.API.STREAM.MSG.GET.KV_bellwether-default", accounts: [ASK] }`, "",
		`{ service: "$JS.API.STREAM.MSG.GET.bellwether-default-large", accounts: [ASK] }`, "",
		`{ service: { account: WORK, subject: "$JS.API.STREAM.MSG.GET.KV_bellwether-default" } }`, "",
		`{ service: { account: WORK, subject: "$JS.API.STREAM.MSG.GET.bellwether-default-large" } }`, "",
	}
)

const (
	js     = "$JS.API."
	values = "$KV.bellwether-default."
	direct = "$JS.API.DIRECT.GET.KV_bellwether-default.$KV.bellwether-default."
	large  = "$JS.API.DIRECT.GET.bellwether-default-large.bellwether.default.store.large.name.0."
)

// publishCases lists the users that can send on a subject to account WORK, in which all workers and
// all storage are: w is the worker, s the submitter, o the observer.
var publishCases = []struct{ subject, jetstream, narrow, azure string }{
	// Subjects of the leader's services.
	{"bellwether.default.ask.leader", "wso", "wso", "wso"},
	{"bellwether.default.ask.workers", "wso", "wso", "wso"},
	{"bellwether.default.ask.jobs", "wso", "wso", "wso"},
	{"bellwether.default.ask.cancel", "ws", "ws", "ws"},
	{"bellwether.default.ask.step-down", "w", "w", "w"},

	// Subjects of messages between workers and leaders, and of their replies.
	{"bellwether.default.epoch.1.report", "w", "w", "w"},
	{"bellwether.default.epoch.1.ping", "w", "w", "w"},
	{"bellwether.default.beacon", "w", "w", "w"},
	{"bellwether.default.worker.wolf.nudge", "w", "w", "w"},
	{"bellwether.default.ended.x", "w", "w", "w"},
	{"_INBOX.receipt", "w", "w", "w"},
	{"_R_.answer", "w", "w", "w"},
	{"bellwether.other.beacon", "", "", ""},

	// Subjects of stored values, the lease, submissions and large values.
	{values + "spec.x", "ws", "ws", ""},
	{values + "manifest.x", "w", "w", ""},
	{values + "result.x", "w", "w", ""},
	{values + "plan.x", "w", "w", ""},
	{values + "active.x", "w", "w", ""},
	{values + "term.1", "w", "w", ""},
	{values + "partial.x.y", "w", "w", ""},
	{values + "attachment.x.y.z", "w", "w", ""},
	{values + "poison.x", "w", "w", ""},
	{values + "identity", "w", "w", ""},
	{"$KV.bellwether_default_lease.leader", "w", "w", ""},
	{"$KV.bellwether-other.manifest.x", "", "", ""},
	{"bellwether.default.store.queue", "ws", "ws", "w"},
	{"bellwether.default.store.large.name.0.result.x", "w", "w", "w"},

	// JetStream subjects for lookups.
	{js + "INFO", "wso", "wso", ""},
	{js + "STREAM.INFO.KV_bellwether-default", "wso", "wso", ""},
	{js + "STREAM.INFO.bellwether-default-large", "wso", "wso", ""},
	{js + "STREAM.INFO.bellwether-default-queue", "wso", "wso", ""},
	{js + "CONSUMER.INFO.bellwether-default-queue.receivers", "wso", "wso", ""},
	{js + "STREAM.INFO.KV_bellwether_default_lease", "w", "w", ""},
	{js + "STREAM.NAMES", "", "", ""},

	// JetStream subjects for reads.
	{direct + "spec.x", "wso", "wso", ""},
	{direct + "manifest.x", "wso", "wso", ""},
	{direct + "result.x", "wso", "wso", ""},
	{direct + "term.1", "wso", "wso", ""},
	{direct + "identity", "wso", "wso", ""},
	{direct + "plan.x", "w", "w", ""},
	{direct + "plan.*", "w", "w", ""},
	{direct + "attachment.x.y.z", "wso", "wso", ""},
	{direct + "partial.x.y", "w", "w", ""},
	{direct + "poison.x", "w", "w", ""},
	{direct + ">", "w", "w", ""},
	{js + "DIRECT.GET.KV_bellwether-default", "", "", ""},
	{large + "manifest.x", "wso", "wso", ""},
	{large + "result.x", "wso", "wso", ""},
	{large + "attachment.x.y.z", "wso", "wso", ""},
	{large + "partial.x", "w", "w", ""},
	{js + "DIRECT.GET.KV_bellwether_default_lease.$KV.bellwether_default_lease.leader", "w", "w", ""},
	{js + "STREAM.MSG.GET.KV_bellwether-default", "wso", "w", ""},
	{js + "STREAM.MSG.GET.bellwether-default-large", "wso", "w", ""},
	{js + "STREAM.MSG.GET.bellwether-default-queue", "", "", ""},
	{js + "STREAM.MSG.GET.KV_bellwether_default_lease", "", "", ""},

	// JetStream subjects that create, consume or delete. No user may delete a stream or purge the
	// lease.
	{js + "STREAM.CREATE.KV_bellwether-default", "w", "w", ""},
	{js + "STREAM.CREATE.bellwether-default-large", "w", "w", ""},
	{js + "STREAM.CREATE.bellwether-default-queue", "w", "w", ""},
	{js + "STREAM.CREATE.KV_bellwether_default_lease", "w", "w", ""},
	{js + "STREAM.CREATE.wolf", "", "", ""},
	{js + "CONSUMER.CREATE.bellwether-default-queue.receivers", "w", "w", ""},
	{js + "CONSUMER.CREATE.bellwether-default-queue.wolf", "", "", ""},
	{js + "CONSUMER.CREATE.KV_bellwether-default.wolf", "", "", ""},
	{js + "CONSUMER.MSG.NEXT.bellwether-default-queue.receivers", "w", "w", ""},
	{js + "CONSUMER.DELETE.bellwether-default-queue.receivers", "", "", ""},
	{"$JS.ACK.bellwether-default-queue.receivers.1.1.1.1.0", "w", "w", ""},
	{js + "STREAM.PURGE.KV_bellwether-default", "w", "w", ""},
	{js + "STREAM.PURGE.bellwether-default-large", "w", "w", ""},
	{js + "STREAM.PURGE.bellwether-default-queue", "", "", ""},
	{js + "STREAM.PURGE.KV_bellwether_default_lease", "", "", ""},
	{js + "STREAM.DELETE.KV_bellwether-default", "", "", ""},
	{js + "STREAM.DELETE.KV_bellwether_default_lease", "", "", ""},
	{js + "STREAM.UPDATE.KV_bellwether-default", "", "", ""},
	{js + "STREAM.UPDATE.KV_bellwether_default_lease", "", "", ""},
	{js + "STREAM.MSG.DELETE.KV_bellwether-default", "", "", ""},
	{js + "STREAM.MSG.DELETE.KV_bellwether_default_lease", "", "", ""},
}

// subscribeCases lists the users that can subscribe to a subject, each in its own account.
var subscribeCases = []subscribeCase{
	{"bellwether.default.>", "w"},
	{"_INBOX.>", "wso"},
	{"bellwether.default.ended.x", "wso"},
	{"bellwether.default.ended.*", "wso"},
	{">", ""},
	{"bellwether.>", ""},
	{"bellwether.default.ask.jobs", "w"},
	{"$KV.>", ""},
	{"$JS.>", ""},
	{"_R_.>", ""},
}

type subscribeCase struct{ subject, users string }

func TestPermissions(t *testing.T) {
	for _, config := range []struct {
		name  string
		edits []string
	}{{"jetstream", nil}, {"narrow", narrow}, {"azure", azure}} {
		t.Run(config.name, func(t *testing.T) {
			c := startServer(t, append([]string{"user: worker\n", auditor + "user: worker\n"}, config.edits...)...)
			t.Run("publish", func(t *testing.T) { testPublish(t, c, config.name) })
			t.Run("subscribe", func(t *testing.T) { testSubscribe(t, c) })
			t.Run("announcement", func(t *testing.T) { testAnnouncement(t, c) })
			t.Run("reply", func(t *testing.T) { testReply(t, c) })
			t.Run("strangers", func(t *testing.T) { testStrangers(t, c) })
			t.Run("every permission has a case", func(t *testing.T) { testComplete(t, config.name, config.edits) })
		})
	}
}

// expected returns the users of a publish case for a configuration.
func expected(i int, config string) string {
	c := publishCases[i]
	return map[string]string{"jetstream": c.jetstream, "narrow": c.narrow, "azure": c.azure}[config]
}

// testPublish sends a message to each subject as each user. The auditor, who receives all messages
// in account WORK, receives exactly the allowed messages.
func testPublish(t *testing.T, c *cluster, config string) {
	all, received := c.audit(t)
	for user := range passwords {
		nc := c.connect(t, user)
		for _, p := range publishCases {
			if err := nc.Publish(p.subject, []byte(user)); err != nil {
				t.Fatal(err)
			}
		}
		flush(t, nc)
	}
	flush(t, all) // the server has delivered the allowed messages
	got := map[string]bool{}
	for len(received) > 0 {
		m := <-received
		got[m.Subject+" "+string(m.Data)] = true
	}
	for i, p := range publishCases {
		for user := range passwords {
			want := strings.Contains(expected(i, config), user[:1])
			if got[p.subject+" "+user] != want {
				t.Errorf("%s publishes %s: got %t, want %t", user, p.subject, !want, want)
			}
		}
	}
}

func testSubscribe(t *testing.T, c *cluster) {
	for user := range passwords {
		for _, s := range subscribeCases {
			nc := c.connect(t, user)
			if _, err := nc.SubscribeSync(s.subject); err != nil {
				t.Fatal(err)
			}
			flush(t, nc) // an error of the server arrives before the answer to the flush
			allowed := nc.LastError() == nil
			if want := strings.Contains(s.users, user[:1]); allowed != want {
				t.Errorf("%s subscribes to %s: got %t, want %t (%v)", user, s.subject, allowed, want, nc.LastError())
			}
		}
	}
	// Inboxes of account ASK are not inboxes of account WORK.
	spy, sender := c.connect(t, submitter), c.connect(t, worker)
	inbox, err := spy.SubscribeSync("_INBOX.>")
	if err != nil {
		t.Fatal(err)
	}
	flush(t, spy)
	if err := sender.Publish("_INBOX.receipt", nil); err != nil {
		t.Fatal(err)
	}
	flush(t, sender)
	flush(t, spy)
	if n, _, err := inbox.Pending(); err != nil || n != 0 {
		t.Errorf("a submitter received %d replies to workers (%v)", n, err)
	}
}

// testAnnouncement announces the end of a job as each user. The users of each account receive only
// the worker's announcement.
func testAnnouncement(t *testing.T, c *cluster) {
	const subject = "bellwether.default.ended.x"
	received := map[string]*nats.Subscription{}
	for user := range passwords {
		nc := c.connect(t, user)
		sub, err := nc.SubscribeSync(subject)
		if err != nil {
			t.Fatal(err)
		}
		flush(t, nc)
		received[user] = sub
	}
	for _, user := range []string{submitter, observer, worker} {
		nc := c.connect(t, user)
		if err := nc.Publish(subject, []byte(user)); err != nil {
			t.Fatal(err)
		}
		flush(t, nc)
	}
	for user, sub := range received {
		if m, err := sub.NextMsg(5 * time.Second); err != nil || string(m.Data) != worker {
			t.Errorf("%s received %+v (%v), want only the announcement of the worker", user, m, err)
		}
	}
}

// testReply asks the leader's service for a reply on the beacon's subject. A submitter must not be
// able to do this, because a reply to "who leads" can be read as a beacon.
func testReply(t *testing.T, c *cluster) {
	const question, beacon = "bellwether.default.ask.leader", "bellwether.default.beacon"
	leader, listener := c.connect(t, worker), c.connect(t, worker)
	questions := make(chan *nats.Msg, 2)
	if _, err := leader.ChanSubscribe(question, questions); err != nil {
		t.Fatal(err)
	}
	beacons, err := listener.SubscribeSync(beacon)
	if err != nil {
		t.Fatal(err)
	}
	flush(t, leader)
	flush(t, listener)
	for _, user := range []string{submitter, worker} {
		nc := c.connect(t, user)
		if err := nc.PublishRequest(question, beacon, nil); err != nil {
			t.Fatal(err)
		}
		flush(t, nc)
		if err := (<-questions).Respond([]byte(user)); err != nil {
			t.Fatal(err)
		}
		flush(t, leader)
	}
	m, err := beacons.NextMsg(5 * time.Second)
	if err != nil || string(m.Data) != worker {
		t.Errorf("got the beacon %+v (%v), want only the one that a worker asked for", m, err)
	}
}

func testStrangers(t *testing.T, c *cluster) {
	for name, options := range map[string][]nats.Option{
		"anonymous":          nil,
		"unknown user":       {nats.UserInfo("wolf", passwords[worker])},
		"wrong password":     {nats.UserInfo(worker, passwords[submitter])},
		"without a password": {nats.UserInfo(worker, "")},
		"a token":            {nats.Token(passwords[worker])},
	} {
		nc, err := nats.Connect(c.url, append(options, nats.RootCAs(os.Getenv("NATS_CA")))...)
		if err == nil {
			nc.Close()
		}
		if !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("%s: got %v, want %v", name, err, nats.ErrAuthorization)
		}
	}
}

// testComplete finds a case for each subject on which a worker may publish, for each subject on
// which a user of account ASK can reach account WORK, and for each subject of account WORK whose
// messages reach users of account ASK.
func testComplete(t *testing.T, config string, edits []string) {
	covered := func(subject, users string) {
		for i, p := range publishCases {
			if server.SubjectsCollide(p.subject, subject) && strings.Contains(expected(i, config), users) {
				return
			}
		}
		t.Errorf("no case for %s as %s", subject, users)
	}
	options := configure(t, "server.conf", edits...)
	for _, user := range options.Users {
		if user.Username == worker {
			for _, subject := range user.Permissions.Publish.Allow {
				covered(subject, "w")
			}
		}
	}
	text := configText(t, edits)
	imports := text[strings.Index(text, "imports = ["):]
	for n, line := range strings.Split(imports, "\n") {
		if _, rest, ok := strings.Cut(line, `subject: "`); ok {
			subject, _, _ := strings.Cut(rest, `"`)
			if !strings.Contains(line, "stream:") {
				covered(subject, "ws")
			} else if !slices.ContainsFunc(subscribeCases, func(s subscribeCase) bool { return s.subject == subject && s.users == "wso" }) {
				t.Errorf("no case of a subscription to %s", subject)
			}
		} else if n > 0 && (strings.Contains(line, "service:") || strings.Contains(line, "stream:")) {
			t.Errorf("import %q names no subject", line)
		}
	}
}

// configText returns the file of permissions after the given edits.
func configText(t *testing.T, edits []string) string {
	t.Helper()
	file := "jetstream.conf"
	if fmt.Sprint(edits) == fmt.Sprint(azure) {
		file = "azure.conf"
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer(edits...).Replace(string(text))
}
