package client_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/deploy/local/natsserver/natstest"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/jetstream"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// fakeLeader answers requests for active jobs, ends jobs, and announces ends.
type fakeLeader struct {
	t        *testing.T
	server   *server.Server
	nc       *nats.Conn
	subjects wire.Subjects
	store    *store.Store
	lists    atomic.Bool // true if the answers list every job as active

	place func(wire.JobQuery) *wire.Place // place in the answer; nil if the leader tells no places
}

// leadFake starts a NATS server with a leader, and connects a client.
func leadFake(t *testing.T) (*fakeLeader, *client.Client) {
	t.Helper()
	s := natstest.StartOptions(t, server.Options{JetStream: true})
	c := connect(t, cluster.Config{NATS: cluster.NATS{URL: s.ClientURL()}}, 30*time.Second)
	nc := natstest.Connect(t, s.ClientURL())
	driver, err := jetstream.Open(t.Context(), nc, jetstream.Config{Cluster: "default"})
	if err != nil {
		t.Fatal(err)
	}
	subjects, err := wire.NewSubjects("default")
	if err != nil {
		t.Fatal(err)
	}
	l := &fakeLeader{
		t: t, server: s, nc: nc, subjects: subjects,
		store: store.New(store.Config{Blobs: driver, Queue: driver}),
	}
	l.lists.Store(true)
	if _, err := l.nc.Subscribe(subjects.Ask(wire.AskJobs), l.answer); err != nil {
		t.Fatal(err)
	}
	if err := l.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	return l, c
}

func (l *fakeLeader) answer(m *nats.Msg) {
	ids, err := l.store.Jobs(l.t.Context())
	if err != nil {
		return // the test has ended
	}
	answer := wire.Jobs{Epoch: 1}
	if query, err := wire.Decode[wire.JobQuery](m.Data); err == nil && l.place != nil {
		answer.Place = l.place(query)
	}
	for _, id := range ids {
		if l.lists.Load() {
			answer.Jobs = append(answer.Jobs, wire.JobProgress{Job: id, State: string(client.Running)})
		}
	}
	_ = m.Respond(wire.Encode(answer)) // Respond fails only if the test has ended
}

func (l *fakeLeader) end(id string) {
	l.t.Helper()
	m := store.Manifest{Epoch: 1, Sequence: 1, State: client.Cancelled, Finished: time.Now()}
	if _, err := l.store.PutManifest(l.t.Context(), id, m, store.IfAbsent); err != nil {
		l.t.Fatal(err)
	}
}

func (l *fakeLeader) announce(id, content string) {
	l.t.Helper()
	if err := l.nc.Publish(l.subjects.Ended(id), []byte(content)); err != nil {
		l.t.Fatal(err)
	}
	if err := l.nc.Flush(); err != nil {
		l.t.Fatal(err)
	}
}

// wait calls Wait in a goroutine, and returns when the client has subscribed to the announcement.
func (l *fakeLeader) wait(c *client.Client, id string) <-chan client.State {
	l.t.Helper()
	ended := make(chan client.State, 1)
	go func() {
		s, err := c.Wait(l.t.Context(), id)
		if err != nil {
			l.t.Errorf("wait: %v", err)
		}
		ended <- s.State
	}()
	l.awaitSubscriptions(id, 1)
	return ended
}

// awaitSubscriptions waits until the server has n subscriptions to the announcement of a job's end.
func (l *fakeLeader) awaitSubscriptions(id string, n int) {
	l.t.Helper()
	for deadline := time.Now().Add(time.Minute); l.server.GlobalAccount().Interest(l.subjects.Ended(id)) != n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			l.t.Fatalf("timed out waiting for %d subscriptions to the end of job %s", n, id)
		}
	}
}

// TestWaitHearsTheEnd calls Wait while the leader lists the job as active. Wait therefore returns
// only if it reads storage because of the announcement.
func TestWaitHearsTheEnd(t *testing.T) {
	l, c := leadFake(t)
	id := submit(t, c, client.SubmitOptions{})
	ended := l.wait(c, id)
	l.end(id)
	l.announce(id, "")
	if got := <-ended; got != client.Cancelled {
		t.Errorf("got %q, want %q", got, client.Cancelled)
	}
	l.awaitSubscriptions(id, 0)
}

// TestFalseAnnouncements announces the end of a job that has not ended. The client receives only one
// of the announcements, and Wait returns when the job has ended.
func TestFalseAnnouncements(t *testing.T) {
	l, c := leadFake(t)
	id, other := submit(t, c, client.SubmitOptions{}), submit(t, c, client.SubmitOptions{})
	ended, otherEnded := l.wait(c, id), l.wait(c, other)
	l.announce(id, "garbage")
	l.awaitSubscriptions(id, 0)
	l.end(other)
	l.announce(other, "garbage")
	if got := <-otherEnded; got != client.Cancelled {
		t.Errorf("the other job: got %q, want %q", got, client.Cancelled)
	}
	select {
	case got := <-ended:
		t.Fatalf("Wait returned state %q before the job had ended", got)
	default:
	}
	l.end(id)
	l.lists.Store(false)
	if got := <-ended; got != client.Cancelled {
		t.Errorf("got %q, want %q", got, client.Cancelled)
	}
}

// TestWatchHearsTheEnd ends jobs between the first and the second status of Watch. Without the
// announcement, the second status would follow after 20 ms at the earliest.
func TestWatchHearsTheEnd(t *testing.T) {
	l, c := leadFake(t)
	var took time.Duration
	for range 50 {
		id := submit(t, c, client.SubmitOptions{})
		var ended time.Time
		for s, err := range c.Watch(t.Context(), id) {
			switch {
			case err != nil:
				t.Fatal(err)
			case ended.IsZero():
				l.end(id)
				l.announce(id, "")
				ended = time.Now()
			case !s.State.Final():
				t.Fatalf("the second status is %q", s.State)
			}
		}
		if took = time.Since(ended); took < 20*time.Millisecond {
			return
		}
	}
	t.Errorf("the final status came %v after the end", took)
}

// violations counts the subscriptions that a NATS server refuses.
type violations struct {
	server.Logger
	n atomic.Int32
}

func (v *violations) Errorf(format string, args ...any) {
	if strings.Contains(fmt.Sprintf(format, args...), "Subscription Violation") {
		v.n.Add(1)
	}
}

func (v *violations) Noticef(string, ...any) {}

func (v *violations) Warnf(string, ...any) {}

// TestAnnouncementsDenied waits for jobs as a user who may not subscribe to announcements. The
// client tries to subscribe only once.
func TestAnnouncementsDenied(t *testing.T) {
	s := natstest.StartOptions(t, server.Options{JetStream: true, Users: []*server.User{
		{Username: "submitter", Password: "x", Permissions: &server.Permissions{Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>"}}}},
		{Username: "worker", Password: "y"},
	}})
	var refused violations
	s.SetLogger(&refused, false, false)
	as := func(user, password string) cluster.Config {
		return cluster.Config{NATS: cluster.NATS{URL: s.ClientURL(), User: user, Password: password}}
	}
	c := connect(t, as("submitter", "x"), 30*time.Second)
	startWorkers(t, as("worker", "y"), 1)
	leader(t, c)
	for range 3 {
		id := submit(t, c, client.SubmitOptions{})
		if s, err := c.Wait(t.Context(), id); err != nil || s.State != client.Completed {
			t.Errorf("%+v, %v", s, err)
		}
	}
	if n := refused.n.Load(); n != 1 {
		t.Errorf("the server refused %d subscriptions, want 1", n)
	}
}
