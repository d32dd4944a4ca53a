package azure_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue"

	"github.com/bellwether-compute/bellwether/deploy/local/azurite/azuritetest"
	"github.com/bellwether-compute/bellwether/deploy/local/faults"
	"github.com/bellwether-compute/bellwether/deploy/local/logtest"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/azure"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

// faulty opens the storage of a new cluster through a transport that injects faults.
func faulty(t *testing.T, cfg azure.Config) (*azure.Driver, *faults.Transport) {
	t.Helper()
	a, transport := azuritetest.Faulty(t)
	d := open(t, a, cfg)
	if err := d.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	return d, transport
}

func wantStored(t *testing.T, d *azure.Driver, key, want string) store.Version {
	t.Helper()
	value, version, err := d.Get(t.Context(), key)
	if err != nil || string(value) != want {
		t.Fatalf("Get %s: %q, %v; want %q", key, value, err, want)
	}
	return version
}

// passing contains faults that affect only one try of the SDK.
var passing = map[string]faults.Fault{
	"reset":        {Reset: true},
	"500":          {Status: 500, Code: "InternalError"},
	"503":          {Status: 503, Code: "ServerBusy", RetryAfter: 1},
	"429":          {Status: 429},
	"lost answer":  {LoseAnswer: true},
	"slow request": {Delay: 2 * time.Second},
	"slow answer":  {Late: 2 * time.Second},
}

func TestPassingFaults(t *testing.T) {
	t.Parallel()
	for name, fault := range passing {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, transport := faulty(t, azure.Config{})
			once := func(kind account.Kind) { transport.Set(faults.Times(1, fault, kind)) }
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			once(account.PutBlob)
			_, err := d.Put(t.Context(), "a/b", []byte("one"), store.Always)
			must(err)
			once(account.GetBlob)
			version := wantStored(t, d, "a/b", "one")
			once(account.PutBlob)
			_, err = d.Put(t.Context(), "a/b", []byte("two"), store.IfVersion(version))
			if lost := fault.LoseAnswer; lost != errors.Is(err, store.ErrConflict) || !lost && err != nil {
				t.Fatalf("replace: %v", err)
			}
			wantStored(t, d, "a/b", "two") // the value was written, although the writer may have got an error
			once(account.PutBlob)
			_, err = d.Put(t.Context(), "a/c", []byte("new"), store.IfAbsent)
			if lost := fault.LoseAnswer; lost != errors.Is(err, store.ErrConflict) || !lost && err != nil {
				t.Fatalf("create: %v", err)
			}
			wantStored(t, d, "a/c", "new")
			once(account.ListBlobs)
			keys, err := d.List(t.Context(), "a/")
			if err != nil || len(keys) != 2 {
				t.Fatalf("List: %q, %v", keys, err)
			}
			once(account.DeleteBlob)
			must(d.Delete(t.Context(), "a/b"))
			if _, _, err := d.Get(t.Context(), "a/b"); !errors.Is(err, store.ErrNotFound) {
				t.Fatalf("Get what was deleted: %v", err)
			}
		})
	}
}

func TestPassingFaultsOfTheQueue(t *testing.T) {
	t.Parallel()
	for name, fault := range passing {
		if fault.LoseAnswer {
			continue // the message of an earlier case was received
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// The hide time must be longer than the delay of a slow response.
			d, transport := faulty(t, azure.Config{HideFor: 10 * time.Second})
			once := func(kind account.Kind) { transport.Set(faults.Times(1, fault, kind)) }
			once(account.SendMessage)
			if err := d.Send(t.Context(), []byte("text")); err != nil {
				t.Fatal(err)
			}
			once(account.ReceiveMessages)
			m, err := d.Receive(t.Context())
			if err != nil || string(m.Body()) != "text" || m.Deliveries() != 1 {
				t.Fatalf("Receive: %v, %v", m, err)
			}
			once(account.UpdateMessage)
			if err := m.Extend(t.Context()); err != nil {
				t.Fatalf("Extend: %v", err)
			}
			once(account.DeleteMessage)
			if err := m.Delete(t.Context()); err != nil {
				t.Fatalf("Delete: %v", err)
			}
		})
	}
}

