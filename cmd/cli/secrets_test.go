package cli_test

import (
	"bytes"
	"context"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/bellwether-compute/bellwether/cmd/cli"
	"github.com/bellwether-compute/bellwether/cmd/cli/execguard"
	"github.com/bellwether-compute/bellwether/cmd/cli/outputs"
	"github.com/bellwether-compute/bellwether/cmd/cli/wasmhost"
	"github.com/bellwether-compute/bellwether/cmd/internal/bench"
	"github.com/bellwether-compute/bellwether/cmd/internal/demo"
	"github.com/bellwether-compute/bellwether/deploy/local/secrettest"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/primes"
)

// someID is the ID of a job that does not exist.
const someID = "0123456789abcdev"

// secretProgram is the program of the search for secrets.
var secretProgram = cli.Program{
	Jobs:     []jobs.Job{jobs.MustNew(squares), jobs.MustNew(primes.Definition)},
	Commands: []cli.Command{bench.Command, demo.Command, outputs.Command, execguard.Command, wasmhost.Command},
}

// secretCommand describes how to run a command in the search for secrets.
type secretCommand struct {
	args  []string
	stays bool // the command runs until it is stopped
	spawn bool // the command starts processes of its program, so it must be a process of that program
	none  bool // the command uses no configured server
}

// secretCommands contains every command. The benchmarks without flags and demo start their own
// servers.
var secretCommands = map[string]secretCommand{
	"run":              {args: []string{"squares"}, none: true},
	"kept":             {},
	"verify":           {args: []string{someID}},
	"catalog":          {none: true},
	"health":           {none: true},
	"version":          {none: true},
	"submit":           {args: []string{"squares", "--wait"}},
	"list":             {},
	"context":          {none: true},
	"context add":      {args: []string{"secrets"}},
	"context list":     {},
	"context use":      {},
	"context remove":   {args: []string{"none"}},
	"status":           {args: []string{someID}},
	"watch":            {args: []string{someID}},
	"result":           {args: []string{someID}},
	"output":           {args: []string{someID}},
	"describe":         {args: []string{someID}},
	"events":           {args: []string{someID}},
	"logs":             {args: []string{someID}},
	"cancel":           {args: []string{someID}},
	"remove":           {args: []string{someID}},
	"resubmit":         {args: []string{someID}},
	"retry":            {args: []string{someID}},
	"wait":             {args: []string{someID}},
	"requeue":          {args: []string{someID}},
	"workers":          {},
	"leader":           {},
	"leader step-down": {},
	"history":          {},
	"ui":               {none: true}, // it connects to nothing before a browser asks
	"worker":           {args: []string{"--log-level", "debug"}, stays: true},
	"bench worker":     {args: []string{"--log-level", "debug"}, stays: true},
	"elect":            {args: []string{"--name", "secrets", "--log-level", "debug", "--", "true"}, stays: true},
	"elect-watchdog":   {args: []string{"true"}, none: true},
	"exec-guard":       {none: true},
	"wasm-host":        {none: true},
	"dev":              {args: []string{"--workers", "1", "--port", "0", "--log-level", "debug"}, stays: true, spawn: true},
	"demo":             {none: true},
	"bench":            {none: true},
	"bench aggregate":  {none: true},
	"bench failover":   {args: []string{"--attach"}},
	"bench leader":     {args: []string{"secrets"}, stays: true},
	"bench overhead":   {none: true},
	"bench reuse":      {none: true},
	"bench rounds":     {none: true},
	"bench scale":      {none: true},
	"bench scan":       {none: true},
	"bench throughput": {none: true},
}

// searched runs all commands and searches their output for secrets. The parameter flags is added to
// each command. searched returns the output of all commands.
func searched(t *testing.T, flags ...string) string {
	t.Helper()
	var (
		mu      sync.Mutex
		all     strings.Builder
		running sync.WaitGroup
	)
	for name, c := range secretCommands {
		if c.none || c.spawn {
			continue
		}
		running.Go(func() {
			args := slices.Concat(strings.Fields(name), []string{"--reply-timeout", "500ms"}, flags, c.args)
			output := runSearched(t.Context(), args, c.stays)
			mu.Lock()
			defer mu.Unlock()
			all.WriteString(output)
			if secret := secrettest.Find(output); secret != "" {
				t.Errorf("%s: the output contains %s:\n%s", name, secret, output)
			}
		})
	}
	running.Wait()
	return all.String()
}

