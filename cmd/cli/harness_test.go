package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/cmd/cli"
	"github.com/bellwether-compute/bellwether/deploy/local/procs"
	"github.com/bellwether-compute/bellwether/jobs"
)

// testFlock is a NATS server in this process, storage, and worker processes. Their program
// is the test binary.
type testFlock struct {
	t       *testing.T
	url     string   // of the NATS server
	cluster string   // name
	flags   []string // that select the storage
	trace   string   // folder in which each process notes what it executes
	release string   // file that releases the jobs of submitHeld once it exists
	output  *testOutput
	*procs.Supervisor
}

var testClusters atomic.Int64

// newTestCluster returns a name that no other test uses, since tests share storage.
func newTestCluster() string { return fmt.Sprintf("test-%d", testClusters.Add(1)) }

// flockPatience bounds each wait of a test. It allows for a loaded machine.
const flockPatience = 60 * time.Second

// newTestFlock starts workers with one slot each and the given flags. All processes end with
// the test.
func newTestFlock(t *testing.T, on testStorage, workers int, flags ...string) *testFlock {
	t.Helper()
	if testing.Short() {
		t.Skip("starts processes")
	}
	at := on.start(t)
	program, err := exec.LookPath("bellwether") // installed by testscript.Main
	if err != nil {
		t.Fatal(err)
	}
	output := newTestOutput(t)
	f := newCommander(t, at.nats, newTestCluster(), at.flags)
	f.output = output
	f.Supervisor = procs.New(procs.Config{
		Program: program,
		Args:    slices.Concat([]string{"worker", "--with-parent", "--slots", "1", "--log-format", "text"}, at.flags, flags),
		Env:     []string{"BELLWETHER_NATS_URL=" + f.url, "BELLWETHER_CLUSTER=" + f.cluster},
		Output:  output,
		Logger:  slog.New(slog.NewTextHandler(output, nil)),
	})
	t.Cleanup(func() { f.Stop(30*time.Second, nil) })
	if workers > 0 {
		f.add(workers)
	}
	return f
}

// newCommander returns a testFlock without processes, which only runs commands.
func newCommander(t *testing.T, nats, cluster string, flags []string) *testFlock {
	t.Helper()
	return &testFlock{
		t: t, url: nats, cluster: cluster, flags: flags,
		trace: t.TempDir(), release: filepath.Join(t.TempDir(), "release"),
	}
}

// add starts workers and waits until a leader knows all running workers.
func (f *testFlock) add(n int) {
	f.t.Helper()
	for range n {
		if _, err := f.Start(); err != nil {
			f.t.Fatal(err)
		}
	}
	f.awaitWorkers(len(f.Running()))
}

func (f *testFlock) awaitWorkers(n int) {
	f.t.Helper()
	f.until(fmt.Sprintf("the leader knows %d workers", n), func() bool {
		var workers []struct {
			State string `json:"state"`
		}
		if f.ask(&workers, "workers") != 0 {
			return false
		}
		here := 0
		for _, w := range workers {
			if w.State == "idle" || w.State == "busy" {
				here++
			}
		}
		return here == n
	})
}

// until waits until a condition holds.
func (f *testFlock) until(what string, holds func() bool) {
	f.t.Helper()
	deadline := time.Now().Add(flockPatience)
	for {
		began := time.Now()
		if holds() {
			return
		}
		if time.Now().After(deadline) {
			f.t.Fatalf("waited %v until %s", flockPatience, what)
		}
		// A look may be a command, which needs CPU time that other processes lack then.
		time.Sleep(max(20*time.Millisecond, 4*time.Since(began)))
	}
}

// run runs a command in this process, and returns its exit status and output.
func (f *testFlock) run(args ...string) (status int, out, errs string) {
	var o, e bytes.Buffer
	args = slices.Concat(args, []string{"--nats", f.url, "--cluster", f.cluster}, f.flags)
	status = cli.Run(context.Background(), args, cli.Streams{In: strings.NewReader(""), Out: &o, Err: &e}, jobs.MustNew(squares))
	return status, o.String(), e.String()
}

// ask runs a command, decodes its JSON output and returns its exit status.
func (f *testFlock) ask(answer any, args ...string) (status int) {
	f.t.Helper()
	status, out, _ := f.run(slices.Concat(args, []string{"-o", "json", "--timeout", "20s"})...)
	if out == "" {
		if status == 0 {
			f.t.Fatalf("%v printed nothing", args)
		}
		return status
	}
	if err := json.Unmarshal([]byte(out), answer); err != nil {
		f.t.Fatalf("%v: %v in %s", args, err, out)
	}
	return status
}

// do is like ask for a command that must succeed.
func (f *testFlock) do(answer any, args ...string) {
	f.t.Helper()
	if status := f.ask(answer, args...); status != 0 {
		f.t.Fatalf("%v: status %d", args, status)
	}
}

// The parts of the JSON output that the tests read.
type (
	leaderAnswer struct {
		Epoch  uint64 `json:"epoch"`
		Worker string `json:"worker"`
		PID    int    `json:"pid"`
	}
	statusAnswer struct {
		State string `json:"state"`
		Done  uint64 `json:"done"`
		Live  bool   `json:"live"`
	}
	outcomeAnswer struct {
		ID         string          `json:"id"`
		State      string          `json:"state"`
		Partitions uint64          `json:"partitions"`
		Result     json.RawMessage `json:"result"`
		SHA256     string          `json:"sha256"`
		Epochs     []uint64        `json:"epochs"`
		Executed   uint64          `json:"executed"`
		Repeated   uint64          `json:"repeated"`
		Error      string          `json:"error"`
	}
)

