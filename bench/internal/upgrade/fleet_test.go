//go:build unix

package upgrade

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/deploy/local/procs"
)

const workers = 3

// patience is the longest time for each change of the fleet or of a job.
const patience = 3 * time.Minute

// fleet has worker processes of two versions on one storage.
type fleet struct {
	t           *testing.T
	flags       []string // command-line flags that name the cluster
	logs        string   // file with the logs of all workers
	supervisors map[string]*procs.Supervisor
	running     []worker
}

// worker is a process of a version.
type worker struct {
	*procs.Process
	version string
}

// newFleet makes a fleet without workers. The workers read files in a folder.
func newFleet(t *testing.T, flags []string, lease, files string, programs ...program) *fleet {
	f := &fleet{t: t, flags: flags, logs: filepath.Join(t.TempDir(), "logs"), supervisors: map[string]*procs.Supervisor{}}
	logs, err := os.Create(f.logs)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range programs {
		f.supervisors[p.version] = procs.New(procs.Config{
			Program: p.path,
			Args:    slices.Concat([]string{"worker", "--with-parent", "--slots", "2", "--memory", "256MiB", "--allow", "probe", "--files", files, "--lease", lease}, flags),
			Output:  logs,
		})
	}
	t.Cleanup(func() {
		for _, s := range f.supervisors {
			s.Stop(30*time.Second, nil)
		}
		logs.Close()
		if text, _ := os.ReadFile(f.logs); t.Failed() {
			t.Logf("the logs of the workers end with\n%s", text[max(0, len(text)-20_000):])
		}
	})
	return f
}

// add starts a worker.
func (f *fleet) add(p program) {
	f.t.Helper()
	one, err := f.supervisors[p.version].Start()
	if err != nil {
		f.t.Fatal(err)
	}
	f.running = append(f.running, worker{one, p.version})
}

// wait polls holds until it returns true.
func (f *fleet) wait(what string, holds func() bool) {
	f.t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			f.t.Fatalf("timed out after %v waiting until %s", patience, what)
		}
	}
}

// settle waits until the running processes are the workers that the leader knows as alive, and returns the leader's process.
func (f *fleet) settle(p program) (leader *procs.Process) {
	f.t.Helper()
	f.wait(fmt.Sprintf("%d workers have joined", len(f.running)), func() bool {
		var list []struct {
			PID   int
			State string
		}
		var leads struct{ PID int }
		if f.ask(p, &list, "workers") != nil || f.ask(p, &leads, "leader") != nil {
			return false
		}
		known := map[int]bool{}
		for _, w := range list {
			if w.State == "idle" || w.State == "busy" {
				known[w.PID] = true
			}
		}
		leader = nil
		for _, one := range f.running {
			if !known[one.PID()] {
				return false
			}
			if one.PID() == leads.PID {
				leader = one.Process
			}
		}
		return leader != nil && len(known) == len(f.running)
	})
	return leader
}

// replace ends a worker with a signal and starts one of another version.
func (f *fleet) replace(one worker, s syscall.Signal, by program) {
	f.t.Helper()
	one.Signal(s)
	select {
	case <-one.Done():
	case <-time.After(patience):
		f.t.Fatalf("process %d has not ended within %v of %v", one.PID(), patience, s)
	}
	f.running = slices.DeleteFunc(f.running, func(w worker) bool { return w == one })
	f.add(by)
}

func (f *fleet) ask(p program, answer any, args ...string) error {
	return p.ask(answer, slices.Concat(args, f.flags)...)
}

// submit submits a job and returns its ID.
func (f *fleet) submit(p program, args ...string) string {
	f.t.Helper()
	var job struct{ ID string }
	p.must(&job, slices.Concat([]string{"submit"}, args, f.flags)...)
	return job.ID
}

// status is a part of the JSON of the command status.
type status struct {
	State string
	Round uint64
	Done  uint64
	Reuse struct{ Partitions uint64 }
}

func (f *fleet) status(p program, id string) (s status) {
	f.t.Helper()
	f.wait("status answers", func() bool { return f.ask(p, &s, "status", id) == nil })
	return s
}

// result waits until a job has completed and returns the SHA-256 of its result.
func (f *fleet) result(p program, id string) string {
	f.t.Helper()
	var done struct{ State, SHA256, Error string }
	f.wait("job "+id+" has ended", func() bool {
		switch f.status(p, id).State {
		case "completed", "failed", "cancelled":
			return true
		}
		return false
	})
	p.must(&done, slices.Concat([]string{"result", id}, f.flags)...)
	if done.State != "completed" {
		f.t.Fatalf("job %s is %s: %s", id, done.State, done.Error)
	}
	return done.SHA256
}
