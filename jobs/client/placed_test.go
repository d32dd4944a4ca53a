package client_test

import (
	"reflect"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// TestSubmitNamesTheJob submits jobs to a leader at which others wait. The client names a job if its priority is above 0 or
// if its place is wanted, with the version of its spec.
func TestSubmitNamesTheJob(t *testing.T) {
	l, c := leadFake(t)
	named := make(chan wire.JobQuery, 10)
	if _, err := l.nc.Subscribe(l.subjects.Ask(wire.AskWorkers), func(m *nats.Msg) {
		_ = m.Respond(wire.Encode(wire.Workers{Epoch: 1, Totals: &wire.Totals{Workers: 1}})) // fails only if the test has ended
	}); err != nil {
		t.Fatal(err)
	}
	l.place = func(query wire.JobQuery) *wire.Place {
		if query.Submitted == nil {
			return nil
		}
		named <- query
		return &wire.Place{Before: 1000, More: true}
	}
	var places []client.Place
	for _, o := range []client.SubmitOptions{
		{},
		{Priority: 9},
		{Priority: -1, Placed: func(p client.Place) { places = append(places, p) }},
	} {
		id, err := c.Submit(t.Context(), jobs.MustNew(sum), o)
		if err != nil {
			t.Fatal(err)
		}
		if o.Priority == 0 {
			continue
		}
		spec, err := l.store.Spec(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		want := wire.JobQuery{Job: id, Submitted: &wire.Submitted{Priority: o.Priority, Spec: string(spec.Written)}}
		if got := <-named; !reflect.DeepEqual(got, want) {
			t.Errorf("the leader was told %+v, want %+v", got, want)
		}
	}
	if len(named) > 0 {
		t.Errorf("the leader was also told %+v", <-named)
	}
	if want := []client.Place{{Before: 1000, More: true}}; !reflect.DeepEqual(places, want) {
		t.Errorf("places %+v, want %+v", places, want)
	}
}