// submit submits the job squares, which writes a trace of the partitions that it executes.
func (f *testFlock) submit(params ...string) string {
	f.t.Helper()
	var answer struct {
		ID string `json:"id"`
	}
	f.do(&answer, f.jobArgs("submit", params)...)
	return answer.ID
}

// submitHeld is like submit for a job that does not end before finish is called. So the job
// is still running when the test kills a process, however slow the machine is.
func (f *testFlock) submitHeld(params ...string) string {
	f.t.Helper()
	return f.submit(append(params, "hold="+f.release)...)
}

func (f *testFlock) jobArgs(command string, params []string) []string {
	args := []string{command, "squares"}
	for _, p := range params {
		args = append(args, "-p", p)
	}
	if command == "submit" {
		args = append(args, "-p", "trace="+f.trace)
	}
	return args
}

func (f *testFlock) leader() leaderAnswer {
	f.t.Helper()
	var leader leaderAnswer
	f.do(&leader, "leader")
	return leader
}

// process returns the running process with the process ID.
func (f *testFlock) process(pid int) *procs.Process {
	f.t.Helper()
	p := f.Find(pid)
	if p == nil {
		f.t.Fatalf("process %d is not one of the workers", pid)
	}
	return p
}

// kill kills a process (SIGKILL) and waits until it has ended.
func (f *testFlock) kill(p *procs.Process) {
	p.Kill()
	<-p.Done()
}

// others returns the running processes except one.
func (f *testFlock) others(pid int) []*procs.Process {
	var list []*procs.Process
	for _, p := range f.Running() {
		if p.PID() != pid {
			list = append(list, p)
		}
	}
	return list
}

// awaitDone waits until n partitions are done.
func (f *testFlock) awaitDone(id string, n uint64) {
	f.t.Helper()
	f.until(fmt.Sprintf("%d partitions are done", n), func() bool {
		var s statusAnswer
		f.do(&s, "status", id)
		if s.State == "completed" || s.State == "failed" {
			f.t.Fatalf("the job is %s, and the test has not seen %d partitions done", s.State, n)
		}
		return s.Done >= n
	})
}

// finish releases the job, waits until it has ended, and checks that its result has the same
// bytes as that of the same job in one process.
func (f *testFlock) finish(id string, params ...string) outcomeAnswer {
	f.t.Helper()
	if err := os.WriteFile(f.release, nil, 0o600); err != nil {
		f.t.Fatal(err)
	}
	f.until("the job has ended", func() bool {
		var s statusAnswer
		f.do(&s, "status", id)
		return s.State == "completed" || s.State == "failed" || s.State == "cancelled"
	})
	var got, want outcomeAnswer
	f.do(&got, "result", id)
	f.do(&want, f.jobArgs("run", append(params, "sleep=0s"))...)
	if got.SHA256 == "" || got.SHA256 != want.SHA256 || !bytes.Equal(got.Result, want.Result) {
		f.t.Errorf("result: got %s (%s), run gives %s (%s)", got.Result, got.SHA256, want.Result, want.SHA256)
	}
	if got.Partitions != want.Partitions {
		f.t.Errorf("partitions: got %d, run has %d", got.Partitions, want.Partitions)
	}
	if got.Executed < got.Partitions || got.Repeated != got.Executed-got.Partitions {
		f.t.Errorf("executed %d and repeated %d do not match %d partitions", got.Executed, got.Repeated, got.Partitions)
	}
	return got
}

// execution is one execution of a partition, as a trace has it.
type execution struct {
	partition uint64
	at        time.Time // when it ended
}

// traces returns the executions of each process, in order, by process ID.
func (f *testFlock) traces() map[int][]execution {
	f.t.Helper()
	files, err := filepath.Glob(filepath.Join(f.trace, "*"))
	if err != nil {
		f.t.Fatal(err)
	}
	all := make(map[int][]execution)
	for _, name := range files {
		pid, err := strconv.Atoi(filepath.Base(name))
		if err != nil {
			f.t.Fatal(err)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			f.t.Fatal(err)
		}
		all[pid] = nil
		for line := range strings.Lines(string(data)) {
			var (
				e     execution
				nanos int64
			)
			if _, err := fmt.Sscan(line, &e.partition, &nanos); err != nil {
				f.t.Fatalf("trace of process %d: %v in %q", pid, err, line)
			}
			e.at = time.Unix(0, nanos)
			all[pid] = append(all[pid], e)
		}
	}
	return all
}

// executions counts, by process ID, how often a process executed each partition.
func (f *testFlock) executions() map[int]map[uint64]int {
	f.t.Helper()
	all := make(map[int]map[uint64]int)
	for pid, trace := range f.traces() {
		all[pid] = make(map[uint64]int)
		for _, e := range trace {
			all[pid][e.partition]++
		}
	}
	return all
}

// repeatedBy counts the repeated executions of partitions by all processes except the given
// ones.
func (f *testFlock) repeatedBy(but ...int) int {
	once := make(map[uint64]int)
	for pid, executed := range f.executions() {
		if slices.Contains(but, pid) {
			continue
		}
		for partition, n := range executed {
			once[partition] += n
		}
	}
	repeated := 0
	for _, n := range once {
		repeated += n - 1
	}
	return repeated
}
