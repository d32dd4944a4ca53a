package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/deploy/local/logtest"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const hideFor = 30 * time.Second

type fixture struct {
	*store.Store
	blobs *memory.Blobs
	queue *memory.Queue
	log   *logtest.Log
}

func newFixture() fixture {
	f := fixture{blobs: memory.NewBlobs(), queue: memory.NewQueue(hideFor), log: &logtest.Log{}}
	f.Store = store.New(store.Config{Blobs: f.blobs, Queue: f.queue, Logger: f.log.Logger()})
	return f
}

func newSpec() store.Spec {
	now := time.Now()
	return store.Spec{
		ID: store.NewID(now), Job: "primes", Version: "1", Params: jobs.Params(`{"limit":10}`), MaxAttempts: 3,
		Submitted: now.Truncate(time.Microsecond).UTC(),
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("%v, want %v", err, target)
	}
}

// once returns a fault that makes the next call of an operation fail.
func once(operation memory.Operation, done bool) memory.Fault {
	failed := false
	return func(c memory.Call) error {
		if failed || c.Operation != operation || c.Done != done {
			return nil
		}
		failed = true
		return store.ErrUnavailable
	}
}

func TestNewID(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	seen := map[string]bool{}
	last := ""
	for i := range 2000 {
		id := store.NewID(start.Add(time.Duration(i) * time.Millisecond))
		if !store.ValidID(id) || len(id) != 16 {
			t.Fatalf("%q is no ID", id)
		}
		if id <= last {
			t.Fatalf("%s does not sort after %s", id, last)
		}
		last, seen[id[9:]] = id, true
	}
	if len(seen) < 1999 { // two IDs of one millisecond are equal with probability 2^-35
		t.Errorf("2000 IDs have %d random parts", len(seen))
	}
	far := time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC)
	if store.NewID(far) <= store.NewID(start) {
		t.Error("the year 3000 does not sort after 2026")
	}
	for _, bad := range []string{"", "0123456789abcde", "0123456789abcdef0", "0123456789ABCDEF", "0123456789abcdew", "../../etc/passwd"} {
		if store.ValidID(bad) {
			t.Errorf("%q passes for an ID", bad)
		}
	}
}

func TestSubmitAndReceive(t *testing.T) {
	f := newFixture()
	spec := newSpec()
	must(t, f.Submit(t.Context(), spec))
	s, err := f.Receive(t.Context())
	must(t, err)
	if s.ID != spec.ID || s.Deliveries != 1 {
		t.Errorf("received %+v", s)
	}
	got, err := f.Spec(t.Context(), s.ID)
	must(t, err)
	if fmt.Sprintf("%+v", got.Spec) != fmt.Sprintf("%+v", spec) {
		t.Errorf("spec is\n%+v, want\n%+v", got.Spec, spec)
	}
	must(t, s.Extend(t.Context()))
	must(t, s.Delete(t.Context()))
	must(t, s.Delete(t.Context()))
	if f.queue.Len() != 0 {
		t.Errorf("%d messages are left", f.queue.Len())
	}
}

func TestSubmitAgain(t *testing.T) {
	for _, fault := range []memory.Fault{once(memory.Put, false), once(memory.Put, true), once(memory.Send, false), once(memory.Send, true)} {
		f := newFixture()
		spec := newSpec()
		f.blobs.Inject(fault)
		f.queue.Inject(fault)
		want(t, f.Submit(t.Context(), spec), store.ErrUnavailable)
		must(t, f.Submit(t.Context(), spec))
		s, err := f.Receive(t.Context())
		must(t, err)
		if s.ID != spec.ID {
			t.Errorf("received job %s, want %s", s.ID, spec.ID)
		}
		spec.Priority++
		want(t, f.Submit(t.Context(), spec), store.ErrConflict)
	}
}

