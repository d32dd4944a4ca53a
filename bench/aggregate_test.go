package bench

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/deploy/local/procs"
	"github.com/bellwether-compute/bellwether/jobs"
)

// TestVectorLoop checks that the loops and checks of the jobs give the same bytes.
func TestVectorLoop(t *testing.T) {
	job := jobs.MustNew(Vectors)
	loops := map[string]func() adder{"in turn": newInTurn, "pairwise": newPairwise}
	for _, p := range []VectorParams{{1, 1}, {2, 3}, {5, 100}, {1000, 7}} {
		params, err := job.EncodeParams(p)
		if err != nil {
			t.Fatal(err)
		}
		checked, err := jobs.Check{Slots: 2, Attempts: 1}.Run(t.Context(), job, params)
		if err != nil {
			t.Fatal(err)
		}
		for name, newAdder := range loops {
			for _, goroutines := range []int{1, 2, 3} {
				if got, err := vectorLoop(t.Context(), p, adders(goroutines, newAdder)); err != nil || string(got) != string(checked.Result) {
					t.Errorf("%+v: the loop of %d goroutines that adds %s gives %s, %v, the job %s", p, goroutines, name, got, err, checked.Result)
				}
			}
		}
	}
	sharded := jobs.MustNewSharded(VectorShards)
	for _, p := range []VectorShardsParams{{1, 1, 8192}, {3, 20_000, 8192}, {5, 16384, 8192}, {2, 20_000, 16384}} {
		params, err := sharded.EncodeParams(p)
		if err != nil {
			t.Fatal(err)
		}
		checked, err := jobs.Check{Slots: 2, Attempts: 1}.Run(t.Context(), sharded, params)
		if err != nil {
			t.Fatal(err)
		}
		whole := VectorParams{p.Partitions, p.Length}
		if got, err := vectorLoop(t.Context(), whole, adders(2, newInTurn)); err != nil || string(got) != string(checked.Result) {
			t.Errorf("%+v: the loop gives %s, %v, the job in shards %s", p, got, err, checked.Result)
		}
		if got, err := shardLoop(t.Context(), whole, p.Shard, 2); err != nil || string(got) != string(checked.Result) {
			t.Errorf("%+v: the loop in shards gives %s, %v, the job %s", p, got, err, checked.Result)
		}
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := shardLoop(done, VectorParams{10, 10}, 8192, 2); err == nil {
		t.Error("the loop in shards returned a result although its context is done")
	}
	for name, newAdder := range loops {
		if _, err := vectorLoop(done, VectorParams{10, 10}, adders(2, newAdder)); err == nil {
			t.Errorf("the loop that adds %s returned a result although its context is done", name)
		}
	}
}

func TestAggregateConfig(t *testing.T) {
	good := AggregateConfig{Flock: procs.New(procs.Config{}), Workers: 2, Rounds: 1, Shapes: []AggregateShape{{8, 1}}, Kill: KillWorker}
	if err := good.validate(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*AggregateConfig){
		"Flock":         func(c *AggregateConfig) { c.Flock = nil },
		"Workers 0":     func(c *AggregateConfig) { c.Workers = 0 },
		"Workers 1":     func(c *AggregateConfig) { c.Workers = 1 },
		"Rounds":        func(c *AggregateConfig) { c.Rounds = 0 },
		"Shapes: want":  func(c *AggregateConfig) { c.Shapes = nil },
		"12 B: want":    func(c *AggregateConfig) { c.Shapes = []AggregateShape{{12, 1}} },
		"Shard 8: want": func(c *AggregateConfig) { c.Shard = 8 },
		"Kill \"all":    func(c *AggregateConfig) { c.Kill = "all" },
	} {
		c := good
		change(&c)
		if _, err := Aggregate(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestAggregateReport(t *testing.T) {
	uses := []ProcessUse{{roleLeader, 9e6, 5e6}, {roleWorker, 7e6, 1e6}, {roleWorker, 8e6, 3e6}, {roleNATS, 6e6, 99e6}}
	shape := AggregateShape{1e6, 101}
	r := AggregateReport{Workers: 3, Cores: 2, Kill: KillLeader, Points: []AggregatePoint{newAggregatePoint(shape, []aggregateRound{
		{loop: 1, alike: 2, local: 2, first: 5, cluster: clusterRun{3, uses, 1, 0, []float64{0.01, 0.02}}, killed: clusterRun{4, uses, 2, 5, nil}},
		{loop: 2, alike: 2, local: 2, cluster: clusterRun{4, uses, 1, 7, []float64{0.05}}, killed: clusterRun{4.5, uses, 2, 6, nil}},
		{loop: 4, alike: 5, local: 8, cluster: clusterRun{4, uses, 1, 0, nil}, killed: clusterRun{6, uses, 3, 0, nil}},
	})}}
	p := r.Points[0]
	if p.Loop != 2 || p.LocalRatio != 2 || p.ClusterRatio != 2 || p.Alike != 2 || p.OverAlike != 1.5 || p.Repeated != 7 || p.Killed.Extra != 1 || p.Killed.Repeated != 6 || p.Killed.Epochs != 3 {
		t.Errorf("got %+v with %+v", p, p.Killed)
	}
	if got := p.LeaderShare(); got != 0.015 { // the leader's process moved 5 - (1+3)/2 bytes more than the other workers; 2*100 bytes were merged
		t.Errorf("the leader's share is %v", got)
	}
	var table strings.Builder
	r.Table(&table)
	for _, want := range []string{"101 x 1.0 MB\t2.00 s\t2.00 s\t2.00 s\t4.00 s\t2.00\t2.00\t1.50\t5.00 s\t9.0 MB\t8.0 MB\t6.0 MB\t+1.50 %\t50 ms\t1\n", "the leader killed half-way", "\t4.50 s\t+1.00 s\t0.15 s\tyes\t3\t6\t9.0 MB\t6.0 MB\n"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("got %q, want %q", table.String(), want)
		}
	}
	if lines := r.Figure().Panels[0].Lines; len(lines) != 5 || len(lines[4].Points) != 1 {
		t.Errorf("the figure has the lines %+v", lines)
	}
	if got := (AggregatePoint{AggregateShape: AggregateShape{8, 1}}).LeaderShare(); got != 0 {
		t.Errorf("the leader's share of no merges is %v", got)
	}
}

func TestObserve(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
	o, err := observe(map[int]string{os.Getpid(): roleNATS})
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if _, err := fmt.Fprint(file, strings.Repeat("x", 1e6)); err != nil {
		t.Fatal(err)
	}
	if err := o.stop(); err != nil {
		t.Fatal(err)
	}
	if u := o.uses[0]; u.Moved < 1e6 || u.Resident < 1e6 || u.Role != roleNATS {
		t.Errorf("got %+v", u)
	}
}
