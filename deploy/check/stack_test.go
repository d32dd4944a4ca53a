package check

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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

	"github.com/compose-spec/compose-go/v2/types"
	"github.com/nats-io/nats-server/v2/server"
)

// stack is what compose.yaml describes, as processes of this machine: there is no
// network of containers, so services find one another at free ports of 127.0.0.1.
type stack struct {
	t       *testing.T
	project *types.Project
	there   *strings.Replacer // where a service is that compose.yaml names
	env     []string          // of compose.env, for the command line
}

const patience = 60 * time.Second

// newStack runs NATS and Azurite, with storage as said.
func newStack(t *testing.T, storage string) *stack {
	t.Helper()
	ports := freePorts(t, 4)
	s := &stack{t: t, project: loadCompose(t, "BELLWETHER_STORAGE="+storage)}
	var places []string
	for i, at := range []struct{ service, port string }{{"nats", "4222"}, {"azurite", "10000"}, {"azurite", "10001"}} {
		place := fmt.Sprintf("127.0.0.1:%d", ports[i])
		places = append(places, at.service+":"+at.port, place, "127.0.0.1:"+at.port, place)
	}
	data, monitor := t.TempDir(), fmt.Sprintf("127.0.0.1:%d", ports[3])
	places = append(places, "port: 4222", fmt.Sprintf("listen: \"127.0.0.1:%d\"", ports[0]), "127.0.0.1:8222", monitor, "/data", data)
	s.there = strings.NewReplacer(places...)
	for line := range strings.Lines(read(t, "../compose.env")) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") {
			s.env = append(s.env, s.there.Replace(strings.ReplaceAll(line, "'", "")))
		}
	}
	s.env = append(s.env, "BELLWETHER_STORAGE="+storage)
	s.startNATS()
	if storage == "azure" {
		s.startAzurite(data, ports[1], ports[2])
	}
	return s
}

func (s *stack) startNATS() {
	s.t.Helper()
	service := s.project.Services["nats"]
	if version := strings.TrimSuffix(strings.TrimPrefix(service.Image, "nats:"), "-alpine"); version != server.VERSION {
		s.t.Errorf("the image is %s, tested is %s", service.Image, server.VERSION)
	}
	config := s.project.Configs[service.Configs[0].Source]
	if want := []string{"--config", service.Configs[0].Target}; !slices.Equal(service.Command, want) {
		s.t.Errorf("NATS is started by %v, want %v", service.Command, want)
	}
	file := filepath.Join(s.t.TempDir(), "nats.conf")
	if err := os.WriteFile(file, []byte(s.there.Replace(config.Content)), 0o600); err != nil {
		s.t.Fatal(err)
	}
	options, err := server.ProcessConfigFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	options.NoSigs, options.NoLog = true, true
	nats, err := server.NewServer(options)
	if err != nil {
		s.t.Fatal(err)
	}
	nats.Start()
	s.t.Cleanup(func() {
		nats.Shutdown()
		nats.WaitForShutdown()
	})
	test := service.HealthCheck.Test
	s.until("NATS is healthy", func() error { return get(s.there.Replace(test[len(test)-1])) })
}

// startAzurite runs the version that is tested elsewhere, which must be that of the
// image.
func (s *stack) startAzurite(data string, blob, queue int) {
	s.t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		if os.Getenv("CI") != "" {
			s.t.Fatal("there is no Node.js, which Azurite needs")
		}
		s.t.Skip("there is no Node.js, which Azurite needs")
	}
	service := s.project.Services["azurite"]
	var wanted struct {
		Dependencies struct{ Azurite string } `json:"dependencies"`
	}
	dir := s.t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json"} {
		text := read(s.t, "../azurite/"+name)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			s.t.Fatal(err)
		}
		if name == "package.json" {
			if err := json.Unmarshal([]byte(text), &wanted); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	if !strings.HasSuffix(service.Image, ":"+wanted.Dependencies.Azurite) {
		s.t.Errorf("the image is %s, tested is %s", service.Image, wanted.Dependencies.Azurite)
	}
	if err := run("npm", "ci", "--prefix", dir, "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"); err != nil {
		s.t.Fatal(err)
	}
	var args []string
	for _, arg := range service.Command[1:] {
		args = append(args, strings.ReplaceAll(s.there.Replace(arg), "0.0.0.0", "127.0.0.1"))
	}
	args = append(args, fmt.Sprintf("--blobPort=%d", blob), fmt.Sprintf("--queuePort=%d", queue), "--tablePort=0")
	s.start(filepath.Join(dir, "node_modules", ".bin", service.Command[0]), args, nil)
	test := service.HealthCheck.Test
	probe := strings.NewReplacer("10000", fmt.Sprint(blob), "10001", fmt.Sprint(queue)).Replace(test[len(test)-1])
	s.until("Azurite is healthy", func() error { return run(test[1], test[2], probe) })
}