func TestSubmitRefuses(t *testing.T) {
	f := newFixture()
	for what, change := range map[string]func(*store.Spec){
		"ID":         func(s *store.Spec) { s.ID = "../x" },
		"definition": func(s *store.Spec) { s.Job = "" },
		"version":    func(s *store.Spec) { s.Version = "" },
		"attempts":   func(s *store.Spec) { s.MaxAttempts = 0 },
		"skips":      func(s *store.Spec) { s.MaxSkipped = store.MaxSkipped + 1 },
	} {
		spec := newSpec()
		change(&spec)
		if err := f.Submit(t.Context(), spec); err == nil {
			t.Errorf("a spec with a bad %s is taken", what)
		}
	}
	if f.queue.Len() != 0 {
		t.Errorf("%d messages were sent", f.queue.Len())
	}
}

func TestGarbageDoesNotStopTheQueue(t *testing.T) {
	f := newFixture()
	for _, body := range []string{"", "garbage", "\x02", "\x01\xa1\x01\x63../"} {
		must(t, f.queue.Send(t.Context(), []byte(body)))
	}
	spec := newSpec()
	must(t, f.Submit(t.Context(), spec))
	s, err := f.Receive(t.Context())
	must(t, err)
	if s.ID != spec.ID || f.queue.Len() != 1 {
		t.Errorf("received job %s, %d messages are in the queue", s.ID, f.queue.Len())
	}
	list, err := f.PoisonList(t.Context())
	must(t, err)
	if len(list) != 4 {
		t.Fatalf("%d entries in the poison list, want 4", len(list))
	}
	for _, p := range list {
		if p.Reason == "" || p.Job != "" || p.Deliveries != 1 || time.Since(p.At) > time.Minute {
			t.Errorf("poison list has %+v", p)
		}
		if !strings.Contains(f.log.String(), p.Name) {
			t.Errorf("%s was not logged", p.Name)
		}
	}
}

// TestPoisonSurvivesLostAnswers checks that a submission has one entry in the poison list, even if
// it is delivered again after the entry was written.
func TestPoisonSurvivesLostAnswers(t *testing.T) {
	for _, fault := range []memory.Fault{once(memory.Put, false), once(memory.Put, true), once(memory.Discard, false), once(memory.Discard, true)} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture()
			must(t, f.queue.Send(t.Context(), []byte("garbage")))
			f.blobs.Inject(fault)
			f.queue.Inject(fault)
			_, err := f.Receive(t.Context())
			want(t, err, store.ErrUnavailable)
			ctx, cancel := context.WithTimeout(t.Context(), 2*hideFor)
			defer cancel()
			_, err = f.Receive(ctx)
			want(t, err, context.DeadlineExceeded)
			list, err := f.PoisonList(t.Context())
			must(t, err)
			if len(list) != 1 || f.queue.Len() != 0 {
				t.Errorf("%d entries in the poison list, %d messages in the queue", len(list), f.queue.Len())
			}
		})
	}
}

func TestDeliveredTooOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		begun, stuck := newSpec(), newSpec()
		must(t, f.Submit(t.Context(), begun))
		must(t, f.Submit(t.Context(), stuck))
		_, err := f.PutManifest(t.Context(), begun.ID, store.Manifest{State: store.Running}, store.IfAbsent)
		must(t, err)
		for n := 1; n <= store.MaxDeliveries; n++ {
			for range 2 {
				s, err := f.Receive(t.Context())
				must(t, err)
				if s.Deliveries != n {
					t.Errorf("delivery %d counts %d", n, s.Deliveries)
				}
			}
		}
		s, err := f.Receive(t.Context()) // the job has begun, so further deliveries do not poison the submission
		must(t, err)
		if s.ID != begun.ID || s.Deliveries != store.MaxDeliveries+1 {
			t.Errorf("received %+v", s)
		}
		must(t, s.Delete(t.Context()))
		ctx, cancel := context.WithTimeout(t.Context(), 2*hideFor)
		defer cancel()
		_, err = f.Receive(ctx)
		want(t, err, context.DeadlineExceeded)
		list, err := f.PoisonList(t.Context())
		must(t, err)
		if len(list) != 1 || list[0].Job != stuck.ID || list[0].Name != stuck.ID || f.queue.Len() != 0 {
			t.Errorf("poison list is %+v, %d messages in the queue", list, f.queue.Len())
		}

		must(t, f.Requeue(t.Context(), stuck.ID))
		s, err = f.Receive(t.Context())
		must(t, err)
		if s.ID != stuck.ID || s.Deliveries != 1 {
			t.Errorf("received %+v", s)
		}
		if list, err = f.PoisonList(t.Context()); err != nil || len(list) != 0 {
			t.Errorf("poison list is %+v, %v", list, err)
		}
		want(t, f.Requeue(t.Context(), stuck.ID), store.ErrNotFound)
		want(t, f.Requeue(t.Context(), "../x"), store.ErrNotFound)
		must(t, f.Poison(t.Context(), s, "the spec is gone"))
		if list, err = f.PoisonList(t.Context()); err != nil || len(list) != 1 || list[0].Reason != "the spec is gone" {
			t.Errorf("poison list is %+v, %v", list, err)
		}
	})
}

// TestPoisonedAgain lets a leader move a message to the poison list again while Requeue is about to
// remove the message's old entry.
func TestPoisonedAgain(t *testing.T) {
	f := newFixture()
	must(t, f.Submit(t.Context(), newSpec()))
	s, err := f.Receive(t.Context())
	must(t, err)
	must(t, f.Poison(t.Context(), s, "first"))
	again := false
	f.blobs.Inject(func(call memory.Call) error {
		if call.Operation == memory.Delete && !again {
			again = true
			s, err := f.Receive(t.Context())
			must(t, err)
			must(t, f.Poison(t.Context(), s, "second"))
		}
		return nil
	})
	must(t, f.Requeue(t.Context(), s.ID))
	list, err := f.PoisonList(t.Context())
	if err != nil || len(list) != 1 || list[0].Reason != "second" || !again {
		t.Errorf("poison list is %+v, %v, want the entry of the second leader", list, err)
	}
}

func TestPlanIsKeptOnce(t *testing.T) {
	f := newFixture()
	id := store.NewID(time.Now())
	_, err := f.Plan(t.Context(), id)
	want(t, err, store.ErrNotFound)
	plan := store.Plan{Plan: jobs.Plan{Partitions: 7, Data: []byte("x")}}
	f.blobs.Inject(once(memory.Put, true))
	want(t, f.PutPlan(t.Context(), id, plan), store.ErrUnavailable) // the response is lost
	must(t, f.PutPlan(t.Context(), id, plan))
	want(t, f.PutPlan(t.Context(), id, store.Plan{Plan: jobs.Plan{Partitions: 8}}), store.ErrConflict)
	got, err := f.Plan(t.Context(), id)
	must(t, err)
	if got.Partitions != 7 || string(got.Data) != "x" {
		t.Errorf("plan is %+v", got)
	}
}

func TestManifestsAreChained(t *testing.T) {
	f := newFixture()
	id := store.NewID(time.Now())
	_, _, err := f.Manifest(t.Context(), id)
	want(t, err, store.ErrNotFound)
	put := func(epoch uint64, cond store.Condition) (store.Version, error) {
		return f.PutManifest(t.Context(), id, store.Manifest{Epoch: epoch, State: store.Queued}, cond)
	}
	v1, err := put(1, store.IfAbsent)
	must(t, err)
	v2, err := put(2, store.IfVersion(v1))
	must(t, err)
	_, err = put(1, store.IfVersion(v1)) // the write of the old leader
	want(t, err, store.ErrConflict)
	m, v, err := f.Manifest(t.Context(), id)
	must(t, err)
	if m.Epoch != 2 || v != v2 {
		t.Errorf("manifest of epoch %d, version %q, want 2, %q", m.Epoch, v, v2)
	}
}

