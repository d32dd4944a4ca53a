package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
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
	"github.com/bellwether-compute/bellwether/cmd/cli/outputs"
	"github.com/bellwether-compute/bellwether/deploy/local/procs"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/scan"
)

// testCluster is a NATS server in this process, storage, and worker processes. The processes run
// the test binary.
type testCluster struct {
	t       *testing.T
	url     string   // URL of the NATS server
	cluster string   // name of the cluster
	flags   []string // flags that select the storage
	trace   string   // folder in which each process records the partitions that it executes
	release string   // file that, once it exists, lets the jobs of submitHeld end
	output  *testOutput
	*procs.Supervisor
}

var testClusters atomic.Int64

// newClusterName returns a name that no other test uses, because tests share storage.
func newClusterName() string { return fmt.Sprintf("test-%d", testClusters.Add(1)) }

// patience bounds each wait of a test. The limit allows for a loaded machine.
const patience = 3 * time.Minute

// newTestCluster starts workers with one slot each and the given flags. All processes end with
// the test.
func newTestCluster(t *testing.T, on testStorage, workers int, flags ...string) *testCluster {
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
	c := newCommander(t, at.nats, newClusterName(), at.flags)
	c.output = output
	c.Supervisor = procs.New(procs.Config{
		Program: program,
		Args:    slices.Concat([]string{"worker", "--with-parent", "--slots", "1", "--log-format", "text"}, at.flags, flags),
		Env:     []string{"BELLWETHER_NATS_URL=" + c.url, "BELLWETHER_CLUSTER=" + c.cluster},
		Output:  output,
		Logger:  slog.New(slog.NewTextHandler(output, nil)),
	})
	t.Cleanup(func() { c.Stop(30*time.Second, nil) })
	if workers > 0 {
		c.add(workers)
	}
	return c
}

// newCommander returns a testCluster without processes, which only runs commands.
func newCommander(t *testing.T, nats, cluster string, flags []string) *testCluster {
	t.Helper()
	return &testCluster{
		t: t, url: nats, cluster: cluster, flags: flags,
		trace: t.TempDir(), release: filepath.Join(t.TempDir(), "release"),
	}
}

// add starts workers and waits until a leader knows all running workers.
func (c *testCluster) add(n int) {
	c.t.Helper()
	for range n {
		if _, err := c.Start(); err != nil {
			c.t.Fatal(err)
		}
	}
	c.awaitWorkers(len(c.Running()))
}

