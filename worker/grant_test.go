package worker_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/deploy/local/azurite/azuritetest"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/exec"
	"github.com/bellwether-compute/bellwether/jobs/scan"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
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

// TestZeroGrant checks that a worker whose configuration names nothing lets jobs use nothing of the
// machine and of its network, and that the errors say how to allow it.
func TestZeroGrant(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	reads, runs := jobs.MustNew(scan.Definition), jobs.MustNew(exec.Define(nil))
	c.cfg.Azure.Config = account.Config{ConnectionString: azuritetest.Server(t).ConnectionString()}
	c.start(func(cfg *worker.Config) { cfg.Jobs, cfg.Allow = []jobs.Job{reads, runs}, []string{exec.Name} })
	folder := t.TempDir()
	file := filepath.Join(folder, "a.csv")
	if err := os.WriteFile(file, []byte("a\n1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	asked := make(chan string, 99)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.URL.Path }))
	defer server.Close()
	const noFiles, noBlobs, noWeb = "jobs may not access files of this worker", "jobs may not use container data", "jobs may read only https:// URLs of servers with public addresses"
	for _, test := range []struct {
		job   jobs.Job
		pairs []string
		want  []string // texts in the error
	}{
		{reads, []string{"input=" + file}, []string{noFiles, "set Grant.Files of worker.Config"}},
		{reads, []string{"input=/etc/passwd", "format=lines"}, []string{noFiles}},
		{reads, []string{"input=file:///etc/passwd", "format=lines"}, []string{noFiles}},
		{reads, []string{"input=azblob://data/"}, []string{noBlobs, "set Grant.Containers of worker.Config"}},
		{reads, []string{"input=azblob://bellwether-default/result/", "format=lines"}, []string{"belongs to the cluster itself"}},
		{reads, []string{"input=" + server.URL + "/a.csv"}, []string{noWeb, "set Grant.Web of worker.Config"}},
		{reads, []string{"input=" + file, "output=" + folder + "/out"}, []string{noFiles}},
		{runs, []string{`command=["id"]`}, []string{"this worker runs no program of a job", "set Grant.Programs of worker.Config"}},
		{runs, []string{`command=["sh","-c","id"]`}, []string{"this worker runs no program of a job"}},
		{runs, []string{`command=["id"]`, "input=" + file}, []string{noFiles}},
	} {
		got := c.result(test.job, test.pairs...)
		for _, want := range test.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s %q: got %s, want %q in it", test.job.Name(), test.pairs, got, want)
			}
		}
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 1 {
		t.Errorf("the folder contains %v, %v, want only the input", left, err)
	}
	if len(asked) > 0 {
		t.Errorf("the server was asked for %s", <-asked)
	}

	for _, test := range []struct {
		change func(*worker.Config)
		want   string
	}{
		{func(*worker.Config) {}, "Jobs: exec is restricted, because its parameters can harm the process that runs it: name it in Allow"},
		{func(cfg *worker.Config) { cfg.Allow = []string{"probe"} }, "Jobs: exec is restricted"},
		{func(cfg *worker.Config) { cfg.Jobs, cfg.Grant.Containers = cfg.Jobs[:1], []string{"https://a"} }, `Grant: Containers "https://a": want CONTAINER or ACCOUNT/CONTAINER`},
		{func(cfg *worker.Config) { cfg.Jobs, cfg.Grant.Web = cfg.Jobs[:1], []string{"https://a"} }, `Grant: Web "https://a": want HOST or HOST:PORT`},
	} {
		cfg := worker.Config{Cluster: c.cfg, Jobs: []jobs.Job{reads, runs}, Logger: slog.New(slog.DiscardHandler)}
		test.change(&cfg)
		if err := worker.Run(t.Context(), cfg); !errors.Is(err, worker.ErrConfig) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want %q", err, test.want)
		}
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
