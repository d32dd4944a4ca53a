package executor

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// lines is a journal in memory.
type lines struct {
	mu    sync.Mutex
	list  []string
	ended map[string]bool
}

func (l *lines) Add(writer, job string, line store.JournalLine, _ bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := "-"
	if line.Partition != nil {
		at = fmt.Sprintf("%d#%d", *line.Partition, line.Attempt)
	}
	l.list = append(l.list, fmt.Sprintf("%s %s %s %s %s: %s", writer, job, line.Source, line.Worker, at, line.Text))
}

func (l *lines) End(writer, job string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended[writer+" "+job] = true
}

func (l *lines) has(want string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, got := range l.list {
		if got == want {
			return true
		}
	}
	return false
}

func (l *lines) hasEnded(want string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended[want]
}

// TestJobLogs checks that what a job logs has its partition and attempt, or the name of the function.
func TestJobLogs(t *testing.T) {
	nc := connect(t, startServer(t, -1).ClientURL())
	d := definition("sum", func(ctx context.Context, partition uint64) error {
		jobs.Logger(ctx).Info(fmt.Sprint("map ", partition))
		_, err := jobs.StderrLog(ctx).Write([]byte("to stderr\n"))
		return err
	}, nil)
	open := d.Open
	d.Open = func(ctx context.Context, p struct{}, plan jobs.Plan) (jobs.Mapper[uint64], error) {
		jobs.Logger(ctx).Info("opens")
		return open(ctx, p, plan)
	}
	job := jobs.MustNew(d)
	journal := &lines{ended: map[string]bool{}}
	startWorker(t, nc, noStore{t}, 1, []jobs.Job{job}, nil, func(cfg *Config) { cfg.Journal = journal })
	l := startLeader(t, nc, 3)
	l.durable, l.attempt = true, 2
	l.assign("j", job, 0, 3, engine.Span{Lo: 1, Hi: 3})
	l.wait("everything finished", func() bool { return l.has("j", 3, engine.Span{Lo: 1, Hi: 3}) })
	for _, want := range []string{
		"w.w j log w -: Open: level=INFO msg=opens",
		`w.w j log w 1#2: level=INFO msg="map 1"`,
		`w.w j log w 2#2: level=INFO msg="map 2"`,
		"w.w j stderr w 2#2: to stderr",
	} {
		if !journal.has(want) {
			t.Errorf("the journal has %q, want %q", journal.list, want)
		}
	}
	l.order(func(r *wire.Receipt) { r.Jobs = append(r.Jobs, wire.JobReceipt{Job: "j", Ended: true}) })
	l.wait("the end", func() bool { return journal.hasEnded("w.w j") })
}
