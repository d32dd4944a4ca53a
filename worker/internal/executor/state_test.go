package executor

import (
	"bytes"
	"context"
	"sync/atomic"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/internal/bulk"
)

// repeated is a job with rounds. Its state is too large for openings, and each partition counts the bytes of the state that
// have the value of the round.
var repeated = jobs.MustNewRounds(jobs.Rounds[struct{}, []byte, int, int]{
	Name: "repeated", Version: "1",
	Plan:  func(context.Context, struct{}) (jobs.Plan, error) { return jobs.Plan{Partitions: 2}, nil },
	Start: func(context.Context, struct{}, jobs.Plan) ([]byte, error) { return stateOf(1), nil },
	Open: func(context.Context, struct{}, jobs.Plan) (jobs.Rounder[[]byte, int], error) {
		return repeatedRounds{}, nil
	},
	Merge: func(l, r int) (int, error) { return l + r, nil },
	Next: func(_ context.Context, _ struct{}, state []byte, _ int, _ uint64) (jobs.Step[[]byte], error) {
		for i := range state {
			state[i]++
		}
		return jobs.Step[[]byte]{State: state}, nil
	},
	MaxRounds:  func(struct{}) uint64 { return 9 },
	Finish:     func(context.Context, struct{}, []byte) (int, error) { return 0, nil },
	StateCodec: sameBytes{},
})

const stateSize = 100_000

func stateOf(round byte) []byte { return bytes.Repeat([]byte{round}, stateSize) }

// sameBytes is a codec that does not copy.
type sameBytes struct{}

func (sameBytes) Encode(s []byte) ([]byte, error)    { return s, nil }
func (sameBytes) Decode(data []byte) ([]byte, error) { return data, nil }

type repeatedRounds struct{}

func (repeatedRounds) Round(_ context.Context, state []byte) (jobs.Mapper[int], error) {
	return repeatedRound{state}, nil
}

type repeatedRound struct{ state []byte }

func (r repeatedRound) Map(context.Context, uint64) (int, error) {
	return bytes.Count(r.state, r.state[:1]) + int(r.state[0]), nil
}

// stateSource serves the state of round 2, and fails the first requests.
type stateSource struct {
	failing atomic.Int64 // number of requests that still fail
	damaged bool
}

func (s *stateSource) ReadAt(job string, node engine.Node, to []byte, offset int64) error {
	if job != "j/2" || node != wire.OutputNode(wire.Finish) || s.failing.Add(-1) >= 0 {
		return bulk.ErrNotHeld
	}
	copy(to, stateOf(2)[offset:])
	if s.damaged {
		to[0]++
	}
	return nil
}

