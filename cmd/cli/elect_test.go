package cli_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/deploy/local/azurite/azuritetest"
	"github.com/bellwether-compute/bellwether/deploy/local/faults"
)

// holdExclusively is the command that TestElect runs under the lease. holdExclusively ignores
// SIGTERM and reports whether another process runs it at the same time.
func holdExclusively() {
	signal.Ignore(syscall.SIGTERM)
	name, lock, log := os.Args[1], os.Args[2], os.Args[3]
	report := func(text string) {
		f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = fmt.Fprintln(f, text, name, os.Getenv("BELLWETHER_EPOCH"), os.Getppid())
			_ = f.Close()
		}
		if err != nil {
			panic(err)
		}
	}
	f, err := os.OpenFile(lock, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		panic(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		report("overlap")
	}
	report("start")
	time.Sleep(time.Hour)
}

// elector is a process of 'bellwether elect' whose connections can be cut.
type elector struct {
	*exec.Cmd
	proxies []*faults.TCPProxy
}

// electTerm is a line of output of holdExclusively.
type electTerm struct {
	what, name string
	epoch      int
	watchdog   int // process ID of the watchdog
}

// TestElect has five processes compete for a lease. The command must never run twice at the same
// time, whatever happens to the lease's holder.
func TestElect(t *testing.T) {
	onEachStorage(t, func(t *testing.T, on testStorage) {
		if testing.Short() {
			t.Skip("starts processes")
		}
		at := on.start(t)
		lease := max(on.shortLease, 5*time.Second) // leaves time to kill on a loaded machine
		cluster, dir := newClusterName(), t.TempDir()
		log, output := filepath.Join(dir, "log"), newTestOutput(t)
		electors := map[string]*elector{}
		start := func() {
			name := fmt.Sprintf("elector-%d", len(electors))
			e := &elector{}
			proxy := func(url string) string {
				p, err := faults.NewTCPProxy(strings.Split(url, "/")[2])
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = p.Close() })
				e.proxies = append(e.proxies, p)
				return p.Address()
			}
			env := append(os.Environ(), "BELLWETHER_NATS_URL=nats://"+proxy(at.nats))
			if on.name == onAzure.name {
				server := azuritetest.Server(t)
				blobs := strings.Split(server.BlobURL(), "/")[2]
				env = append(env, "AZURE_STORAGE_CONNECTION_STRING="+
					strings.Replace(server.ConnectionString(), blobs, proxy(server.BlobURL()), 1))
			}
			e.Cmd = exec.Command("bellwether", "elect", "--name", "exclusive", "--cluster", cluster,
				"--storage", on.name, "--lease", lease.String(), "--log-level", "info", "--log-format", "text",
				"--", "hold-exclusively", name, filepath.Join(dir, "lock"), log)
			e.Env, e.Stdout, e.Stderr = env, output, output
			if err := e.Start(); err != nil {
				t.Fatal(err)
			}
			electors[name] = e
			t.Cleanup(func() {
				_ = e.Process.Signal(syscall.SIGCONT)
				_ = e.Process.Kill()
				_ = e.Wait() // Wait returns when the command, which inherits the output, has ended too
			})
		}
		for range 5 {
			start()
		}

		terms := 0
		next := func() electTerm {
			t.Helper()
			for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
				data, err := os.ReadFile(log)
				if err != nil && !errors.Is(err, os.ErrNotExist) {
					t.Fatal(err)
				}
				lines := strings.Split(strings.TrimSpace(string(data)), "\n")
				if len(lines) > terms && strings.HasSuffix(string(data), "\n") {
					term := parseElectTerm(t, lines[terms])
					terms++
					if term.what != "start" || term.epoch < terms {
						t.Fatalf("line %d is not a start of a later epoch:\n%s", terms, data)
					}
					return term
				}
				if time.Now().After(deadline) {
					t.Fatalf("no command was started within %v:\n%s", patience, data)
				}
			}
		}
		replaced := func(how string, holder electTerm, began time.Time) electTerm {
			t.Helper()
			term := next()
			if term.name == holder.name || term.epoch <= holder.epoch {
				t.Fatalf("%s: %+v after %+v", how, term, holder)
			}
			t.Logf("%s: the next command started after %v", how, time.Since(began).Round(time.Millisecond))
			return term
		}

		holder := next()
		began := time.Now()
		if err := electors[holder.name].Process.Kill(); err != nil {
			t.Fatal(err)
		}
		holder = replaced("killed", holder, began)

		began = time.Now()
		suspended := electors[holder.name]
		if err := suspended.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		holder = replaced("suspended", holder, began)
		if err := suspended.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}

		began = time.Now()
		for _, p := range electors[holder.name].proxies {
			p.Stall()
		}
		cutOff := electors[holder.name]
		holder = replaced("cut off", holder, began)
		for _, p := range cutOff.proxies {
			p.Resume()
		}

		began = time.Now()
		if err := electors[holder.name].Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		stopped := electors[holder.name]
		holder = replaced("told to stop", holder, began)
		if _ = stopped.Wait(); stopped.ProcessState.ExitCode() != 128+int(syscall.SIGKILL) {
			t.Errorf("a process that was told to stop ended with %v, want the status of its command", stopped.ProcessState)
		}

		began = time.Now()
		if err := syscall.Kill(holder.watchdog, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		next()
		t.Logf("watchdog killed: the next command started after %v", time.Since(began).Round(time.Millisecond))
	})
}

func parseElectTerm(t *testing.T, line string) electTerm {
	t.Helper()
	fields := strings.Fields(line)
	if len(fields) != 4 {
		t.Fatalf("read line %q", line)
	}
	epoch, err := strconv.Atoi(fields[2])
	watchdog, err2 := strconv.Atoi(fields[3])
	if err := errors.Join(err, err2); err != nil {
		t.Fatalf("read line %q: %v", line, err)
	}
	return electTerm{fields[0], fields[1], epoch, watchdog}
}
