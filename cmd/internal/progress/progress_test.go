package progress

import (
	"strings"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/client"
)

func TestSnapshotLine(t *testing.T) {
	for _, tt := range []struct {
		name string
		s    Snapshot
		want string
	}{
		{"not planned", Snapshot{State: client.Queued}, "queued"},
		{"local", Snapshot{Done: 250, All: 1000, Rate: 25}, " 25%  250/1,000  25/s  30s left"},
		{"rate unknown", Snapshot{Done: 0, All: 1000}, "  0%  0/1,000"},
		{
			"cluster",
			Snapshot{Done: 1_500_000, All: 3_000_000, Rate: 1.25e6, Workers: 4, Epoch: 3, Cluster: true},
			" 50%  1,500,000/3,000,000  1.25M/s  1s left  4 workers  epoch 3",
		},
		{"one worker", Snapshot{Done: 1, All: 2, Workers: 1, Epoch: 1, Cluster: true}, " 50%  1/2  1 worker  epoch 1"},
		{"nobody leads", Snapshot{Done: 1, All: 2, Cluster: true}, " 50%  1/2  nobody leads at the moment"},
		{"planning", clusterSnapshot(client.Status{State: client.Running, Epoch: 1, Live: &client.Live{Workers: 1}}), "running  planning  1 worker  epoch 1"},
		{"merging", clusterSnapshot(client.Status{State: client.Running, Partitions: 2, Done: 2, MergesLeft: 1, Epoch: 1, Live: &client.Live{Rate: 4e-11}}), "100%  2/2  merging, 1 merge left  0 workers  epoch 1"},
		{
			"mapping large partials",
			clusterSnapshot(client.Status{State: client.Running, Partitions: 10, Done: 3, Epoch: 1, Live: &client.Live{Rate: 0.5, Unreported: 2, HeldBytes: 2e9, MergedBytes: 1e9}}),
			" 50%  5/10  1.0 GB merged, 2.0 GB held  0.5/s  10s left  0 workers  epoch 1",
		},
		{
			"merging large partials",
			clusterSnapshot(client.Status{State: client.Running, Partitions: 2, Done: 2, MergesLeft: 3, Epoch: 1, Live: &client.Live{HeldBytes: 4e9, MergedBytes: 7e9, MergeRate: 5e8, MergeLeft: 3e9}}),
			"100%  2/2  merging, 3 merges left: 7.0 GB merged, 4.0 GB held, merging 500 MB/s  6s left  0 workers  epoch 1",
		},
		{"finishing", clusterSnapshot(client.Status{State: client.Running, Partitions: 2, Done: 2}), "100%  2/2  finishing  nobody leads at the moment"},
		{"trouble", Snapshot{Done: 1, All: 2, Trouble: "oh\nstack"}, " 50%  1/2  oh"},
		{"nearly done is not 100 %", Snapshot{Done: 99_999, All: 100_000}, " 99%  99,999/100,000"},
		{"largest number of partitions", Snapshot{Done: 1 << 61, All: 1 << 62}, " 50%  2,305,843,009,213,693,952/4,611,686,018,427,387,904"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.s.line(); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestSnapshotLeft(t *testing.T) {
	for _, tt := range []struct {
		name string
		s    Snapshot
		want time.Duration
		ok   bool
	}{
		{"no rate", Snapshot{Done: 1, All: 2}, 0, false},
		{"not planned", Snapshot{Rate: 3}, 0, false},
		{"known", Snapshot{Done: 40, All: 100, Rate: 10}, 6 * time.Second, true},
		{"more done than partitions", Snapshot{Done: 101, All: 100, Rate: 10}, 0, true},
		{"too long to say", Snapshot{All: 1 << 62, Rate: 1}, 0, false},
	} {
		got, ok := tt.s.left()
		if got != tt.want || ok != tt.ok {
			t.Errorf("%s: got %v, %t, want %v, %t", tt.name, got, ok, tt.want, tt.ok)
		}
	}
}

func TestTerminalProgressRedrawsOneLine(t *testing.T) {
	var out strings.Builder
	p := &Progress{out: &out, columns: func() int { return 60 }}
	p.Show(Snapshot{Done: 1, All: 4})
	p.Show(Snapshot{Done: 2, All: 4})
	p.Clear()
	p.Clear()
	const fresh = "\r\x1b[K"
	want := fresh + "[######------------------]  25%  1/4" +
		fresh + "[############------------]  50%  2/4" + fresh
	if got := out.String(); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestBarShrinksBeforeWords(t *testing.T) {
	s := Snapshot{Done: 1, All: 4, Rate: 1}
	for columns, want := range map[int]string{
		80: "[######------------------]  25%  1/4  1/s  3s left",
		40: "[###----------]  25%  1/4  1/s  3s left",
		30: " 25%  1/4  1/s  3s left",
		12: " 25%  1/4  ",
	} {
		if got := s.bar(columns); got != want {
			t.Errorf("%d columns: got %q, want %q", columns, got, want)
		}
	}
}

func TestBarFitsTheTerminal(t *testing.T) {
	s := Snapshot{Done: 1, All: 4, Rate: 1, Workers: 3, Epoch: 2, Cluster: true, Trouble: "größer als die Zeile"}
	for columns := range 120 {
		if got := len([]rune(s.bar(columns))); got >= max(columns, 1) {
			t.Errorf("%d columns: the bar has %d", columns, got)
		}
	}
}

func TestProgressPrintsLines(t *testing.T) {
	var out strings.Builder
	p := New(&out)
	p.Show(Snapshot{Done: 1, All: 4})
	if out.Len() > 0 {
		t.Errorf("a short job: got %q, want nothing", out.String())
	}
	p.due = time.Now().Add(-time.Millisecond)
	p.Show(Snapshot{Done: 1, All: 4})
	p.Show(Snapshot{Done: 2, All: 4})
	p.Clear()
	p.due = time.Now().Add(-time.Millisecond)
	p.Show(Snapshot{Done: 1, All: 4})
	if got, want := out.String(), " 25%  1/4\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSpeedometerFollowsTheRate(t *testing.T) {
	var m Speedometer
	now := time.Unix(1000, 0)
	done := uint64(0)
	run := func(seconds int, perSecond uint64) (rate float64) {
		for range 2 * seconds {
			now = now.Add(500 * time.Millisecond)
			done += perSecond / 2
			rate = m.Observe(now, done)
		}
		return rate
	}
	if got := m.Observe(now, 0); got != 0 {
		t.Errorf("at first: got %v, want 0", got)
	}
	if got := run(5, 100); got != 100 {
		t.Errorf("steady: got %v, want 100", got)
	}
	if got := run(30, 1000); got < 900 || got > 1000 {
		t.Errorf("half a minute after a change: got %v, want about 1000", got)
	}
}
