package bloblease_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/deploy/local/azurite/azuritetest"
	"github.com/bellwether-compute/bellwether/deploy/local/faults"
	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/election/bloblease"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

func newID() string {
	return fmt.Sprintf("%08x-0000-4000-8000-%012x", rand.Uint32(), rand.Uint64()&(1<<48-1))
}

// retry repeats a call while storage is unavailable.
func retry(t *testing.T, doing string, do func() error) error {
	t.Helper()
	for range 20 {
		begun := time.Now()
		err := do()
		if took := time.Since(begun); took > 7*time.Second {
			t.Fatalf("%s: a call bounded by 5s took %v", doing, took)
		}
		if !errors.Is(err, election.ErrUnavailable) {
			return err
		}
		if text := err.Error(); strings.Contains(text, "\n") {
			t.Fatalf("%s: the error is too long:\n%s", doing, text)
		}
	}
	t.Fatalf("%s: storage is still unavailable", doing)
	return nil
}

// lifecycle makes every kind of call on a lease and checks that each claim gets the next
// epoch.
func lifecycle(t *testing.T, a *account.Account, cfg bloblease.Config) {
	cfg.Container = newContainer()
	lease := open(t, a, cfg)
	epoch := uint64(0)
	acquire := func(holder, over string) election.Record {
		t.Helper()
		epoch++
		claim := election.Claim{Holder: holder, LeaseID: newID(), Replaces: over}
		var record election.Record
		err := retry(t, "acquire", func() (err error) {
			record, err = lease.Acquire(t.Context(), claim)
			return err
		})
		want := election.Record{Epoch: epoch, Holder: holder, LeaseID: claim.LeaseID, Held: true}
		if err != nil || record != want {
			t.Fatalf("acquired %+v, %v; want %+v", record, err, want)
		}
		return record
	}
	must := func(doing string, do func() error) {
		t.Helper()
		if err := retry(t, doing, do); err != nil {
			t.Fatalf("%s: %v", doing, err)
		}
	}

	first := acquire("a", "")
	must("renew", func() error { return lease.Renew(t.Context(), first) })
	offered := newID()
	must("transfer", func() error { return lease.Transfer(t.Context(), first, offered) })
	second := acquire("b", offered)
	third := acquire("c", second.LeaseID)
	for _, former := range []election.Record{first, second} {
		if err := retry(t, "renew", func() error { return lease.Renew(t.Context(), former) }); !errors.Is(err, election.ErrLost) {
			t.Fatalf("renewal of a former holder: %v, want ErrLost", err)
		}
	}
	must("release", func() error { return lease.Release(t.Context(), third) })
	last := acquire("d", third.LeaseID)
	fresh := open(t, a, cfg)
	must("read", func() error {
		record, err := fresh.Read(t.Context())
		if err == nil && record != last {
			t.Fatalf("read %+v, want %+v", record, last)
		}
		return err
	})
}

// tries is the number of times that the SDK tries a request.
const tries = 4

func TestLifecycleWithFaults(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]faults.Fault{
		"lost answer":        {LoseAnswer: true},
		"reset":              {Reset: true},
		"500":                {Status: 500, Code: "InternalError"},
		"503":                {Status: 503, Code: "ServerBusy"},
		"503, short retry":   {Status: 503, Code: "ServerBusy", RetryAfter: 1},
		"503, long retry":    {Status: 503, Code: "ServerBusy", RetryAfter: 60},
		"429 without a code": {Status: 429},
		"500, timed out":     {Status: 500, Code: "OperationTimedOut"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, transport := azuritetest.Faulty(t)
			for _, kind := range leaseKinds {
				if fault.Status > 0 { // a refused request changes nothing, so no kind of request needs a lifecycle for itself
					break
				}
				transport.Set(faults.Times(1, fault, kind))
				lifecycle(t, a, bloblease.Config{})
				transport.Set(faults.Times(tries, fault, kind)) // every try fails
				lifecycle(t, a, bloblease.Config{})
			}
			for _, times := range []int{2, tries} {
				if fault.RetryAfter > 0 && times == tries { // the SDK waits for the duration of RetryAfter
					break
				}
				each := map[account.Kind]faults.Decide{}
				for _, kind := range leaseKinds {
					each[kind] = faults.Times(times, fault)
				}
				transport.Set(func(kind account.Kind, r *http.Request) faults.Fault { return each[kind](kind, r) })
				lifecycle(t, a, bloblease.Config{})
			}
		})
	}
}

