package client_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/deploy/local/azurite/azuritetest"
	"github.com/bellwether-compute/bellwether/deploy/local/natsserver"
	"github.com/bellwether-compute/bellwether/deploy/local/natsserver/natstest"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
	"github.com/bellwether-compute/bellwether/jobs/store/jetstream"
	"github.com/bellwether-compute/bellwether/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(azuritetest.StopAfter(m)) }

type sumParams struct {
	N    uint64        `json:"n" min:"1" max:"1000" help:"number of partitions"`
	Wait time.Duration `json:"wait" help:"of each partition"`
	Fail string        `json:"fail" help:"fail with this error"`
	Hold bool          `json:"hold" help:"partition 0 ends only when it is cancelled"`

	Attach int `json:"attach" min:"0" help:"bytes of the attachment"`
}

type sumResult struct {
	Sum   uint64          `json:"sum"`
	Bytes jobs.Attachment `json:"bytes,omitzero"`
}

// sum is a job that adds the numbers of its partitions.
var sum = jobs.Definition[sumParams, uint64, sumResult]{
	Name: "sum", Version: "1", Defaults: sumParams{N: 10},
	Plan: func(_ context.Context, p sumParams) (jobs.Plan, error) { return jobs.Plan{Partitions: p.N}, nil },
	Open: func(_ context.Context, p sumParams, _ jobs.Plan) (jobs.Mapper[uint64], error) {
		return sumMapper{p}, nil
	},
	Merge: func(left, right uint64) (uint64, error) { return left + right, nil },
	Finish: func(_ context.Context, p sumParams, root uint64) (r sumResult, err error) {
		r.Sum = root
		if p.Attach > 0 {
			r.Bytes = jobs.NewAttachment("bytes", attachedBytes(p.Attach))
		}
		return r, nil
	},
}

type sumMapper struct{ sumParams }

func (m sumMapper) Map(ctx context.Context, partition uint64) (uint64, error) {
	switch {
	case m.Fail != "":
		return 0, errors.New(m.Fail)
	case m.Hold && partition == 0:
		<-ctx.Done()
		return 0, ctx.Err()
	}
	time.Sleep(m.Wait)
	return partition, nil
}

// onJetStream starts a NATS server and returns the configuration of a cluster that uses the server.
func onJetStream(t *testing.T) cluster.Config {
	return cluster.Config{NATS: cluster.NATS{URL: natstest.Start(t, natsserver.Config{}).URL()}}
}

