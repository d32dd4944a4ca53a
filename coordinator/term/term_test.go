package term_test

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/coordinator/term"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func plain(*term.Config) {}

// sparing is a leader that hardly ever checkpoints.
func sparing(cfg *term.Config) { cfg.Ledger.CheckpointEvery = time.Hour }

func (s *stage) submit(params ...string) string {
	s.t.Helper()
	p, err := letters.Params(nil, params...)
	if err != nil {
		s.t.Fatal(err)
	}
	id := store.NewID(s.now.Add(time.Duration(len(s.queue.messages)) * time.Second))
	spec := store.Spec{ID: id, Job: "letters", Version: "1", Params: p, MaxAttempts: 2, Submitted: s.now.UTC()}
	if err := s.store.Submit(context.Background(), spec); err != nil {
		s.t.Fatal(err)
	}
	return id
}

func (s *stage) manifest(id string) (m store.Manifest) {
	m, _, _ = s.store.Manifest(context.Background(), id) // none is like an empty one
	return m
}

// tidy reports whether nothing reminds of jobs that have ended.
func (s *stage) tidy() bool {
	s.t.Helper()
	active, err := s.store.Active(context.Background())
	if err != nil {
		s.t.Fatal(err)
	}
	return len(active) == 0 && len(s.queue.messages) == 0
}

func (s *stage) partials() []string {
	s.t.Helper()
	keys, err := s.blobs.List(context.Background(), "partial/")
	if err != nil {
		s.t.Fatal(err)
	}
	return keys
}

// wantCompleted waits for the job's end and checks that it is as if one process
// had run it, each partition once.
func (s *stage) wantCompleted(id, want string) {
	s.t.Helper()
	s.until("the job's end", func() bool { return s.manifest(id).State.Final() && s.tidy() })
	got, err := s.store.Result(context.Background(), id)
	m := s.manifest(id)
	if err != nil || m.State != store.Completed || string(got) != want {
		s.t.Fatalf("job is %s: %s; result %.100s, error %v, want %.100s", m.State, m.Error, got, err, want)
	}
	ran := 0
	for _, h := range s.hands {
		ran += h.ran[id]
	}
	if uint64(ran) != m.Partitions || m.Executed != m.Partitions {
		s.t.Errorf("ran %d partitions, counted %d, want each of %d once", ran, m.Executed, m.Partitions)
	}
}

// fates are what may become of a leader at any moment of a storage call, with
// another leader in its place.
var fates = []struct {
	name string
	meet func(s *stage, first *leader, goOn func())
}{
	{"killed", func(s *stage, first *leader, _ func()) {
		first.kill()
		s.lead(sparing)
	}},
	{"deposed", func(s *stage, first *leader, goOn func()) {
		first.depose()
		goOn()
		s.until("the tasks to return", first.idle)
		s.lead(plain)
	}},
	{"stopped while the call hangs", func(s *stage, first *leader, _ func()) {
		first.turn(first.term.Stop)
		began := s.now
		s.until("the leader to leave", func() bool { _, left := first.term.Left(); return left })
		if took := s.now.Sub(began); took > stopWithin+2*step {
			s.t.Errorf("the leader took %v to leave", took)
		}
		first.kill()
		s.lead(plain)
	}},
	{"overtaken", func(s *stage, first *leader, goOn func()) { // it goes on as if nothing were
		s.lead(plain)
		s.pass(10 * step)
		goOn()
		s.pass(2 * hideFor)
		first.depose()
	}},
	{"late", func(s *stage, first *leader, _ func()) { // it goes on when the job has ended
		s.lead(plain)
		s.pass(2 * hideFor)
		first.depose()
	}},
}

// idle reports whether nothing runs beside the loop any more.
func (l *leader) idle() bool { return len(l.tasks) == 0 }

// pass lets time pass.
func (s *stage) pass(d time.Duration) {
	s.t.Helper()
	until := s.now.Add(d)
	s.until("time to pass", func() bool { return !s.now.Before(until) })
}

// holdAt holds a moment of a leader's calls until over, and tells once it
// has come.
func (s *stage) holdAt(moment int) (held, over *bool) {
	held, over = new(bool), new(bool)
	s.hold = func(at int) func() bool {
		if at != moment {
			return nil
		}
		*held = true
		return func() bool { return *over }
	}
	return held, over
}

// run runs a job in full view of hold, and returns it once it has ended or ok.
func (s *stage) run(params []string, ok func() bool) (job string) {
	s.t.Helper()
	s.hire("w1")
	s.hire("w2")
	s.lead(plain)
	job = s.submit(params...)
	s.until("the end", func() bool { return ok() || s.manifest(job).State.Final() && s.tidy() })
	return job
}

// alone is the result of the job in one process.
func alone(t *testing.T, params ...string) string {
	t.Helper()
	p, err := letters.Params(nil, params...)
	if err != nil {
		t.Fatal(err)
	}
	run, err := jobs.Local{Slots: 1, Attempts: 1}.Run(context.Background(), letters, p)
	if err != nil {
		t.Fatal(err)
	}
	return string(run.Result)
}

// A leader may die when a partial is in a blob and no manifest names it.
func TestPartialOfADeadLeaderIsRemoved(t *testing.T) {
	s := newStage(t)
	s.hire("w1")
	first := s.lead(plain)
	job := s.submit("partitions=8")
	s.until("the job to begin", func() bool { return s.manifest(job).State == store.Running })
	first.kill()
	if _, err := s.store.PutPartial(context.Background(), job, jobs.Leaf(3), []byte("data")); err != nil {
		t.Fatal(err)
	}
	s.lead(sparing)
	s.wantCompleted(job, alone(t, "partitions=8"))
	if left := s.partials(); len(left) > 0 {
		t.Errorf("partials were left behind: %v", left)
	}
}

// TestEveryMomentOfATerm runs a job once for each moment of each storage call of
// its leader and each thing that may become of the leader just then.
func TestEveryMomentOfATerm(t *testing.T) {
	for _, params := range [][]string{
		{"partitions=12", "pad=3_000"},  // some larger than a manifest holds
		{"partitions=5", "pad=100_000"}, // some larger than the leader keeps in memory
	} {
		want := alone(t, params...)
		s := newStage(t)
		s.hold = func(int) func() bool { return nil }
		s.wantCompleted(s.run(params, func() bool { return false }), want)
		if s.moments < 20 {
			t.Errorf("%d moments in a term", s.moments)
		}
		for _, fate := range fates {
			for moment := 1; moment <= s.moments; moment++ {
				t.Run(fmt.Sprintf("%v/%s/%d", params, fate.name, moment), func(t *testing.T) {
					s := newStage(t)
					held, over := s.holdAt(moment)
					goOn := func() { *over = true }
					job := s.run(params, func() bool { return *held })
					if !*held {
						t.Fatal("the moment did not come")
					}
					fate.meet(s, s.leaders[0], goOn)
					s.wantCompleted(job, want)
					before := s.manifest(job)
					goOn()
					s.until("the tasks to return", s.leaders[0].idle)
					if after := s.manifest(job); !reflect.DeepEqual(after, before) {
						t.Errorf("the manifest was %+v, and in the end %+v", before, after)
					}
					if left := s.partials(); len(left) > 0 && fate.name != "late" {
						t.Errorf("partials were left behind: %v", left)
					}
				})
			}
		}
		t.Logf("%v: %d moments", params, s.moments)
	}
}
