package term_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/coordinator/term"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/memory"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// name names a job to the leader as the client does that has submitted it, and returns the job's place.
func (l *leader) name(id string, priority int) (place *wire.Place) {
	spec, err := l.cluster.store.Spec(context.Background(), id)
	if err != nil {
		l.cluster.t.Fatal(err)
	}
	l.turn(func() { place = l.term.Submitted(id, wire.Submitted{Priority: priority, Spec: string(spec.Written)}) })
	return place
}

// submitUnreceived submits a job whose message the queue does not deliver before it is shown.
func (c *cluster) submitUnreceived(priority int, params ...string) (id string, show func()) {
	id = c.submitWith(priority, params...)
	m := c.queue.messages[len(c.queue.messages)-1]
	m.hiddenUntil = c.now.Add(time.Hour)
	return id, func() { m.hiddenUntil = c.now }
}

// A job of high priority begins although more jobs wait than the leader receives.
func TestNamedJobBeginsAheadOfTheQueue(t *testing.T) {
	c := newCluster(t)
	l, received := c.leadBusy()
	last, urgent := c.submitWith(0), c.submitWith(7)
	before := received()
	if got, want := l.name(last, 0), (&wire.Place{Before: 1000, More: true}); !reflect.DeepEqual(got, want) {
		t.Errorf("the place of a job of priority 0 is %+v, want %+v", got, want)
	}
	if got, want := l.name(urgent, 7), (&wire.Place{More: true}); !reflect.DeepEqual(got, want) {
		t.Errorf("the place of a job of priority 7 is %+v, want %+v", got, want)
	}
	c.until("the job of high priority begins", func() bool { return slices.Contains(l.active(), urgent) })
	c.until("the leader is idle", l.idle)
	if n := received(); n != before {
		t.Errorf("the leader has received %d more submissions", n-before)
	}
	if active := l.active(); len(active) != 3 || slices.Contains(active, last) {
		t.Errorf("active: %v, want two jobs of priority 0 and %s", active, urgent)
	}
}

// A leader begins a job before it has received the job's submission, and is replaced at each point of each storage call.
// The submission is delivered then. The job runs once, and nothing is left of it but its result.
func TestNamedJobAtEveryMoment(t *testing.T) {
	params := []string{"partitions=5", "pad=3_000"}
	run := func(c *cluster, ok func() bool) string {
		c.addWorker("w1")
		c.addWorker("w2")
		l := c.lead(plain)
		id, show := c.submitUnreceived(5, params...)
		l.name(id, 5)
		c.until("the job's end", func() bool { return ok() || c.manifest(id).State.Final() })
		show()
		return id
	}
	want := localResult(t, params...)
	c := newCluster(t)
	c.hold = func(int) func() bool { return nil }
	c.wantCompleted(run(c, func() bool { return false }), want)
	for _, r := range replacements {
		for moment := 1; moment <= c.moments; moment++ {
			t.Run(fmt.Sprintf("%s/%d", r.name, moment), func(t *testing.T) {
				t.Parallel()
				c := newCluster(t)
				held, over := c.holdAt(moment)
				resumeCall := func() { *over = true }
				id := run(c, func() bool { return *held })
				r.replace(c, c.leaders[0], resumeCall)
				c.wantCompleted(id, want)
				before := c.manifest(id)
				resumeCall()
				c.until("the tasks to return", c.leaders[0].idle)
				if after := c.manifest(id); !reflect.DeepEqual(after, before) {
					t.Errorf("the manifest was %+v, and in the end %+v", before, after)
				}
			})
		}
	}
}