func connect(t *testing.T, where cluster.Config, timeout time.Duration) *client.Client {
	t.Helper()
	c, err := client.Connect(t.Context(), client.Config{Cluster: where, Timeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// startWorkers starts workers in this process, which are stopped when the test ends.
func startWorkers(t *testing.T, where cluster.Config, n int) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var working sync.WaitGroup
	for i := range n {
		working.Go(func() {
			err := worker.Run(ctx, worker.Config{
				Cluster: where, ID: fmt.Sprint("w", i, where.Storage), Jobs: []jobs.Job{jobs.MustNew(sum)}, Slots: 2,
				DrainTimeout: time.Second, Logger: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Errorf("worker %d: %v", i, err)
			}
		})
	}
	t.Cleanup(func() {
		stop()
		working.Wait()
	})
}

// submit submits the job sum, also if no worker has started yet.
func submit(t *testing.T, c *client.Client, o client.SubmitOptions) string {
	t.Helper()
	o.Queue = true
	id, err := c.Submit(t.Context(), jobs.MustNew(sum), o)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// want fails the test unless err wraps the target and contains all texts.
func want(t *testing.T, what string, err, target error, texts ...string) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("%s: got error %v, want one that is %v", what, err, target)
		return
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%s: got error %v, want %q in it", what, err, text)
		}
	}
}

// storages lists the kinds of storage on which tests run.
var storages = map[string]func(*testing.T) cluster.Config{
	"jetstream": onJetStream,
	"azure": func(t *testing.T) cluster.Config {
		where := onJetStream(t)
		where.Storage = cluster.Azure
		where.Azure.Config = account.Config{ConnectionString: azuritetest.Server(t).ConnectionString()}
		return where
	},
}

// TestJobs submits, follows and reads jobs on each kind of storage.
func TestJobs(t *testing.T) {
	for name, on := range storages {
		t.Run(name, func(t *testing.T) {
			where := on(t)
			startWorkers(t, where, 1)
			c := connect(t, where, 30*time.Second)

			id := submit(t, c, client.SubmitOptions{Params: sumParams{N: 20, Wait: time.Millisecond}, Pairs: []string{"n=30"}, Priority: 5})
			s, err := c.Wait(t.Context(), id)
			if err != nil || s.State != client.Completed || s.Partitions != 30 || s.Done != 30 || s.Priority != 5 || s.Err() != nil {
				t.Errorf("after Wait: %+v, %v", s, err)
			}
			result, err := client.Result[sumResult](t.Context(), c, id)
			if err != nil || result.Sum != 30*29/2 {
				t.Errorf("result: %+v, %v", result, err)
			}
			o, err := c.Outcome(t.Context(), id)
			if err != nil || string(o.Result) != `{"sum":435}` || o.SHA256 != client.Fingerprint(o.Result) {
				t.Errorf("outcome: %+v, %v", o, err)
			}

			var last client.Status
			for s, err := range c.Watch(t.Context(), submit(t, c, client.SubmitOptions{})) {
				if err != nil {
					t.Fatal(err)
				}
				last = s
			}
			if last.State != client.Completed || last.SHA256 == "" {
				t.Errorf("Watch ended with %+v", last)
			}
			list, damaged, err := c.List(t.Context())
			if err != nil || len(damaged) != 0 || len(list) != 2 || list[0].ID != id || list[1].ID != last.ID {
				t.Errorf("list: %+v, %v, %v", list, damaged, err)
			}
			if removed, err := c.Remove(t.Context(), id, id); err != nil || !slices.Equal(removed, []string{id}) {
				t.Errorf("removed %v, %v", removed, err)
			}
			removed, _, err := c.RemoveEndedBefore(t.Context(), time.Now().Add(time.Hour))
			if err != nil || !slices.Equal(removed, []string{last.ID}) {
				t.Errorf("removed by age: %v, %v", removed, err)
			}
		})
	}
}

// TestManyWaits waits for many jobs at once.
func TestManyWaits(t *testing.T) {
	where := onJetStream(t)
	startWorkers(t, where, 1)
	c := connect(t, where, 30*time.Second)
	var waits sync.WaitGroup
	for range 20 {
		waits.Go(func() {
			id, err := c.Submit(t.Context(), jobs.MustNew(sum), client.SubmitOptions{})
			if err != nil {
				t.Error(err)
				return
			}
			if s, err := c.Wait(t.Context(), id); err != nil || s.State != client.Completed {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
	waits.Wait()
}

// TestStates reads jobs that are running, failed and cancelled.
func TestStates(t *testing.T) {
	where := onJetStream(t)
	startWorkers(t, where, 1)
	c := connect(t, where, 30*time.Second)

	failed := submit(t, c, client.SubmitOptions{Params: sumParams{N: 1, Fail: "no luck\nat all"}, MaxAttempts: 1})
	s, err := c.Wait(t.Context(), failed)
	if err != nil || s.State != client.Failed {
		t.Fatalf("%+v, %v", s, err)
	}
	if errs := []client.ErrorText{{Text: "no luck\nat all", Count: 1}}; !slices.Equal(s.Errors, errs) || s.OtherErrors > 0 {
		t.Errorf("errors %+v and %d others, want %+v", s.Errors, s.OtherErrors, errs)
	}
	want(t, "status", s.Err(), client.ErrFailed, "job "+failed+" failed: ", "no luck")
	_, err = client.Result[sumResult](t.Context(), c, failed)
	want(t, "result", err, client.ErrFailed)
	if e, ok := errors.AsType[*client.JobError](err); !ok || e.ID != failed || !strings.Contains(e.Message, "at all") || strings.Contains(err.Error(), "at all") {
		t.Errorf("error of a failed job: %#v", err)
	}
	want(t, "cancel", c.Cancel(t.Context(), failed), client.ErrEnded, "it is failed")

	held := submit(t, c, client.SubmitOptions{Params: sumParams{N: 100, Hold: true}})
	for s, err := range c.Watch(t.Context(), held) {
		if err != nil {
			t.Fatal(err)
		}
		if s.Live != nil && s.Live.Workers == 1 && s.Epoch == 1 && s.Partitions == 100 {
			break
		}
	}
	if p, err := c.Progress(t.Context(), held); err != nil || p.Partitions != 100 {
		t.Errorf("progress: %+v, %v", p, err)
	}
	_, err = client.Result[sumResult](t.Context(), c, held)
	want(t, "result", err, client.ErrNotEnded, "it is running")
	_, err = c.Remove(t.Context(), failed, held)
	want(t, "remove", err, client.ErrNotEnded, held)
	if _, err := c.Outcome(t.Context(), failed); err != nil {
		t.Errorf("a refused removal removed something: %v", err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	_, err = c.Wait(ctx, held)
	want(t, "wait", err, context.DeadlineExceeded)
	for range 2 {
		if err := c.Cancel(t.Context(), held); err != nil {
			t.Error(err)
		}
	}
	s, err = c.Wait(t.Context(), held)
	if err != nil || s.State != client.Cancelled {
		t.Errorf("after Cancel: %+v, %v", s, err)
	}
	want(t, "status", s.Err(), client.ErrCancelled, "was cancelled")
	_, err = c.Progress(t.Context(), held)
	want(t, "progress", err, client.ErrNotFound)
}

// TestLeader asks for the leader, and hands the lease over to the other worker.
func TestLeader(t *testing.T) {
	where := onJetStream(t)
	startWorkers(t, where, 2)
	c := connect(t, where, 30*time.Second)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if workers, err := c.Workers(t.Context()); err != nil || time.Now().After(deadline) {
			t.Fatalf("%+v, %v", workers, err)
		} else if len(workers.Workers) == 2 {
			break
		}
	}
	first, err := c.Leader(t.Context())
	if err != nil || first.Epoch != 1 {
		t.Fatalf("leader: %+v, %v", first, err)
	}
	old, err := c.StepDown(t.Context())
	if err != nil || old.Worker != first.Worker {
		t.Fatalf("step down: %+v, %v", old, err)
	}
	next, err := c.LeaderAfter(t.Context(), old.Epoch)
	if err != nil || next.Worker == old.Worker || next.Epoch != 2 {
		t.Errorf("next leader: %+v, %v", next, err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		terms, err := c.History(t.Context())
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("history: %+v, %v", terms, err)
		}
		if len(terms) == 2 && terms[1].Epoch == 2 && terms[1].Cause == "handover" {
			break
		}
	}
}

// TestWithoutLeader uses a cluster that has no workers.
func TestWithoutLeader(t *testing.T) {
	t.Parallel() // it mostly waits for answers that do not come
	c := connect(t, onJetStream(t), 2*time.Second)
	id := submit(t, c, client.SubmitOptions{})
	s, err := c.Status(t.Context(), id)
	if err != nil || s.State != client.Queued || s.Epoch != 0 || s.Live != nil {
		t.Errorf("status: %+v, %v", s, err)
	}
	_, err = c.Leader(t.Context())
	want(t, "leader", err, client.ErrNoLeader, "cluster default", "2s")
	_, err = c.LeaderAfter(t.Context(), 7)
	want(t, "leader after", err, client.ErrNoLeader, "epoch 7")
	_, err = c.StepDown(t.Context())
	want(t, "step down", err, client.ErrNoLeader)
	_, err = c.Workers(t.Context())
	want(t, "workers", err, client.ErrNoLeader)
	_, err = c.Progress(t.Context(), id)
	want(t, "progress", err, client.ErrNoLeader)
	want(t, "cancel", c.Cancel(t.Context(), id), client.ErrNoLeader)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_, err = c.Leader(ctx)
	want(t, "leader, cancelled", err, context.Canceled)
}

func TestFind(t *testing.T) {
	c := connect(t, onJetStream(t), time.Second)
	one := submit(t, c, client.SubmitOptions{})
	for _, prefix := range []string{one, one[:15], one[:1]} {
		if id, err := c.Find(t.Context(), prefix); err != nil || id != one {
			t.Errorf("find %s: %s, %v", prefix, id, err)
		}
	}
	submit(t, c, client.SubmitOptions{})
	for prefix, target := range map[string]error{one[:1]: client.ErrAmbiguous, "zz": client.ErrNotFound, "../x": client.ErrNotFound} {
		_, err := c.Find(t.Context(), prefix)
		want(t, prefix, err, target, prefix)
	}
	if ids, err := c.IDs(t.Context()); err != nil || len(ids) != 2 || ids[0] != one {
		t.Errorf("IDs: %v, %v", ids, err)
	}
	missing := "0123456789abcdef"
	_, err := c.Status(t.Context(), missing)
	want(t, "status", err, client.ErrNotFound)
	_, err = c.Wait(t.Context(), missing)
	want(t, "wait", err, client.ErrNotFound)
	_, err = c.Remove(t.Context(), missing)
	want(t, "remove", err, client.ErrNotFound, missing)
	want(t, "requeue", c.Requeue(t.Context(), missing), client.ErrNotFound, missing)
}

type notedParams struct {
	Note string `json:"note"`
}

func TestInvalid(t *testing.T) {
	c := connect(t, onJetStream(t), time.Second)
	for _, tt := range []struct {
		o    client.SubmitOptions
		text string
	}{
		{client.SubmitOptions{Priority: 1001}, "Priority 1001: want -1000 to 1000"},
		{client.SubmitOptions{MaxAttempts: -1}, "MaxAttempts -1: want at least 1"},
		{client.SubmitOptions{MaxSkipped: 1_000_001}, "MaxSkipped 1000001: want at most 1000000"},
		{client.SubmitOptions{Params: sumParams{N: 2000}}, "parameter n"},
		{client.SubmitOptions{Params: sumResult{}}, "want client_test.sumParams"},
		{client.SubmitOptions{Pairs: []string{"m=1"}}, `unknown parameter "m"`},
	} {
		_, err := c.Submit(t.Context(), jobs.MustNew(sum), tt.o)
		want(t, tt.text, err, client.ErrInvalid, tt.text)
	}
	noted := jobs.MustNew(jobs.Definition[notedParams, int, int]{
		Name: "noted", Version: "1",
		Plan: func(context.Context, notedParams) (jobs.Plan, error) { return jobs.Plan{Partitions: 1}, nil },
		Open: func(context.Context, notedParams, jobs.Plan) (jobs.Mapper[int], error) {
			return nil, errors.ErrUnsupported
		},
		Merge:  func(left, _ int) (int, error) { return left, nil },
		Finish: func(_ context.Context, _ notedParams, root int) (int, error) { return root, nil },
	})
	_, err := c.Submit(t.Context(), noted, client.SubmitOptions{Params: notedParams{strings.Repeat("\x01", 70_000)}})
	want(t, "large parameters", err, client.ErrInvalid, "the parameters have 420011 bytes as JSON: want at most 393216")
	_, _, err = c.List(t.Context())
	want(t, "list", err, client.ErrUnused)
}

// TestDamaged checks the errors for damaged records of jobs, and for poisoned submissions.
func TestDamaged(t *testing.T) {
	where := onJetStream(t)
	c := connect(t, where, time.Second)
	driver, err := jetstream.Open(t.Context(), c.Conn(), jetstream.Config{Cluster: "default"})
	if err != nil {
		t.Fatal(err)
	}
	good, bad, newer := submit(t, c, client.SubmitOptions{}), submit(t, c, client.SubmitOptions{}), submit(t, c, client.SubmitOptions{})
	for id, value := range map[string][]byte{bad: {1, 2, 3}, newer: {99}} {
		if _, err := driver.Put(t.Context(), "spec/"+id, value, store.Always); err != nil {
			t.Fatal(err)
		}
	}
	list, damaged, err := c.List(t.Context())
	if err != nil || len(list) != 1 || list[0].ID != good || len(damaged) != 2 {
		t.Fatalf("list: %+v, %+v, %v", list, damaged, err)
	}
	reasons := map[string]error{bad: client.ErrDamaged, newer: client.ErrNewer}
	for _, d := range damaged { // in order of the IDs, which is not that of the submissions if the clock is set back
		want(t, "list", d.Err, reasons[d.ID], d.ID)
	}
	_, err = c.Status(t.Context(), bad)
	want(t, "status", err, client.ErrDamaged)
	_, err = c.Remove(t.Context(), newer)
	want(t, "remove", err, client.ErrNewer)
	if removed, err := c.Remove(t.Context(), bad); err != nil || len(removed) != 1 {
		t.Errorf("remove: %v, %v", removed, err)
	}

	if err := driver.Send(t.Context(), []byte("garbage")); err != nil {
		t.Fatal(err)
	}
	startWorkers(t, where, 1)
	var poisoned []client.Poisoned
	for deadline := time.Now().Add(time.Minute); len(poisoned) == 0; time.Sleep(10 * time.Millisecond) {
		if poisoned, err = c.Poisoned(t.Context()); err != nil || time.Now().After(deadline) {
			t.Fatalf("poison list: %v, %v", poisoned, err)
		}
	}
	if err := c.Requeue(t.Context(), poisoned[0].Name); err != nil {
		t.Error(err)
	}
	if _, err := c.Wait(t.Context(), good); err != nil {
		t.Error(err)
	}
	if _, err := driver.Put(t.Context(), "result/"+good, []byte(`{"sum":46}`), store.Always); err != nil {
		t.Fatal(err)
	}
	_, err = client.Result[sumResult](t.Context(), c, good)
	want(t, "result", err, client.ErrDamaged, "SHA-256")
}

// TestUnreachable checks the errors for servers that do not run, refuse the client, or lack
// JetStream.
func TestUnreachable(t *testing.T) {
	connectTo := func(cfg cluster.Config) error {
		_, err := client.Connect(t.Context(), client.Config{Cluster: cfg})
		return err
	}
	at := func(s *server.Server) cluster.Config { return cluster.Config{NATS: cluster.NATS{URL: s.ClientURL()}} }
	want(t, "no server", connectTo(cluster.Config{NATS: cluster.NATS{URL: "nats://127.0.0.1:1"}}), cluster.ErrNoServer, "nats://127.0.0.1:1")
	want(t, "no name", connectTo(cluster.Config{Name: "No Such"}), cluster.ErrConfig)
	want(t, "password", connectTo(at(natstest.StartOptions(t, server.Options{Username: "a", Password: "b"}))), cluster.ErrUnauthorized)
	want(t, "small messages", connectTo(at(natstest.StartOptions(t, server.Options{MaxPayload: 1<<20 - 1}))), cluster.ErrPayload, "1048575", "1048576")
	_, err := client.Connect(t.Context(), client.Config{Timeout: -1})
	want(t, "timeout", err, cluster.ErrConfig, "Timeout")

	plain := connect(t, at(natstest.StartOptions(t, server.Options{})), time.Second)
	_, _, err = plain.List(t.Context())
	want(t, "no JetStream", err, client.ErrUnavailable, "storage of cluster default", "JetStream")

	if azuritetest.Wanted() {
		where := onJetStream(t)
		where.Storage = cluster.Azure
		where.Azure.ConnectionString = strings.Replace(azuritetest.Server(t).ConnectionString(), "AccountKey=Eby8", "AccountKey=Abcd", 1)
		_, _, err = connect(t, where, 10*time.Second).List(t.Context())
		want(t, "wrong key", err, client.ErrDenied, "refuses", "the key was not accepted")
	}

	server := natstest.StartOptions(t, server.Options{JetStream: true})
	c := connect(t, at(server), 2*time.Second)
	id := submit(t, c, client.SubmitOptions{})
	natstest.Stop(server)
	if _, err := c.Wait(t.Context(), id); err == nil {
		t.Error("Wait without a server returned no error")
	}
	for _, err = range c.Watch(t.Context(), id) {
	}
	if err == nil {
		t.Error("Watch without a server ended without an error")
	}
}