func (c *testCluster) awaitWorkers(n int) {
	c.t.Helper()
	c.until(fmt.Sprintf("the leader knows %d workers", n), func() bool {
		var workers []struct {
			State string `json:"state"`
		}
		if c.ask(&workers, "workers") != 0 {
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
func (c *testCluster) until(what string, holds func() bool) {
	c.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		began := time.Now()
		if holds() {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("waited %v until %s", patience, what)
		}
		// The pause between two checks limits the CPU time that checks with commands take from
		// other processes.
		time.Sleep(max(20*time.Millisecond, min(9*time.Since(began), time.Second)))
	}
}

// run runs a command in this process, and returns its exit status and output.
func (c *testCluster) run(args ...string) (status int, out, errs string) {
	var o, e bytes.Buffer
	args = slices.Concat(args, []string{"--nats", c.url, "--cluster", c.cluster}, c.flags)
	p := cli.Program{Jobs: []jobs.Job{jobs.MustNew(squares), jobs.MustNew(scan.Definition), programs}, Commands: []cli.Command{outputs.Command}}
	status = p.Run(context.Background(), args, cli.Streams{In: strings.NewReader(""), Out: &o, Err: &e})
	return status, o.String(), e.String()
}

// ask runs a command, decodes its JSON output and returns its exit status.
func (c *testCluster) ask(answer any, args ...string) (status int) {
	c.t.Helper()
	status, out, _ := c.run(slices.Concat(args, []string{"-o", "json", "--reply-timeout", "20s"})...)
	if out == "" {
		if status == 0 {
			c.t.Fatalf("%v printed nothing", args)
		}
		return status
	}
	if err := json.Unmarshal([]byte(out), answer); err != nil {
		c.t.Fatalf("%v: %v in %s", args, err, out)
	}
	return status
}

// do is like ask for a command that must succeed.
func (c *testCluster) do(answer any, args ...string) {
	c.t.Helper()
	if status := c.ask(answer, args...); status != 0 {
		c.t.Fatalf("%v: status %d", args, status)
	}
}

// The types contain the parts of the JSON output that the tests read.
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
func (c *testCluster) submit(params ...string) string {
	c.t.Helper()
	var answer struct {
		ID string `json:"id"`
	}
	c.do(&answer, c.jobArgs("submit", params)...)
	return answer.ID
}

// submitHeld is like submit for a job that does not end before finish is called. A job of
// submitHeld is therefore still running when the test kills a process, however slow the machine is.
func (c *testCluster) submitHeld(params ...string) string {
	c.t.Helper()
	return c.submit(append(params, "hold="+c.release)...)
}

func (c *testCluster) jobArgs(command string, params []string) []string {
	args := []string{command, "squares"}
	for _, p := range params {
		args = append(args, "-p", p)
	}
	if command == "submit" {
		args = append(args, "-p", "trace="+c.trace, "--queue") // the workers may still be starting
	}
	return args
}

func (c *testCluster) leader() leaderAnswer {
	c.t.Helper()
	var leader leaderAnswer
	c.do(&leader, "leader")
	return leader
}

// process returns the running process with the process ID.
func (c *testCluster) process(pid int) *procs.Process {
	c.t.Helper()
	p := c.Find(pid)
	if p == nil {
		c.t.Fatalf("process %d is not one of the workers", pid)
	}
	return p
}

// kill kills a process (SIGKILL) and waits until it has ended.
func (c *testCluster) kill(p *procs.Process) {
	p.Kill()
	<-p.Done()
}

// others returns the running processes except the given process.
func (c *testCluster) others(pid int) []*procs.Process {
	var list []*procs.Process
	for _, p := range c.Running() {
		if p.PID() != pid {
			list = append(list, p)
		}
	}
	return list
}

// awaitDone waits until n partitions are finished.
func (c *testCluster) awaitDone(id string, n uint64) {
	c.t.Helper()
	c.until(fmt.Sprintf("%d partitions are done", n), func() bool {
		var s statusAnswer
		c.do(&s, "status", id)
		if s.State == "completed" || s.State == "failed" {
			c.t.Fatalf("the job is %s, and the test has not seen %d partitions done", s.State, n)
		}
		return s.Done >= n
	})
}

// finish releases the job, waits until it has ended, and checks that its result equals that of the
// same job in one process.
func (c *testCluster) finish(id string, params ...string) outcomeAnswer {
	c.t.Helper()
	if err := os.WriteFile(c.release, nil, 0o600); err != nil {
		c.t.Fatal(err)
	}
	c.until("the job has ended", func() bool {
		var s statusAnswer
		c.do(&s, "status", id)
		return s.State == "completed" || s.State == "failed" || s.State == "cancelled"
	})
	var got, want outcomeAnswer
	c.do(&got, "result", id)
	c.do(&want, c.jobArgs("run", append(params, "sleep=0s"))...)
	if got.SHA256 == "" || got.SHA256 != want.SHA256 || !bytes.Equal(got.Result, want.Result) {
		c.t.Errorf("result: got %s (%s), run gives %s (%s)", got.Result, got.SHA256, want.Result, want.SHA256)
	}
	if got.Partitions != want.Partitions {
		c.t.Errorf("partitions: got %d, run has %d", got.Partitions, want.Partitions)
	}
	if got.Executed < got.Partitions || got.Repeated != got.Executed-got.Partitions {
		c.t.Errorf("executed %d and repeated %d do not match %d partitions", got.Executed, got.Repeated, got.Partitions)
	}
	return got
}

// execution is one execution of a partition, as recorded in a trace.
type execution struct {
	partition uint64
	at        time.Time // time at which the execution ended
}

// traces returns the executions of each process, in order, by process ID.
func (c *testCluster) traces() map[int][]execution {
	c.t.Helper()
	files, err := filepath.Glob(filepath.Join(c.trace, "*"))
	if err != nil {
		c.t.Fatal(err)
	}
	all := make(map[int][]execution)
	for _, name := range files {
		pid, err := strconv.Atoi(filepath.Base(name))
		if err != nil {
			c.t.Fatal(err)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			c.t.Fatal(err)
		}
		all[pid] = nil
		for line := range strings.Lines(string(data)) {
			var (
				e     execution
				nanos int64
			)
			if _, err := fmt.Sscan(line, &e.partition, &nanos); err != nil {
				c.t.Fatalf("trace of process %d: %v in %q", pid, err, line)
			}
			e.at = time.Unix(0, nanos)
			all[pid] = append(all[pid], e)
		}
	}
	return all
}

// executions counts, by process ID, how often a process executed each partition.
func (c *testCluster) executions() map[int]map[uint64]int {
	c.t.Helper()
	all := make(map[int]map[uint64]int)
	for pid, trace := range c.traces() {
		all[pid] = make(map[uint64]int)
		for _, e := range trace {
			all[pid][e.partition]++
		}
	}
	return all
}

// wantOnce fails the test if more partitions were executed again than the leaders said to be late. On a
// busy machine a partition can take seconds, and then runs on a second worker too.
func (c *testCluster) wantOnce(got outcomeAnswer) {
	c.t.Helper()
	if most := c.mostRepeated(0); got.Repeated > most {
		c.t.Errorf("executed %d of %d partitions, %d of which were late", got.Executed, got.Partitions, most)
	}
}

// mostRepeated returns how many partitions may be executed again if no process dies: most by speculation, those
// that the leaders said to be late, and any number if a leader said that a worker was silent, because the
// machine was so busy that its processes did not run for seconds.
func (c *testCluster) mostRepeated(most uint64) uint64 {
	output := c.output.String()
	if strings.Contains(output, "Worker is silent for") {
		return math.MaxInt
	}
	return most + uint64(strings.Count(output, "runs here too"))
}

// repeatedBy counts the repeated executions of partitions by all processes except the given
// ones.
func (c *testCluster) repeatedBy(but ...int) int {
	once := make(map[uint64]int)
	for pid, executed := range c.executions() {
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