func TestPartials(t *testing.T) {
	f := newFixture()
	id, other := store.NewID(time.Now()), store.NewID(time.Now())
	blob, err := f.PutPartial(t.Context(), id, engine.Leaf(1), []byte("partial"))
	must(t, err)
	again, err := f.PutPartial(t.Context(), id, engine.Leaf(1), []byte("partial"))
	must(t, err)
	if again != blob {
		t.Errorf("the same bytes are called %s and %s", blob, again)
	}
	twin, err := f.PutPartial(t.Context(), id, engine.Leaf(2), []byte("partial"))
	must(t, err)
	must(t, f.DropPartial(t.Context(), id, twin))
	must(t, f.DropPartial(t.Context(), id, twin))
	_, err = f.Partial(t.Context(), id, twin)
	want(t, err, store.ErrNotFound)
	kept, err := f.PutPartial(t.Context(), other, engine.Leaf(1), []byte("partial"))
	must(t, err)
	data, err := f.Partial(t.Context(), id, blob)
	must(t, err)
	if string(data) != "partial" {
		t.Errorf("read %q", data)
	}
	for _, bad := range []string{"", "..", "../" + other, strings.Repeat("0", 64)} {
		_, err = f.Partial(t.Context(), id, bad)
		want(t, err, store.ErrNotFound)
	}
	_, err = f.blobs.Put(t.Context(), "partial/"+id+"/"+blob, []byte("Partial"), store.Always)
	must(t, err)
	_, err = f.Partial(t.Context(), id, blob)
	want(t, err, store.ErrCorrupt)
	must(t, f.DropPartials(t.Context(), id))
	must(t, f.DropPartials(t.Context(), id))
	_, err = f.Partial(t.Context(), id, blob)
	want(t, err, store.ErrNotFound)
	_, err = f.Partial(t.Context(), other, kept)
	must(t, err)
}

func TestResultIsKeptOnce(t *testing.T) {
	f := newFixture()
	id := store.NewID(time.Now())
	_, err := f.Result(t.Context(), id, "")
	want(t, err, store.ErrNotFound)
	must(t, f.PutResult(t.Context(), id, []byte(`{"count":4}`)))
	must(t, f.PutResult(t.Context(), id, []byte(`{"count":4}`)))
	want(t, f.PutResult(t.Context(), id, []byte(`{"count":5}`)), store.ErrConflict)
	must(t, f.PutOtherResult(t.Context(), id, []byte(`{"count":5}`)))
	for sha256, want := range map[string]string{
		"": `{"count":4}`, jobs.File(`{"count":4}`).SHA256(): `{"count":4}`, jobs.File(`{"count":5}`).SHA256(): `{"count":5}`, someDigest: `{"count":4}`,
	} {
		got, err := f.Result(t.Context(), id, sha256)
		must(t, err)
		if string(got) != want {
			t.Errorf("result %s is %s, want %s", sha256, got, want)
		}
	}
}

func TestActiveJobs(t *testing.T) {
	f := newFixture()
	now := time.Now()
	second, first := store.NewID(now.Add(time.Second)), store.NewID(now)
	for range 2 {
		must(t, f.Activate(t.Context(), second))
		must(t, f.Activate(t.Context(), first))
	}
	ids, err := f.Active(t.Context())
	must(t, err)
	if !slices.Equal(ids, []string{first, second}) {
		t.Errorf("active are %q, want %q, %q", ids, first, second)
	}
	for range 2 {
		must(t, f.Deactivate(t.Context(), first))
	}
	if ids, err = f.Active(t.Context()); err != nil || !slices.Equal(ids, []string{second}) {
		t.Errorf("active are %q, %v, want %q", ids, err, second)
	}
}