// errorWatch keeps output and closes seen once the output mentions an error.
type errorWatch struct {
	mu   sync.Mutex
	text bytes.Buffer
	once sync.Once
	seen chan struct{}
}

func (w *errorWatch) Write(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if bytes.Contains(data, []byte("error")) {
		w.once.Do(func() { close(w.seen) })
	}
	return w.text.Write(data)
}

// runSearched runs a command in this process, and returns its output. A command that stays is
// stopped after its first error.
func runSearched(ctx context.Context, args []string, stays bool) string {
	output := &errorWatch{seen: make(chan struct{})}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if stays {
		finished := make(chan struct{})
		defer close(finished)
		go func() {
			select {
			case <-output.seen:
			case <-time.After(patience):
			case <-finished:
			}
			stop()
		}()
	}
	secretProgram.Run(ctx, args, cli.Streams{In: strings.NewReader(""), Out: output, Err: output})
	output.mu.Lock()
	defer output.mu.Unlock()
	return output.text.String()
}

// clearAccount hides the account variables of the environment.
func clearAccount(t *testing.T) {
	for _, name := range []string{
		cluster.EnvAzureURL, cluster.EnvAzureQueueURL, cluster.EnvAzureFile, cluster.EnvAzureConnection,
		cluster.EnvAzureAccount, cluster.EnvAzureKey, cluster.EnvAzureSAS,
	} {
		t.Setenv(name, "")
	}
}

// TestSecretCommands checks that secretCommands contains every command.
func TestSecretCommands(t *testing.T) {
	all := secretProgram.AllCommands()
	slices.Sort(all)
	if want := slices.Sorted(maps.Keys(secretCommands)); !slices.Equal(all, want) {
		t.Errorf("the commands are\n%q, the search for secrets has\n%q", all, want)
	}
}

// TestNoSecretOfTheAccount runs every command on a storage account whose endpoint fails, and
// searches all output for the account's secrets. NATS works in this test, with a password.
func TestNoSecretOfTheAccount(t *testing.T) {
	nats := withPassword(startServer(t, server.Options{Username: "shepherd", Password: secrettest.Password}))
	for _, endpoint := range secrettest.Endpoints(t) {
		for i, configured := range secrettest.Accounts(endpoint) {
			if i > 0 && endpoint.Name != "403" && endpoint.Name != "no HTTP" {
				continue // the drivers' tests cover all combinations
			}
			t.Run(endpoint.Name+"/"+configured.Name, func(t *testing.T) {
				clearAccount(t)
				t.Setenv(cluster.EnvAzureURL, configured.URL)
				t.Setenv(cluster.EnvAzureConnection, configured.ConnectionString)
				if configured.URL != "" {
					t.Setenv(cluster.EnvAzureQueueURL, secrettest.QueueURL(endpoint))
				}
				output := searched(t, "--storage", "azure", "--nats", nats)
				if !strings.Contains(output, "storage unavailable") && !strings.Contains(output, "refuses") {
					t.Errorf("no command met the failing storage:\n%s", output)
				}
			})
		}
	}
}