// TestLostAnswersOfTheQueue checks the effects of lost responses of the queue.
func TestLostAnswersOfTheQueue(t *testing.T) {
	t.Parallel()
	d, transport := faulty(t, azure.Config{})
	lose := func(kind account.Kind) { transport.Set(faults.Times(1, faults.Fault{LoseAnswer: true}, kind)) }
	receive := func(deliveries int) store.Message {
		t.Helper()
		m, err := d.Receive(t.Context())
		if err != nil || m.Deliveries() != deliveries {
			t.Fatalf("received %v, %v; want delivery %d", m, err, deliveries)
		}
		return m
	}
	// If the response to a Send is lost, a retry adds the message a second time.
	lose(account.SendMessage)
	if err := d.Send(t.Context(), []byte("text")); err != nil {
		t.Fatal(err)
	}
	one, two := receive(1), receive(1)
	if err := one.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	// If the response to an Extend is lost, the receipt is lost, and the message is delivered
	// again.
	lose(account.UpdateMessage)
	if err := two.Extend(t.Context()); !errors.Is(err, store.ErrConflict) {
		t.Fatalf("Extend: %v, want ErrConflict", err)
	}
	if err := two.Delete(t.Context()); !errors.Is(err, store.ErrConflict) {
		t.Fatalf("Delete: %v, want ErrConflict", err)
	}
	two = receive(2)
	// If the response to a Delete is lost, the message has been deleted.
	lose(account.DeleteMessage)
	if err := two.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	// If the response to a Receive is lost, the delivery count increases.
	if err := d.Send(t.Context(), []byte("text")); err != nil {
		t.Fatal(err)
	}
	lose(account.ReceiveMessages)
	if err := receive(2).Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestLastingFaults(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]faults.Fault{
		"reset":            {Reset: true},
		"lost answers":     {LoseAnswer: true},
		"500":              {Status: 500, Code: "InternalError"},
		"429":              {Status: 429},
		"503, long pause":  {Status: 503, Code: "ServerBusy", RetryAfter: 60},
		"no answer at all": {Delay: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, transport := faulty(t, azure.Config{CallTimeout: 2 * time.Second})
			if err := d.Send(t.Context(), []byte("text")); err != nil {
				t.Fatal(err)
			}
			m, err := d.Receive(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			transport.Set(faults.Always(fault))
			for doing, do := range map[string]func() error{
				"Get":    func() error { _, _, err := d.Get(t.Context(), "a/b"); return err },
				"Put":    func() error { _, err := d.Put(t.Context(), "a/b", []byte("x"), store.IfAbsent); return err },
				"Delete": func() error { return d.Delete(t.Context(), "a/b") },
				"List":   func() error { _, err := d.List(t.Context(), "a/"); return err },
				"Send":   func() error { return d.Send(t.Context(), []byte("x")) },
				"Extend": func() error { return m.Extend(t.Context()) },
				"Check":  func() error { return d.Check(t.Context()) },
			} {
				begun := time.Now()
				err := do()
				if !errors.Is(err, store.ErrUnavailable) {
					t.Errorf("%s: %v, want ErrUnavailable", doing, err)
				} else if strings.Contains(err.Error(), "\n") {
					t.Errorf("%s: the error is a page:\n%v", doing, err)
				}
				if took := time.Since(begun); took > 3*time.Second {
					t.Errorf("%s, bounded by 2 s, took %v", doing, took)
				}
			}
		})
	}
}

func TestFailedPreconditionIsAConflict(t *testing.T) {
	d, transport := faulty(t, azure.Config{})
	transport.Set(faults.Times(1, faults.Fault{Status: 412, Code: "ConditionNotMet"}, account.PutBlob))
	if _, err := d.Put(t.Context(), "a/b", nil, store.IfVersion(`"0x1"`)); !errors.Is(err, store.ErrConflict) {
		t.Errorf("got %v, want ErrConflict", err)
	}
}

func TestTooLargeIsNotRetried(t *testing.T) {
	d, transport := faulty(t, azure.Config{})
	transport.Set(faults.Times(1, faults.Fault{Status: 413, Code: "RequestBodyTooLarge"}, account.PutBlob))
	if _, err := d.Put(t.Context(), "a/b", nil, store.Always); !errors.Is(err, store.ErrTooLarge) || errors.Is(err, store.ErrUnavailable) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
}

