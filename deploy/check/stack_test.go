package check

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/nats-io/nats-server/v2/server"
)

const patience = 60 * time.Second

// loadCompose loads the project like Compose.
func loadCompose(t *testing.T, env ...string) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{"../compose.yaml"}, cli.WithEnv(env), cli.WithResolvedPaths(true))
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return project
}

func TestCompose(t *testing.T) {
	project := loadCompose(t)
	var azurite struct {
		Dependencies struct{ Azurite string } `json:"dependencies"`
	}
	if err := json.Unmarshal([]byte(read(t, "../local/azurite/package.json")), &azurite); err != nil {
		t.Fatal(err)
	}
	images := map[string]string{ // versions of the images that tests run
		"azurite": "mcr.microsoft.com/azure-storage/azurite:" + azurite.Dependencies.Azurite,
		"nats":    "nats:" + server.VERSION + "-alpine",
		"worker":  "bellwether",
	}
	if names := project.ServiceNames(); !slices.Equal(names, []string{"azurite", "nats", "worker"}) {
		t.Errorf("services: got %v", names)
	}
	for name, service := range project.Services {
		if service.Image != images[name] {
			t.Errorf("%s: the image is %s, want %s", name, service.Image, images[name])
		}
		if service.HealthCheck == nil || service.HealthCheck.Test[0] != "CMD" {
			t.Errorf("%s: want a health check without a shell", name)
		}
		for _, port := range service.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s: port %d is published on %q", name, port.Target, port.HostIP)
			}
		}
	}
	worker := project.Services["worker"]
	checkCommand(t, worker.Command)
	if !slices.Contains(worker.Command, "--memory") {
		t.Error("each worker takes three quarters of the machine's memory for large partials: want --memory")
	}
	if !slices.ContainsFunc(worker.Volumes, func(v types.ServiceVolumeConfig) bool {
		return v.Target == "/tmp" && v.Type == types.VolumeTypeVolume && !v.ReadOnly
	}) {
		t.Error("a worker cannot write temporary files: want a volume at /tmp")
	}
	checkGrace(t, worker.Command, time.Duration(*worker.StopGracePeriod))
	var names []string
	for name := range worker.Environment {
		names = append(names, name)
	}
	checkVariables(t, names)
	if test := worker.HealthCheck.Test; test[1] != "/bellwether" {
		t.Errorf("the health check runs %s, which is not in the image", test[1])
	} else {
		checkCommand(t, test[2:])
	}
	if worker.Build.Dockerfile != "deploy/Dockerfile" || len(worker.Ports) > 0 || worker.ContainerName != "" {
		t.Errorf("want deploy/Dockerfile, and neither a port nor a name, which prevent scaling: got %+v", worker)
	}
}

// TestStack runs compose.yaml's NATS configuration and worker command as processes, with the file's
// default storage, and submits a job with the environment of compose.env. TestStack then compares
// the queries of the chart with the metrics of the leader.
func TestStack(t *testing.T) {
	project := loadCompose(t)
	var ports []string
	for range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ports = append(ports, l.Addr().String())
		l.Close()
	}
	hosts := strings.NewReplacer("nats:4222", ports[0], "127.0.0.1:4222", ports[0], "port: 4222", fmt.Sprintf("listen: %q", ports[0]),
		"127.0.0.1:8222", ports[1], "/data", t.TempDir(), ":9464", ports[2])

	config := filepath.Join(t.TempDir(), "nats.conf")
	nats := project.Services["nats"]
	if want := []string{"--config", nats.Configs[0].Target}; !slices.Equal(nats.Command, want) {
		t.Errorf("NATS runs with %v, want %v", nats.Command, want)
	}
	if err := os.WriteFile(config, []byte(hosts.Replace(project.Configs[nats.Configs[0].Source].Content)), 0o600); err != nil {
		t.Fatal(err)
	}
	options, err := server.ProcessConfigFile(config)
	if err != nil {
		t.Fatal(err)
	}
	options.NoSigs, options.NoLog = true, true
	s, err := server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	until(t, "NATS is healthy", func() error { return get(hosts.Replace(nats.HealthCheck.Test[len(nats.HealthCheck.Test)-1])) })

	worker := project.Services["worker"]
	var args, env []string
	for _, arg := range worker.Command {
		args = append(args, hosts.Replace(arg))
	}
	for name, value := range worker.Environment {
		env = append(env, name+"="+hosts.Replace(*value))
	}
	var output bytes.Buffer // complete when Wait returns
	process := exec.Command(program, args...)
	process.Env, process.Stderr = env, &output
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = process.Process.Signal(syscall.SIGTERM)
		if err := process.Wait(); err != nil {
			t.Errorf("the worker ended with %v:\n%s", err, &output)
		}
	})
	until(t, "the worker is healthy", func() error {
		var health []string
		for _, arg := range worker.HealthCheck.Test[2:] {
			health = append(health, hosts.Replace(arg))
		}
		cmd := exec.Command(program, health...)
		cmd.Env = []string{} // the command asks the worker, not the cluster
		return errors.Join(cmd.Run(), get("http://"+ports[2]+"/readyz"))
	})

	host := []string{"PATH=" + os.Getenv("PATH")}
	for _, line := range composeEnv(t) {
		host = append(host, hosts.Replace(line))
	}
	digest := func(args ...string) string {
		cmd := exec.Command(program, append(args, "primes", "-p", "limit=1e8", "-o", "json")...)
		cmd.Env = host
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		return regexp.MustCompile(`[0-9a-f]{64}`).FindString(string(out))
	}
	if want, got := digest("run"), digest("submit", "--wait"); want == "" || got != want {
		t.Errorf("the result of the worker is %q, of one process %q", got, want)
	}
	until(t, "the leader shows its metrics", func() error {
		if len(series(t, ports[2])["bellwether_jobs"]) == 0 {
			return errors.New("there is no bellwether_jobs")
		}
		return nil
	})
	checkSeries(t, series(t, ports[2]))
}

// composeEnv returns another environment after compose.env has changed it.
func composeEnv(t *testing.T, env ...string) []string {
	t.Helper()
	cmd := exec.Command("sh", "-c", "set -a; . ../compose.env; set +a; env | grep -E '^(BELLWETHER|AZURE)_'")
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// TestComposeStorage checks that the workers and the command line use the same storage,
// whether BELLWETHER_STORAGE is set or not.
func TestComposeStorage(t *testing.T) {
	for _, env := range [][]string{nil, {"BELLWETHER_STORAGE=azure"}, {"BELLWETHER_STORAGE=jetstream"}} {
		want := "BELLWETHER_STORAGE=" + *loadCompose(t, env...).Services["worker"].Environment["BELLWETHER_STORAGE"]
		if got := composeEnv(t, env...); !slices.Contains(got, want) {
			t.Errorf("with %v, workers have %s and the command line %v", env, want, got)
		}
		if len(env) > 0 && env[0] != want {
			t.Errorf("with %v, workers have %s", env, want)
		}
	}
}

// get fails the test if the answer is not OK.
func get(url string) error {
	answer, err := http.Get(url)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return errors.New(answer.Status)
	}
	return nil
}

func until(t *testing.T, what string, try func() error) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("timed out after %v waiting until %s: %v", patience, what, err)
		}
	}
}