// openRound assigns both partitions of a round.
func (l *leader) openRound(id, holder string, state []byte) {
	l.t.Helper()
	l.order(func(r *wire.Receipt) {
		r.Opens = append(r.Opens, wire.Opening{
			Job: id, Kind: wire.JobKind{Name: "repeated", Version: "1"}, Params: jobs.Params("{}"), Partitions: 2, Rounds: true,
			StateBlob: "blob", StateHolder: holder, StateSize: uint64(len(state)), StateSum: wire.Checksum(state),
		})
		l.number++
		r.Assigned = append(r.Assigned, wire.Assignment{ID: wire.SpanID{Epoch: 1, Number: l.number}, Job: id, Span: all(2)})
	})
	l.wait("both partitions of "+id, func() bool { return l.has(id, 2, all(2)) })
	want, err := jobs.CBOR[int]().Encode(2 * (stateSize + int(state[0])))
	if err != nil {
		l.t.Fatal(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if got := l.result(id, repeated, 2); !bytes.Equal(got, want) {
		l.t.Errorf("the partitions of %s give %x, want %x: they ran with another state", id, got, want)
	}
}

// A worker gets a large state from another worker, and from storage if that worker does not have it, is gone or has
// damaged bytes. Then it serves the state itself.
func TestStateComesFromAnotherWorker(t *testing.T) {
	for _, test := range []struct {
		name   string
		source *stateSource // of the other worker; nil if it is gone
		late   int64        // number of requests before the other worker has the state
		stored bool         // the state must be read from storage
	}{
		{"it has the state", &stateSource{}, 0, false},
		{"it gets the state later", &stateSource{}, 3, false},
		{"its bytes are damaged", &stateSource{damaged: true}, 0, true},
		{"it never gets the state", &stateSource{}, 1 << 40, true},
		{"it is gone", nil, 0, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			url := startServer(t, -1).ClientURL()
			nc := connect(t, url)
			l := startLeader(t, nc, 1)
			if test.source != nil {
				test.source.failing.Store(test.late)
				serving, err := bulk.Serve(nc, l.subjects.Bulk("x"), test.source)
				if err != nil {
					t.Fatal(err)
				}
				defer serving.Close()
			}
			var from Store = noStore{t}
			if test.stored {
				from = oneBlob{noStore{t}, stateOf(2)}
			}
			startWorker(t, nc, from, 1, []jobs.Job{repeated}, nil, func(c *Config) { c.Bulk, c.Memory = connect(t, url), 1<<30 })
			l.wait("the worker's first report", func() bool { return len(l.reports) > 0 })
			l.openRound("j/2", "x", stateOf(2))
			got := make([]byte, stateSize)
			if err := bulk.NewClient(nc).Fetch(t.Context(), l.subjects.Bulk("w"), "j/2", wire.OutputNode(wire.Finish), got, wire.Checksum(stateOf(2))); err != nil {
				t.Error("fetch the state from the worker:", err)
			}
		})
	}
}

// A worker that has computed a state needs no other worker and no storage for it. Next may change the state of its round,
// which the worker still serves.
func TestStateStaysWithTheWorkerThatComputedIt(t *testing.T) {
	url := startServer(t, -1).ClientURL()
	nc := connect(t, url)
	l := startLeader(t, nc, 1)
	l.holds = true
	serving, err := bulk.Serve(nc, l.subjects.Bulk("x"), &stateSource{})
	if err != nil {
		t.Fatal(err)
	}
	defer serving.Close()
	w := startWorker(t, nc, noStore{t}, 1, []jobs.Job{repeated}, nil, func(c *Config) { c.Bulk, c.Memory = connect(t, url), 1<<30 })
	l.wait("the worker's first report", func() bool { return len(l.reports) > 0 })
	l.openRound("j/2", "x", stateOf(2))
	l.mu.Lock()
	total := l.result("j/2", repeated, 2)
	l.mu.Unlock()
	l.order(func(r *wire.Receipt) {
		call := &wire.Call{Function: wire.Finish, Operands: []wire.Partial{wire.NewPartial(engine.Node{Level: 1}, total)}}
		l.number++
		r.Assigned = append(r.Assigned, wire.Assignment{ID: wire.SpanID{Epoch: 1, Number: l.number}, Job: "j/2", Call: call})
	})
	var output wire.Output
	l.wait("the output of Next", func() bool {
		for _, r := range l.reports {
			for _, j := range r.Jobs {
				for _, item := range j.Items {
					if item.Output != nil {
						output = *item.Output
						return true
					}
				}
			}
		}
		return false
	})
	if output.StateSize != stateSize || output.StateSum != wire.Checksum(stateOf(3)) || !bytes.Equal(output.Data, stateOf(3)) {
		t.Errorf("the output says that the state has %d bytes with checksum %x, want %d, %x", output.StateSize, output.StateSum, stateSize, wire.Checksum(stateOf(3)))
	}
	l.openRound("j/3", "", stateOf(3))
	if used := w.Partials().Used; used < 2*stateSize {
		t.Errorf("%d bytes of memory are used, want at least the two states of %d bytes", used, stateSize)
	}
	for round, state := range map[string][]byte{"j/2": stateOf(2), "j/3": stateOf(3)} {
		got := make([]byte, stateSize)
		if err := bulk.NewClient(nc).Fetch(t.Context(), l.subjects.Bulk("w"), round, wire.OutputNode(wire.Finish), got, wire.Checksum(state)); err != nil {
			t.Errorf("fetch the state of %s from the worker: %v", round, err)
		}
	}
	l.order(func(r *wire.Receipt) {
		r.Jobs = append(r.Jobs, wire.JobReceipt{Job: "j/2", Ended: true, Continues: true}, wire.JobReceipt{Job: "j/3", Ended: true})
	})
	l.wait("no memory is used after the job has ended", func() bool { return w.Partials().Used == 0 })
}