func TestCutAnswerIsNotAValue(t *testing.T) {
	d, transport := faulty(t, azure.Config{})
	value := bytes.Repeat([]byte("0123456789"), 1<<17)
	if _, err := d.Put(t.Context(), "a/b", value, store.Always); err != nil {
		t.Fatal(err)
	}
	transport.Set(faults.Times(1, faults.Fault{CutAnswer: true}, account.GetBlob))
	if got, _, err := d.Get(t.Context(), "a/b"); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("got %d bytes, %v; want ErrUnavailable", len(got), err)
	}
	if got, _, err := d.Get(t.Context(), "a/b"); err != nil || !bytes.Equal(got, value) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}

// TestReceiveOutlastsAnOutage checks that a waiting receiver gets a message after storage was
// unavailable.
func TestReceiveOutlastsAnOutage(t *testing.T) {
	var log logtest.Log
	d, transport := faulty(t, azure.Config{PollEvery: 200 * time.Millisecond, Logger: log.Logger()})
	transport.Set(faults.Always(faults.Fault{Status: 503, Code: "ServerBusy", RetryAfter: 60}))
	received := make(chan string, 1)
	go func() {
		m, err := d.Receive(t.Context())
		if err != nil {
			received <- err.Error()
			return
		}
		received <- string(m.Body())
	}()
	log.Await(t, 1, "Queue is unavailable")
	transport.Set(nil)
	if err := d.Send(t.Context(), []byte("after")); err != nil {
		t.Fatal(err)
	}
	if got := <-received; got != "after" {
		t.Errorf("received %q", got)
	}
	log.Await(t, 1, "Queue is back")
	if n := log.Count("Queue is unavailable"); n != 1 {
		t.Errorf("said %d times that the queue is away", n)
	}
}