func TestOneFailedPreconditionIsExamined(t *testing.T) {
	a, transport := azuritetest.Faulty(t)
	transport.Set(faults.Times(1, faults.Fault{Status: 412, Code: "ConditionNotMet"}, account.SetMetadata))
	lifecycle(t, a, bloblease.Config{})
}

// TestSlowStorage uses a storage that takes 1 s for each request, so that no acquisition finishes
// within one call.
func TestSlowStorage(t *testing.T) {
	t.Parallel()
	const latency, callTimeout = time.Second, 3500 * time.Millisecond // two requests fit into a call, but not all requests of the first claim
	for name, slow := range map[string]faults.Fault{
		"requests": {Delay: latency},
		"answers":  {Late: latency},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, transport := azuritetest.Faulty(t)
			transport.Set(faults.Always(slow))
			lifecycle(t, a, bloblease.Config{CallTimeout: callTimeout})
		})
	}
}

func TestCallsAreBounded(t *testing.T) {
	t.Parallel()
	a, transport := azuritetest.Faulty(t)
	lease := open(t, a, bloblease.Config{Container: newContainer()})
	record, err := lease.Acquire(t.Context(), election.Claim{Holder: "a", LeaseID: newID()})
	if err != nil {
		t.Fatal(err)
	}
	for name, fault := range map[string]faults.Fault{
		"black hole": {Delay: time.Hour},
		"busy":       {Status: 503, Code: "ServerBusy", RetryAfter: 1},
		"refused":    {Reset: true},
	} {
		transport.Set(faults.Always(fault))
		for doing, do := range map[string]func(ctx context.Context) error{
			"read":     func(ctx context.Context) error { _, err := lease.Read(ctx); return err },
			"renew":    func(ctx context.Context) error { return lease.Renew(ctx, record) },
			"release":  func(ctx context.Context) error { return lease.Release(ctx, record) },
			"transfer": func(ctx context.Context) error { return lease.Transfer(ctx, record, newID()) },
			"acquire": func(ctx context.Context) error {
				_, err := lease.Acquire(ctx, election.Claim{Holder: "b", LeaseID: newID(), Replaces: record.LeaseID})
				return err
			},
		} {
			const bound = 200 * time.Millisecond
			ctx, cancel := context.WithTimeout(t.Context(), bound)
			begun := time.Now()
			err := do(ctx)
			cancel()
			if took := time.Since(begun); took > bound+500*time.Millisecond {
				t.Errorf("%s, %s: a call bounded by %v took %v", name, doing, bound, took)
			}
			if !errors.Is(err, election.ErrUnavailable) {
				t.Errorf("%s, %s: %v, want ErrUnavailable", name, doing, err)
			}
		}
	}
	transport.Set(faults.Always(faults.Fault{Delay: time.Hour}))
	short := open(t, a, bloblease.Config{Container: newContainer(), CallTimeout: 100 * time.Millisecond})
	begun := time.Now()
	if err := short.Renew(t.Context(), record); !errors.Is(err, election.ErrUnavailable) {
		t.Errorf("renew: %v, want ErrUnavailable", err)
	}
	if took := time.Since(begun); took > time.Second {
		t.Errorf("a call bounded by its lease's config took %v", took)
	}
	transport.Set(nil)
	if err := lease.Renew(t.Context(), record); err != nil {
		t.Errorf("renew when storage is back: %v", err)
	}
}

// TestRequests checks the number of requests that each call makes.
func TestRequests(t *testing.T) {
	a, transport := azuritetest.Faulty(t)
	cfg := bloblease.Config{Container: newContainer()}
	lease, other := open(t, a, cfg), open(t, a, cfg)
	want := func(doing string, n int, do func() error) {
		t.Helper()
		before := transport.Requests()
		if err := do(); err != nil && !errors.Is(err, election.ErrHeld) {
			t.Fatalf("%s: %v", doing, err)
		}
		if got := transport.Requests() - before; got != n {
			t.Errorf("%s took %d requests, want %d", doing, got, n)
		}
	}
	var record election.Record
	acquire := func(lease *bloblease.Lease, over string) func() error {
		return func() error {
			got, err := lease.Acquire(t.Context(), election.Claim{Holder: "a", LeaseID: newID(), Replaces: over})
			if err == nil {
				record = got
			}
			return err
		}
	}
	if transport.Requests() != 0 {
		t.Errorf("Open made %d requests", transport.Requests())
	}
	want("creating", 4, func() error { _, err := lease.Read(t.Context()); return err })
	want("reading", 1, func() error { _, err := lease.Read(t.Context()); return err })
	want("acquiring what was read", 2, acquire(lease, ""))
	want("renewing", 1, func() error { return lease.Renew(t.Context(), record) })
	want("taking over by one that never read", 4, acquire(other, record.LeaseID))
	late := newID()
	want("a late claim", 1, acquire(lease, late))
	want("a late claim again", 2, acquire(lease, late))
	want("a transfer", 2, func() error { return other.Transfer(t.Context(), record, record.LeaseID[:24]+"000000000000") })
	record.LeaseID = record.LeaseID[:24] + "000000000000"
	want("taking up the transfer", 4, acquire(lease, record.LeaseID))
	want("releasing", 1, func() error { return lease.Release(t.Context(), record) })

	// The other tests inject faults into requests of these kinds.
	for _, kind := range leaseKinds {
		if transport.Requests(kind) == 0 {
			t.Errorf("no request has kind %s", kind)
		}
	}
	if n := transport.Requests(account.Other); n != 0 {
		t.Errorf("%d requests have another kind", n)
	}
}