// fill writes a record of every kind for a job.
func fill(t *testing.T, f fixture, spec store.Spec) {
	t.Helper()
	must(t, f.Submit(t.Context(), spec))
	must(t, f.Activate(t.Context(), spec.ID))
	must(t, f.PutPlan(t.Context(), spec.ID, store.Plan{Plan: jobs.Plan{Partitions: 1}}))
	_, err := f.PutManifest(t.Context(), spec.ID, store.Manifest{State: store.Running}, store.IfAbsent)
	must(t, err)
	_, err = f.PutPartial(t.Context(), spec.ID, engine.Leaf(1), []byte("partial"))
	must(t, err)
	must(t, f.PutResult(t.Context(), spec.ID, []byte("1")))
	must(t, f.PutAttachmentPiece(t.Context(), spec.ID, someDigest, 0, []byte("piece")))
}

func keys(t *testing.T, f fixture) (all []string) {
	t.Helper()
	for _, kind := range []string{"spec/", "plan/", "manifest/", "partial/", "result/", "attachment/", "active/", "term/", "poison/"} {
		list, err := f.blobs.List(t.Context(), kind)
		must(t, err)
		all = append(all, list...)
	}
	return all
}

func TestRemove(t *testing.T) {
	f := newFixture()
	kept, gone := newSpec(), newSpec()
	fill(t, f, kept)
	before := keys(t, f)
	fill(t, f, gone)
	f.blobs.Inject(func(c memory.Call) error {
		if c.Operation == memory.Delete && strings.HasPrefix(c.Key, "result/") {
			return store.ErrUnavailable
		}
		return nil
	})
	must(t, f.Submit(t.Context(), gone, jobs.File("one"), jobs.File("two")))
	want(t, f.Remove(t.Context(), gone.ID), store.ErrUnavailable)
	if ids, err := f.Jobs(t.Context()); err != nil || !slices.Contains(ids, gone.ID) {
		t.Errorf("half removed, and no longer among the jobs %q, %v", ids, err)
	}
	f.blobs.Inject(nil)
	must(t, f.Remove(t.Context(), gone.ID))
	must(t, f.Remove(t.Context(), gone.ID))
	if after := keys(t, f); !slices.Equal(after, before) {
		t.Errorf("left are %q, want %q", after, before)
	}
	if ids, err := f.Jobs(t.Context()); err != nil || !slices.Equal(ids, []string{kept.ID}) {
		t.Errorf("jobs are %q, %v", ids, err)
	}
}

func TestJobsOldestFirst(t *testing.T) {
	f := newFixture()
	now := time.Now()
	var ids []string
	for _, age := range []time.Duration{time.Hour, time.Minute, 0, 48 * time.Hour} {
		spec := newSpec()
		spec.ID = store.NewID(now.Add(-age))
		must(t, f.Submit(t.Context(), spec))
		ids = append(ids, spec.ID)
	}
	slices.Sort(ids)
	got, err := f.Jobs(t.Context())
	must(t, err)
	if !slices.Equal(got, ids) {
		t.Errorf("jobs are %q, want %q", got, ids)
	}
	_, err = f.blobs.Put(t.Context(), "spec/no-job", nil, store.Always)
	must(t, err)
	if got, err = f.Jobs(t.Context()); err != nil || !slices.Equal(got, ids) {
		t.Errorf("jobs are %q, %v, want %q", got, err, ids)
	}
}

func TestNoSuchJob(t *testing.T) {
	f := newFixture()
	for _, id := range []string{"", "x", "../../x", "0123456789ABCDEF"} {
		for what, err := range map[string]error{
			"Spec":       second(f.Spec(t.Context(), id)),
			"Plan":       second(f.Plan(t.Context(), id)),
			"Result":     second(f.Result(t.Context(), id, "")),
			"PutPlan":    f.PutPlan(t.Context(), id, store.Plan{Plan: jobs.Plan{Partitions: 1}}),
			"PutPartial": second(f.PutPartial(t.Context(), id, engine.Leaf(1), nil)),
			"Activate":   f.Activate(t.Context(), id),
			"Remove":     f.Remove(t.Context(), id),
		} {
			if !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s of job %q: %v, want ErrNotFound", what, id, err)
			}
		}
	}
	if all := keys(t, f); len(all) != 0 {
		t.Errorf("written were %q", all)
	}
}