// TestReceiverThatGivesUpHidesNothing cancels a receiver while a response with a message is in
// flight. The message must become visible again at once.
func TestReceiverThatGivesUpHidesNothing(t *testing.T) {
	d, transport := faulty(t, azure.Config{HideFor: time.Hour})
	if err := d.Send(t.Context(), []byte("text")); err != nil {
		t.Fatal(err)
	}
	transport.Set(faults.Times(1, faults.Fault{Late: 150 * time.Millisecond}, account.ReceiveMessages))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if m, err := d.Receive(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("received %v, %v", m, err)
	}
	if n := transport.Requests(account.UpdateMessage); n != 1 {
		t.Errorf("the message was put back %d times", n)
	}
	m, err := d.Receive(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if m.Deliveries() != 2 {
		t.Errorf("delivery counts %d", m.Deliveries())
	}
}

func TestIdleReceiverIsCheap(t *testing.T) {
	t.Parallel()
	d, transport := faulty(t, azure.Config{PollEvery: 800 * time.Millisecond})
	before := transport.Requests()
	ctx, cancel := context.WithTimeout(t.Context(), 3200*time.Millisecond)
	defer cancel()
	if m, err := d.Receive(ctx); err == nil {
		t.Fatalf("received %q", m.Body())
	}
	// Requests are sent at 0, 0.1, 0.3, 0.7, 1.5, 2.3 and 3.1 s, and each pause may be an eighth
	// shorter.
	if n := transport.Requests() - before; n < 4 || n > 9 {
		t.Errorf("made %d requests", n)
	}
}

// TestForeignMessage checks messages that other programs have sent to the queue.
func TestForeignMessage(t *testing.T) {
	cluster := newCluster()
	a := azuritetest.Account(t, account.Config{})
	d := open(t, a, azure.Config{Cluster: cluster})
	if err := d.Send(t.Context(), []byte("ours")); err != nil {
		t.Fatal(err)
	}
	queue, err := a.Queue(azure.Name(cluster), account.Retry{Within: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"not base64 <&>", ""} {
		if _, err := queue.EnqueueMessage(t.Context(), text, nil); err != nil {
			t.Fatal(err)
		}
	}
	peeked, err := queue.PeekMessage(t.Context(), &azqueue.PeekMessageOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if expires := peeked.Messages[0].ExpirationTime; time.Until(*expires) < 10*365*24*time.Hour {
		t.Errorf("a message expires at %v", expires)
	}
	for _, want := range []string{"ours", "not base64 <&>", ""} {
		m, err := d.Receive(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if string(m.Body()) != want {
			t.Errorf("received %q, want %q", m.Body(), want)
		}
		if err := m.Extend(t.Context()); err != nil {
			t.Error(err)
		}
		if err := m.Delete(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestRequests checks the number and the kinds of the requests of each call. Other tests inject
// faults by the kind of request.
func TestRequests(t *testing.T) {
	d, transport := faulty(t, azure.Config{})
	want := func(doing string, kind account.Kind, do func() error) {
		t.Helper()
		total, ofKind := transport.Requests(), transport.Requests(kind)
		if err := do(); err != nil {
			t.Fatalf("%s: %v", doing, err)
		}
		if n := transport.Requests() - total; n != 1 || transport.Requests(kind)-ofKind != 1 {
			t.Errorf("%s took %d requests, want 1 to %s", doing, n, kind)
		}
	}
	var m store.Message
	want("Put", account.PutBlob, func() error {
		_, err := d.Put(t.Context(), "a/b", make([]byte, 5<<20), store.IfAbsent)
		return err
	})
	want("Get", account.GetBlob, func() error { _, _, err := d.Get(t.Context(), "a/b"); return err })
	want("List", account.ListBlobs, func() error { _, err := d.List(t.Context(), "a/"); return err })
	want("Delete", account.DeleteBlob, func() error { return d.Delete(t.Context(), "a/b") })
	want("Send", account.SendMessage, func() error { return d.Send(t.Context(), []byte("x")) })
	want("Receive", account.ReceiveMessages, func() (err error) { m, err = d.Receive(t.Context()); return err })
	want("Extend", account.UpdateMessage, func() error { return m.Extend(t.Context()) })
	want("Delete", account.DeleteMessage, func() error { return m.Delete(t.Context()) })
	before := transport.Requests()
	if err := d.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := transport.Requests() - before; n != 2 {
		t.Errorf("Check took %d requests", n)
	}
	for _, kind := range []account.Kind{account.CreateContainer, account.CreateQueue, account.GetQueue, account.GetProperties} {
		if transport.Requests(kind) == 0 {
			t.Errorf("no request counts as one to %s", kind)
		}
	}
	if n := transport.Requests(account.Other); n != 0 {
		t.Errorf("%d requests count as other ones", n)
	}
}

// TestNothingIsThere checks reads before the first write.
func TestNothingIsThere(t *testing.T) {
	d := open(t, azuritetest.Account(t, account.Config{}), azure.Config{})
	if _, _, err := d.Get(t.Context(), "a/b"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Get: %v", err)
	}
	if keys, err := d.List(t.Context(), "a/"); err != nil || len(keys) != 0 {
		t.Errorf("List: %q, %v", keys, err)
	}
	if err := d.Delete(t.Context(), "a/b"); err != nil {
		t.Errorf("Delete: %v", err)
	}
	if err := d.DeletePrefix(t.Context(), "a/"); err != nil {
		t.Errorf("DeletePrefix: %v", err)
	}
	if _, err := d.Put(t.Context(), "a/b", nil, store.IfVersion(`"0x1"`)); !errors.Is(err, store.ErrConflict) {
		t.Errorf("Put: %v", err)
	}
}

func TestConfigIsChecked(t *testing.T) {
	a := azuritetest.Account(t, account.Config{})
	for _, cfg := range []azure.Config{
		{},
		{Cluster: "Upper"},
		{Cluster: "two--dashes"},
		{Cluster: "at-the-end-"},
		{Cluster: strings.Repeat("x", 41)},
		{Cluster: "c", HideFor: 1500 * time.Millisecond},
		{Cluster: "c", HideFor: 8 * 24 * time.Hour},
		{Cluster: "c", PollEvery: time.Millisecond},
		{Cluster: "c", CallTimeout: -1},
	} {
		if _, err := azure.Open(a, cfg); err == nil {
			t.Errorf("Open takes %+v", cfg)
		}
	}
}

func TestWrongKey(t *testing.T) {
	wrong := strings.Replace(azuritetest.Server(t).ConnectionString(), "AccountKey=Eby8", "AccountKey=AAAA", 1)
	d := open(t, azuritetest.Account(t, account.Config{ConnectionString: wrong}), azure.Config{})
	for doing, do := range map[string]func() error{
		"Check": func() error { return d.Check(t.Context()) },
		"Get":   func() error { _, _, err := d.Get(t.Context(), "a/b"); return err },
		"Send":  func() error { return d.Send(t.Context(), []byte("x")) },
	} {
		err := do()
		if !errors.Is(err, account.ErrDenied) || !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "copy the connection string again") {
			t.Errorf("%s with a wrong key: %v", doing, err)
		}
	}
}