// scale starts workers, as 'docker compose up --scale worker=N' would, each at a port
// of its own, and waits until they are healthy, and ready as Kubernetes sees it.
func (s *stack) scale(n int) (workers []*exec.Cmd, addresses []string) {
	s.t.Helper()
	service := s.project.Services["worker"]
	var env []string
	for _, name := range slices.Sorted(maps.Keys(service.Environment)) {
		env = append(env, name+"="+s.there.Replace(*service.Environment[name]))
	}
	for _, port := range freePorts(s.t, n) {
		address := fmt.Sprintf("127.0.0.1:%d", port)
		args := slices.Clone(service.Command)
		args[len(args)-1] = strings.Replace(args[len(args)-1], ":9464", address, 1)
		workers = append(workers, s.start(program, args, env))
		addresses = append(addresses, address)
	}
	s.until("the workers are healthy", func() error {
		cmd := exec.Command(program, service.HealthCheck.Test[2:]...)
		cmd.Env = env
		return cmd.Run()
	})
	for _, address := range addresses {
		for _, path := range []string{"/healthz", "/readyz"} {
			s.until("a worker says so at "+path, func() error { return get("http://" + address + path) })
		}
	}
	return workers, addresses
}

// get fails unless the answer is OK.
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

// start runs a program until the test ends.
func (s *stack) start(name string, args, env []string) *exec.Cmd {
	s.t.Helper()
	var output bytes.Buffer // written until Wait has returned
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}, env...)
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = cmd.Process.Kill() // fails only if it has ended
		_ = cmd.Wait()
		if s.t.Failed() {
			s.t.Logf("%s %v wrote:\n%s", name, args, output.String())
		}
	})
	return cmd
}

func (s *stack) until(what string, try func() error) {
	s.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("waited %v in vain until %s: %v", patience, what, err)
		}
		time.Sleep(50 * time.Millisecond) // between two looks
	}
}

// command runs the command line as someone on the host would, with compose.env.
func (s *stack) command(args ...string) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = s.env
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("%v: %v\n%s", args, err, errs.String())
	}
	return string(out)
}

// TestStack puts the fleet up on each storage, gives it a job from the host, takes
// it down in order, and up again; and looks whether it shows what is asked for.
func TestStack(t *testing.T) {
	for _, storage := range []string{"azure", "jetstream"} {
		t.Run(storage, func(t *testing.T) {
			s := newStack(t, storage)
			workers, _ := s.scale(3)
			job := []string{"primes", "-p", "limit=2e9"}
			digest := regexp.MustCompile(`[0-9a-f]{64}`)
			want := digest.FindString(s.command(append([]string{"run", "-o", "json"}, job...)...))
			got := digest.FindString(s.command(append([]string{"submit", "--wait", "-o", "json"}, job...)...))
			if want == "" || got != want {
				t.Errorf("the fleet's result is %q, that of one process %q", got, want)
			}
			for _, worker := range workers {
				if err := worker.Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
			}
			for _, worker := range workers {
				if err := worker.Wait(); err != nil {
					t.Errorf("a worker that was asked to stop ended with %v", err)
				}
			}
			_, leader := s.scale(1)
			s.command("submit", "--wait", "primes", "-p", "limit=1e8")
			var shown map[string][]map[string]string
			s.until("the leader shows its figures", func() error {
				if shown = series(t, leader[0]); len(shown["bellwether_jobs"]) == 0 {
					return errors.New("it shows no jobs")
				}
				return nil
			})
			checkSeries(t, shown)
			if !strings.Contains(s.command("history", "-o", "json"), `"epoch":1,`) {
				t.Error("the history does not go back to before the fleet was taken down")
			}
		})
	}
}

// freePorts are ports that nobody listens on.
func freePorts(t *testing.T, n int) []int {
	t.Helper()
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() // only once all are found
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}