func second[T any](_ T, err error) error { return err }

func TestDamageNamesTheKey(t *testing.T) {
	f := newFixture()
	id, other := store.NewID(time.Now()), newSpec()
	for kind, read := range map[string]func() error{
		"spec":     func() error { return second(f.Spec(t.Context(), id)) },
		"plan":     func() error { return second(f.Plan(t.Context(), id)) },
		"manifest": func() error { _, _, err := f.Manifest(t.Context(), id); return err },
	} {
		_, err := f.blobs.Put(t.Context(), kind+"/"+id, []byte("\x63?"), store.Always)
		must(t, err)
		err = read()
		want(t, err, store.ErrCorrupt)
		if !strings.Contains(err.Error(), kind+"/"+id) || !strings.Contains(err.Error(), "format 99") {
			t.Errorf("the error does not say what is wrong with which key: %v", err)
		}
	}
	must(t, f.Submit(t.Context(), other))
	data, _, err := f.blobs.Get(t.Context(), "spec/"+other.ID)
	must(t, err)
	_, err = f.blobs.Put(t.Context(), "spec/"+id, data, store.Always)
	must(t, err)
	_, err = f.Spec(t.Context(), id)
	want(t, err, store.ErrCorrupt) // the spec of another job is corrupt
}

func TestTerms(t *testing.T) {
	f := newFixture()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for epoch := uint64(1); epoch <= 1250; epoch++ {
		if epoch == 1100 {
			continue // a leader may die before it writes its record
		}
		must(t, f.PutTerm(t.Context(), store.TermRecord{Epoch: epoch, Worker: "w", At: at}))
	}
	must(t, f.PutTerm(t.Context(), store.TermRecord{Epoch: 1250, Worker: "w", At: at, FirstResult: new(time.Second)}))
	_, err := f.blobs.Put(t.Context(), fmt.Sprintf("term/%016x", 1240), []byte("damaged"), store.Always)
	must(t, err)
	terms, err := f.Terms(t.Context())
	must(t, err)
	if first, last := terms[0].Epoch, terms[len(terms)-1]; first != 201 || last.Epoch != 1250 || *last.FirstResult != time.Second || !last.At.Equal(at) {
		t.Errorf("terms begin with epoch %d and end with %+v", first, last)
	}
	for i := range terms[1:] {
		if terms[i].Epoch >= terms[i+1].Epoch {
			t.Fatalf("epoch %d comes before %d", terms[i].Epoch, terms[i+1].Epoch)
		}
	}
	if len(terms) != 1050-2 || !strings.Contains(f.log.String(), "Damaged record") {
		t.Errorf("%d terms; the log says %q", len(terms), f.log)
	}
}

func TestSpills(t *testing.T) {
	f := newFixture()
	id := store.NewID(time.Now())
	next := engine.RoundID(id, 2)
	for range 2 {
		name, err := f.PutSpill(t.Context(), next, []byte("data"))
		must(t, err)
		if name != jobs.File("data").SHA256() {
			t.Errorf("the name is %s", name)
		}
	}
	name := jobs.File("data").SHA256()
	data, err := f.Spill(t.Context(), next, name)
	must(t, err)
	if string(data) != "data" {
		t.Errorf("read %q", data)
	}
	_, err = f.Spill(t.Context(), engine.RoundID(id, 1), name)
	want(t, err, store.ErrNotFound)
	_, err = f.blobs.Put(t.Context(), "partial/"+next+"/"+name, []byte("Data"), store.Always)
	must(t, err)
	_, err = f.Spill(t.Context(), next, name)
	want(t, err, store.ErrCorrupt)
	must(t, f.DropPartials(t.Context(), next))
	_, err = f.Spill(t.Context(), next, name)
	want(t, err, store.ErrNotFound)
}
