package worker_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/exec"
	"github.com/bellwether-compute/bellwether/jobs/scan"
	"github.com/bellwether-compute/bellwether/worker"
)

// result runs a job on the cluster and returns its result, or the text of the job's error.
func (c *testCluster) result(job jobs.Job, pairs ...string) string {
	c.t.Helper()
	k, err := client.Connect(c.t.Context(), client.Config{Cluster: c.cfg, Timeout: patience})
	if err != nil {
		c.t.Fatal(err)
	}
	defer k.Close()
	id, err := k.Submit(c.t.Context(), job, client.SubmitOptions{Pairs: pairs, MaxAttempts: 1, NoCheck: true})
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := k.Wait(c.t.Context(), id); err != nil {
		c.t.Fatal(err)
	}
	o, err := k.Outcome(c.t.Context(), id)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := o.Err(); err != nil {
		return err.Error()
	}
	return string(o.Result)
}

// TestZeroGrant checks that a worker whose configuration names nothing lets jobs use nothing, and
// that the errors say how to allow it.
func TestZeroGrant(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	reads, runs := jobs.MustNew(scan.Definition), jobs.MustNew(exec.Define(nil))
	c.start(func(cfg *worker.Config) { cfg.Jobs, cfg.Allow = []jobs.Job{reads, runs}, []string{exec.Name} })
	file := filepath.Join(t.TempDir(), "a.csv")
	if err := os.WriteFile(file, []byte("a\n1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if got := c.result(reads, "input="+file, "aggregate=count"); !strings.Contains(got, "jobs may not access files of this worker") || !strings.Contains(got, "set Grant.Files of worker.Config") {
		t.Errorf("scan: got %s, want a refusal that says what to set", got)
	}
	if got := c.result(runs, `command=["true"]`); !strings.Contains(got, "this worker runs no program of a job") || !strings.Contains(got, "set Grant.Programs of worker.Config") {
		t.Errorf("exec: got %s, want a refusal that says what to set", got)
	}

	err := worker.Run(t.Context(), worker.Config{Cluster: c.cfg, Jobs: []jobs.Job{reads, runs}, Logger: slog.New(slog.DiscardHandler)})
	if want := "Jobs: exec is restricted, because its parameters can harm the process that runs it: name it in Allow"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("restricted job: got %v, want %q", err, want)
	}
}

// TestOwnSettings checks that workers of two clusters in one process each use the settings of their
// own cluster, with the same definitions.
func TestOwnSettings(t *testing.T) {
	t.Parallel()
	type settings struct {
		Cluster string
		Files   []string
	}
	job := jobs.MustNew(jobs.Definition[struct{}, settings, settings]{
		Name: "settings", Version: "1",
		Plan: func(context.Context, struct{}) (jobs.Plan, error) { return jobs.Plan{Partitions: 1}, nil },
		Open: func(context.Context, struct{}, jobs.Plan) (jobs.Mapper[settings], error) {
			return mapFunc[settings](func(ctx context.Context, _ uint64) (settings, error) {
				cfg, err := cluster.Of(ctx)
				return settings{cfg.Name, jobs.GrantOf(ctx).Files}, err
			}), nil
		},
		Merge:  func(left, _ settings) (settings, error) { return left, nil },
		Finish: func(_ context.Context, _ struct{}, root settings) (settings, error) { return root, nil },
	})
	reads := jobs.MustNew(scan.Definition)
	clusters, files := map[string]*testCluster{}, map[string]string{}
	for _, name := range []string{"one", "two"} {
		c := newCluster(t)
		c.cfg.Name = name
		clusters[name], files[name] = c, filepath.Join(t.TempDir(), "a.csv")
		if err := os.WriteFile(files[name], []byte("a\n1\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		c.start(func(cfg *worker.Config) {
			cfg.Jobs, cfg.Grant.Files = []jobs.Job{job, reads}, []string{filepath.Dir(files[name])}
		})
	}
	for name, other := range map[string]string{"one": "two", "two": "one"} {
		c := clusters[name]
		if got, want := c.result(job), `{"Cluster":"`+name+`","Files":["`+filepath.Dir(files[name])+`"]}`; got != want {
			t.Errorf("settings of %s: got %s, want %s", name, got, want)
		}
		if got := c.result(reads, "input="+files[name], "aggregate=count"); !strings.Contains(got, `"rows":[[1]]`) {
			t.Errorf("own file of %s: got %s, want one row", name, got)
		}
		if got := c.result(reads, "input="+files[other], "aggregate=count"); !strings.Contains(got, "access to object is denied") {
			t.Errorf("file of %s on %s: got %s, want a refusal", other, name, got)
		}
	}
}

// mapFunc is a function that is a mapper.
type mapFunc[T any] func(ctx context.Context, partition uint64) (T, error)

func (f mapFunc[T]) Map(ctx context.Context, partition uint64) (T, error) { return f(ctx, partition) }