// A named job waits for its submission if its priority in storage is not above 0, or if the named spec is not the one in
// storage, as after the removal of the job.
func TestNamedJobWaitsForItsSubmission(t *testing.T) {
	for name, change := range map[string]func(c *cluster, id string, named *wire.Submitted){
		"low priority":  func(*cluster, string, *wire.Submitted) {},
		"other version": func(_ *cluster, _ string, named *wire.Submitted) { named.Spec = "other" },
		"removed": func(c *cluster, id string, _ *wire.Submitted) {
			if err := c.store.Remove(context.Background(), id); err != nil {
				c.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.addWorker("w1")
			l := c.lead(plain)
			priority := 5
			if name == "low priority" {
				priority = 0
			}
			id, show := c.submitUnreceived(priority, "partitions=3")
			spec, err := c.store.Spec(context.Background(), id)
			if err != nil {
				t.Fatal(err)
			}
			named := wire.Submitted{Priority: 5, Spec: string(spec.Written)}
			change(c, id, &named)
			l.turn(func() { l.term.Submitted(id, named) })
			c.pass(100 * step)
			if m := c.manifest(id); m.State != "" {
				t.Errorf("the job is %q", m.State)
			}
			show()
			c.until("the queue is empty", c.cleanedUp)
			if m := c.manifest(id); name != "removed" && m.State != store.Completed {
				t.Errorf("the job is %q after its submission was delivered", m.State)
			}
		})
	}
}

// The submission of a named job is delivered, and the job is cancelled, while the leader reads the job.
func TestNamedJobMeanwhile(t *testing.T) {
	for _, priority := range []int{0, 5} { // the leader leaves the job in turn, or begins it
		for moment := 1; moment <= 6; moment++ {
			for _, cancels := range []bool{false, true} {
				t.Run(fmt.Sprintf("%d/%d/%v", priority, moment, cancels), func(t *testing.T) {
					c := newCluster(t)
					c.addWorker("w1")
					l := c.lead(plain)
					c.until("the leader waits for submissions", l.waiting)
					c.moments = 0
					held, over := c.holdAt(moment)
					id, show := c.submitUnreceived(priority, "partitions=3")
					spec, err := c.store.Spec(context.Background(), id)
					if err != nil {
						t.Fatal(err)
					}
					l.turn(func() { l.term.Submitted(id, wire.Submitted{Priority: 5, Spec: string(spec.Written)}) })
					c.pass(20 * step)
					show()
					answered := !cancels
					if cancels {
						l.turn(func() { l.term.Cancel(id, func(error) { answered = true }) })
					}
					c.pass(20 * step)
					*over = true
					c.until("the job's end", func() bool { return answered && c.manifest(id).State.Final() && c.cleanedUp() })
					if state := c.manifest(id).State; !cancels && state != store.Completed {
						t.Errorf("the job is %s", state)
					}
					if l.over || !*held && moment <= 4 {
						t.Errorf("the leader has ended: %v, the moment came: %v", l.over, *held)
					}
				})
			}
		}
	}
}

// A worker reports a job while the leader reads it because it was named. The job has ended, so the worker is told.
func TestNamedJobIsReported(t *testing.T) {
	c := newCluster(t)
	identity, err := c.store.Identity(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l := c.lead(func(cfg *term.Config) { cfg.Storage = identity })
	c.until("the leader waits for submissions", l.waiting)
	id, _ := c.submitUnreceived(5, "partitions=3")
	if _, err := c.store.PutManifest(t.Context(), id, store.Manifest{Sequence: 2, State: store.Cancelled}, store.IfAbsent); err != nil {
		t.Fatal(err)
	}
	reads, over := 0, false
	c.fault = func(call memory.Call) error {
		if call.Key == "manifest/"+id {
			reads++
			c.wait(func() bool { return over })
		}
		return nil
	}
	l.name(id, 5)
	c.until("the leader reads the job", func() bool { return reads == 1 })
	w := c.addWorker("w1")
	w.storage = identity
	partial := wire.NewPartial(engine.Leaf(0), []byte("a"))
	w.items[id] = []wire.Item{{Partial: &partial}}
	w.follow(l)
	c.pass(2 * reportEvery)
	over = true
	c.until("the worker knows that the job has ended", func() bool { return w.ended[id] })
}
