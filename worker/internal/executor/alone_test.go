package executor

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// steps records, at each call of a function, which function the leader was told.
type steps struct {
	leader *leader

	mu   sync.Mutex
	list []string // entries of the form "function told"
}

func (s *steps) note(function string) {
	s.leader.mu.Lock()
	told := "nothing"
	if spans := s.leader.last().Spans; len(spans) == 1 {
		told = spans[0].Step
	}
	s.leader.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, function+" "+told)
}

type noting struct{ *steps }

func (n noting) Map(context.Context, uint64) (uint64, error) { panic("there is a fork") }

func (n noting) Fork() func(context.Context, uint64) (uint64, error) {
	n.note("Fork")
	return func(context.Context, uint64) (uint64, error) {
		n.note("Map")
		return 1, nil
	}
}

func (n noting) Encode(uint64) ([]byte, error) {
	n.note("Encode")
	return []byte("one"), nil
}

func (n noting) Decode([]byte) (uint64, error) { return 1, nil }

// TestLeaderKnowsTheFunctionOfASpanThatRunsAlone runs a partition that has killed workers. Before
// each call of a function of the job, the leader has received the function's name.
func TestLeaderKnowsTheFunctionOfASpanThatRunsAlone(t *testing.T) {
	nc := connect(t, startServer(t, -1).ClientURL())
	noted := &steps{}
	d := definition("sum", nil, nil)
	d.Codec = noting{noted}
	d.Open = func(context.Context, struct{}, jobs.Plan) (jobs.Mapper[uint64], error) {
		noted.note("Open")
		return noting{noted}, nil
	}
	job := jobs.MustNew(d)
	noted.list = nil // New has tried the codec
	startWorker(t, nc, noStore{t}, 2, []jobs.Job{job}, nil)
	noted.leader = startLeader(t, nc, 1)
	l := noted.leader
	l.wait("the first report", func() bool { return len(l.reports) > 0 })
	l.mu.Lock()
	l.alone = true
	l.mu.Unlock()
	l.assign("j", job, 0, 100, engine.Span{Lo: 7, Hi: 8})
	l.wait("the partition", func() bool { return l.nodes["j"][engine.Leaf(7)] != nil })
	noted.mu.Lock()
	defer noted.mu.Unlock()
	if want := []string{"Open Open", "Fork Fork", "Map Map", "Encode Encode"}; !slices.Equal(noted.list, want) {
		t.Errorf("got %q, want %q", noted.list, want)
	}
}

// TestForkThatFailsIsAFailureToOpen has a mapper whose Fork panics. A Fork that fails occupies no
// slot.
func TestForkThatFailsIsAFailureToOpen(t *testing.T) {
	nc := connect(t, startServer(t, -1).ClientURL())
	d := definition("sum", nil, nil)
	closed := make(chan struct{}, 1)
	d.Open = func(context.Context, struct{}, jobs.Plan) (jobs.Mapper[uint64], error) {
		return forkless{mapper{nil, func() { closed <- struct{}{} }}}, nil
	}
	job := jobs.MustNew(d)
	startWorker(t, nc, noStore{t}, 2, []jobs.Job{job}, nil)
	l := startLeader(t, nc, 1)
	l.assign("j", job, 0, 100, all(100))
	l.wait("the failure", func() bool { return len(l.failures) == 1 && len(l.last().Spans) == 0 })
	if f := l.failures[0]; f.Function != wire.Open || !strings.HasPrefix(f.Error, "Fork: panic: no more forks") {
		t.Errorf("got %+v", f)
	}
	<-closed
}

type forkless struct{ mapper }

func (forkless) Fork() func(context.Context, uint64) (uint64, error) { panic("no more forks") }