// TestNoSecretOfProcesses is like [TestNoSecretOfTheAccount] for processes, whose output may bypass
// the streams of the command line, and for the commands that start processes. The test stores the
// secrets in a file.
func TestNoSecretOfProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	program, err := exec.LookPath("bellwether") // testscript.Main has installed the program
	if err != nil {
		t.Fatal(err)
	}
	nats := withPassword(startServer(t, server.Options{Username: "shepherd", Password: secrettest.Password}))
	var running sync.WaitGroup
	defer running.Wait()
	for _, endpoint := range secrettest.Endpoints(t) {
		for i, configured := range secrettest.Accounts(endpoint) {
			for name, c := range secretCommands {
				if name != "worker" && !c.spawn || name != "worker" && (i > 0 || endpoint.Name != "403" && endpoint.Name != "unreachable") {
					continue
				}
				cmd := exec.Command(program, slices.Concat(strings.Fields(name), c.args, []string{
					"--storage", "azure", "--azure-connection-file", configured.File(t), "--reply-timeout", "500ms",
				})...)
				cmd.Env = append(os.Environ(), "BELLWETHER_NATS_URL="+nats, "XDG_STATE_HOME="+t.TempDir(), cluster.EnvAzureQueueURL+"="+secrettest.QueueURL(endpoint))
				running.Go(func() {
					output, err := runProcess(cmd)
					if err != nil {
						t.Errorf("%s: %v", name, err)
					}
					if secret := secrettest.Find(output); secret != "" {
						t.Errorf("%s at %s with %s: the output contains %s:\n%s", name, endpoint.Name, configured.Name, secret, output)
					}
				})
			}
		}
	}
}

// runProcess runs a process until its output mentions an error or it ends, stops the process,
// and returns its output.
func runProcess(cmd *exec.Cmd) (string, error) {
	output := &errorWatch{seen: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Start(); err != nil {
		return "", err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the exit status does not matter
		close(ended)
	}()
	select {
	case <-output.seen:
	case <-time.After(patience):
	case <-ended:
	}
	_ = cmd.Process.Signal(syscall.SIGTERM) // the process may have ended
	select {
	case <-ended:
	case <-time.After(patience):
		_ = cmd.Process.Kill() // the process may have ended
		<-ended
	}
	return output.text.String(), nil
}

// TestNoSecretOfNATS runs every command with secrets of NATS that are refused, or on a server
// that fails.
func TestNoSecretOfNATS(t *testing.T) {
	guarded := startServer(t, server.Options{Username: "shepherd", Password: "another"})
	plain := startServer(t, server.Options{Username: "shepherd", Password: secrettest.Password})
	servers := map[string]string{"refuses": guarded, "unreachable": "nats://127.0.0.1:1", "no JetStream": plain}
	for _, endpoint := range secrettest.Endpoints(t) {
		switch endpoint.Name {
		case "closes", "no HTTP", "400", "unknown authority":
			servers[endpoint.Name] = strings.NewReplacer("https://", "nats://", "http://", "nats://").Replace(endpoint.URL)
		}
	}
	creds := newFile(t, "user.creds", []byte("-----BEGIN NATS USER JWT-----\n"+secrettest.Token+"\n------END NATS USER JWT------\n\n"+
		"-----BEGIN USER NKEY SEED-----\nSU"+secrettest.Token+"\n------END USER NKEY SEED------\n"))
	seed := newFile(t, "user.nk", []byte("SU"+secrettest.Token))
	for name, url := range servers {
		for secret, flags := range map[string][]string{
			"password in URL":  {"--nats", withPassword(url)},
			"token in URL":     {"--nats", strings.Replace(url, "://", "://"+secrettest.Token+"@", 1)},
			"URL without host": {"--nats", "nats://shepherd:" + secrettest.Password + "@"},
			"no URL":           {"--nats", "nats://shepherd:" + secrettest.Password + "@%zz:" + secrettest.Password},
			"password":         {"--nats", url, "--user", "shepherd", "--password", secrettest.Password},
			"token":            {"--nats", url, "--user", secrettest.Token},
			"creds":            {"--nats", url, "--creds", creds},
			"nkey":             {"--nats", url, "--nkey", seed},
			"TLS":              {"--nats", strings.Replace(withPassword(url), "nats://", "tls://", 1)},
		} {
			t.Run(name+"/"+secret, func(t *testing.T) {
				t.Parallel()
				searched(t, flags...)
			})
		}
	}
}

func withPassword(url string) string {
	return strings.Replace(url, "://", "://shepherd:"+secrettest.Password+"@", 1)
}