// leaseKinds are the kinds of all requests that a lease makes.
var leaseKinds = []account.Kind{
	account.GetProperties, account.PutBlob, account.CreateContainer, account.SetMetadata,
	account.AcquireLease, account.ChangeLease, account.RenewLease, account.ReleaseLease,
}

var chaosSeed = flag.Uint64("chaos.seed", 0, "run TestChaos with this seed")

// TestRandomFaults lets several processes take the lease from each other under random faults. No
// two holders may get the same epoch.
func TestRandomFaults(t *testing.T) {
	t.Parallel()
	seed := drawSeed(t)
	cfg := bloblease.Config{Container: newContainer()}
	const epochs, length = 5, 6 * time.Second // the test ends after both
	begun := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var (
		wait sync.WaitGroup
		mu   sync.Mutex
		had  = map[uint64]string{}
	)
	for i := range 4 {
		a, transport := azuritetest.Faulty(t)
		transport.Set(roulette(seed + uint64(i)))
		lease, name := open(t, a, cfg), fmt.Sprintf("worker-%d", i)
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		wait.Go(func() {
			for ctx.Err() == nil {
				seen, err := lease.Read(ctx)
				if err != nil {
					continue
				}
				record, ok := claimOver(ctx, t, lease, election.Claim{Holder: name, LeaseID: newID(), Replaces: seen.LeaseID})
				if !ok {
					continue
				}
				mu.Lock()
				if before, twice := had[record.Epoch]; twice {
					t.Errorf("both %[2]s and %[3]s got epoch %[1]d", record.Epoch, before, name)
				}
				had[record.Epoch] = name
				if len(had) >= epochs && time.Since(begun) > length {
					cancel()
				}
				mu.Unlock()
				err = renewReleaseOrTransfer(ctx, lease, record, random.IntN(3))
				if err != nil && !errors.Is(err, election.ErrLost) && !errors.Is(err, election.ErrUnavailable) {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
	wait.Wait()
	if len(had) < epochs {
		t.Errorf("only %d epochs were acquired", len(had))
	}
	a, _ := azuritetest.Faulty(t)
	lease := open(t, a, cfg)
	last, err := lease.Read(t.Context())
	for errors.Is(err, election.ErrUnavailable) && t.Context().Err() == nil {
		last, err = lease.Read(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	for epoch := range had {
		if epoch > last.Epoch {
			t.Errorf("epoch %d was acquired but the record has %d", epoch, last.Epoch)
		}
	}
}

// drawSeed returns the seed of the flag -chaos.seed, or a random seed. If the test fails, drawSeed
// logs the command that replays it.
func drawSeed(t *testing.T) uint64 {
	t.Helper()
	seed := *chaosSeed
	if seed == 0 {
		seed = rand.Uint64() | 1
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("replay (as far as timing allows): go test ./election/bloblease -run TestRandomFaults -chaos.seed=%d", seed)
		}
	})
	return seed
}

// renewReleaseOrTransfer makes one of three calls, and repeats it while storage is unavailable.
func renewReleaseOrTransfer(ctx context.Context, lease *bloblease.Lease, held election.Record, choice int) error {
	offered := newID()
	do := []func() error{
		func() error { return lease.Renew(ctx, held) },
		func() error { return lease.Release(ctx, held) },
		func() error { return lease.Transfer(ctx, held, offered) },
	}[choice]
	err := do()
	for errors.Is(err, election.ErrUnavailable) && ctx.Err() == nil {
		err = do()
	}
	return err
}

// claimOver repeats a claim until its outcome is known.
func claimOver(ctx context.Context, t *testing.T, lease *bloblease.Lease, claim election.Claim) (election.Record, bool) {
	for ctx.Err() == nil {
		record, err := lease.Acquire(ctx, claim)
		switch {
		case err == nil:
			return record, true
		case errors.Is(err, election.ErrHeld):
			return election.Record{}, false
		case !errors.Is(err, election.ErrUnavailable):
			t.Errorf("%s: %v", claim.Holder, err)
			return election.Record{}, false
		}
	}
	return election.Record{}, false
}

// roulette injects a fault into about every third request.
func roulette(seed uint64) faults.Decide {
	var (
		mu     sync.Mutex
		random = rand.New(rand.NewPCG(seed, seed))
		ills   = []faults.Fault{
			{LoseAnswer: true},
			{LoseAnswer: true},
			{Reset: true},
			{Delay: 50 * time.Millisecond},
			{Late: 50 * time.Millisecond},
			{Status: 503, Code: "ServerBusy"},
			{Status: 500, Code: "InternalError"},
			{Status: 503, Code: "ServerBusy", RetryAfter: 60},
		}
	)
	return func(kind account.Kind, _ *http.Request) faults.Fault {
		mu.Lock()
		defer mu.Unlock()
		if random.IntN(3) > 0 {
			return faults.Fault{}
		}
		if kind == account.SetMetadata && random.IntN(4) == 0 {
			return faults.Fault{Status: 412, Code: "ConditionNotMet"}
		}
		return ills[random.IntN(len(ills))]
	}
}

func TestDeletedBlobIsNotRecreated(t *testing.T) {
	a := azuritetest.Account(t, account.Config{})
	name := newContainer()
	lease := open(t, a, bloblease.Config{Container: name})
	record, err := lease.Acquire(t.Context(), election.Claim{Holder: "a", LeaseID: newID()})
	if err != nil {
		t.Fatal(err)
	}
	container, err := a.Container(name, account.Retry{Within: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := container.Delete(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := lease.Renew(t.Context(), record); !errors.Is(err, election.ErrLost) {
		t.Errorf("renew: %v, want ErrLost", err)
	}
	for range 2 {
		if _, err := lease.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "was deleted") {
			t.Errorf("read: %v, want an error that says that the blob was deleted", err)
		}
		if _, err := lease.Acquire(t.Context(), election.Claim{Holder: "a", LeaseID: newID()}); !errors.Is(err, election.ErrUnavailable) {
			t.Errorf("acquire: %v, want ErrUnavailable", err)
		}
	}
}

func TestUnknownRecordIsKept(t *testing.T) {
	a := azuritetest.Account(t, account.Config{})
	for _, metadata := range []map[string]string{
		{"epoch": "0", "holder": "a", "leaseid": "x"},
		{"epoch": "-1", "holder": "a", "leaseid": "x"},
		{"epoch": "1", "holder": "a"},
		{"epoch": "1", "leaseid": "x"},
		{"holder": "a"},
		{"epoch": "18446744073709551616", "holder": "a", "leaseid": "x"},
	} {
		name := newContainer()
		lease := open(t, a, bloblease.Config{Container: name})
		if _, err := lease.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
		container, err := a.Container(name, account.Retry{Within: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		values := map[string]*string{}
		for key, value := range metadata {
			values[key] = &value
		}
		if _, err := container.NewBlobClient("_lease").SetMetadata(t.Context(), values, nil); err != nil {
			t.Fatal(err)
		}
		if record, err := lease.Read(t.Context()); err == nil {
			t.Errorf("metadata %v was read as %+v", metadata, record)
		}
		if record, err := lease.Acquire(t.Context(), election.Claim{Holder: "a", LeaseID: newID()}); err == nil {
			t.Errorf("metadata %v was replaced by %+v", metadata, record)
		}
	}
}

// TestWrongKey checks that the error for a wrong key says how to fix it.
func TestWrongKey(t *testing.T) {
	right := azuritetest.Server(t).ConnectionString()
	wrong := strings.Replace(right, "AccountKey=Eby8", "AccountKey=AAAA", 1)
	lease := open(t, azuritetest.Account(t, account.Config{ConnectionString: wrong}), bloblease.Config{Container: newContainer()})
	_, err := lease.Read(t.Context())
	if !errors.Is(err, account.ErrDenied) || !errors.Is(err, election.ErrUnavailable) || !strings.Contains(err.Error(), "copy the connection string again") {
		t.Errorf("read with a wrong key: %v", err)
	}
	if slices.Contains(strings.Split(err.Error(), ""), "\n") {
		t.Errorf("the error is too long: %v", err)
	}
}
