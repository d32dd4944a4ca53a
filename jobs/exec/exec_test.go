package exec

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/jobs"
)

// roleVariable is the environment variable that makes the test program run as a
// process that makes calls until it is killed.
const roleVariable = "EXEC_TEST_ROLE"

func TestMain(m *testing.M) {
	switch {
	case slices.Equal(os.Args[1:], guardArguments):
		GuardMain(os.Stdin)
	case os.Getenv(roleVariable) == "caller":
		callUntilKilled()
	default:
		goleak.VerifyTestMain(m)
	}
}

// guardArguments make the test program run as a guard, which gets no environment.
var guardArguments = []string{"guard"}

func newTestGuard() *Guard { return NewGuard(append([]string{os.Args[0]}, guardArguments...)...) }

// granted allows all files and programs.
var granted = jobs.Grant{Files: []string{"/"}, Programs: []string{jobs.AnyProgram}}

// shell returns the parameters of a job that runs a shell script.
func shell(script string, pairs ...string) []string {
	command, err := json.Marshal([]string{"sh", "-c", script})
	if err != nil {
		panic(err)
	}
	return append([]string{"command=" + string(command)}, pairs...)
}

func run(t *testing.T, pairs []string) (Result, error) {
	t.Helper()
	return runWith(t, granted, pairs)
}

func runWith(t *testing.T, granted jobs.Grant, pairs []string) (Result, error) {
	t.Helper()
	job := jobs.MustNew(Define(nil))
	params, err := job.Params(nil, pairs...)
	if err != nil {
		return Result{}, err
	}
	local, err := jobs.Local{Grant: granted, Slots: 2, Attempts: 1}.Run(t.Context(), job, params)
	if err != nil {
		return Result{}, err
	}
	var r Result
	if err := json.Unmarshal(local.Result, &r); err != nil {
		t.Fatal(err)
	}
	return r, nil
}

func TestMerges(t *testing.T) {
	for _, test := range []struct{ merge, script, want string }{
		{"concat", `echo "part $BELLWETHER_PARTITION of $BELLWETHER_PARTITIONS"`, "part 0 of 3\npart 1 of 3\npart 2 of 3\n"},
		{"concat", `printf $BELLWETHER_PARTITION`, "012"},
		{"sum", `echo "b\t0.1"; echo "a\t$BELLWETHER_PARTITION"; echo "b\t1e20"`, "a\t3\nb\t300000000000000000000.3\n"},
		{"sum", `echo 7`, "21\n"},
		{"sum", `echo 9e399`, "27" + strings.Repeat("0", 399) + "\n"},
		{"min", `echo "a\t-$BELLWETHER_PARTITION.50"; echo "k$BELLWETHER_PARTITION\t1"`, "a\t-2.50\nk0\t1\nk1\t1\nk2\t1\n"},
		{"max", `echo "a\t-$BELLWETHER_PARTITION.5"`, "a\t-0.5\n"},
		{"sorted", `echo "z $BELLWETHER_PARTITION"; echo "a $BELLWETHER_PARTITION"`, "a 0\na 1\na 2\nz 0\nz 1\nz 2\n"},
		{"top:2", `echo "p$BELLWETHER_PARTITION\t$BELLWETHER_PARTITION"; echo "x\t1"`, "p2\t2\nx\t1\n"},
		{
			"json", `echo "{\"n\": 0.1, \"list\": [$BELLWETHER_PARTITION], \"deep\": {\"k$BELLWETHER_PARTITION\": true, \"s\": \"<same>\"}}"`,
			`{"deep":{"k0":true,"k1":true,"k2":true,"s":"<same>"},"list":[0,1,2],"n":0.3}`,
		},
		{"json", `:`, `{}`},
		{"json", `printf '{"\\ud83d\\ude00": [[], {}, "\\\\ud800"]}'`, `{"😀":[[],{},"\\ud800",[],{},"\\ud800",[],{},"\\ud800"]}`},
		{"json", `echo '{"n": 9e399}'`, `{"n":27` + strings.Repeat("0", 399) + `}`},
		{"hll", `echo "b\t$BELLWETHER_PARTITION"; echo "b\tsame"; echo x`, "1\nb\t4\n"},
		{"ddsketch", `echo "b\t0"; echo "b\t-0"; echo 0`, "3\t0\t0\t0\t0\nb\t6\t0\t0\t0\t0\n"},
		{"ddsketch", `:`, ""},
	} {
		r, err := run(t, shell(test.script, "partitions=3", "merge="+test.merge))
		if err != nil || r.Text != test.want || r.Output.Size() != int64(len(test.want)) {
			t.Errorf("%s of %s: %q, %v; want %q", test.merge, test.script, r.Text, err, test.want)
		}
	}
}

// byShell is a program that joins outputs with brackets, so that the output shows all merges.
const byShell = `case $BELLWETHER_PHASE in
map) printf $BELLWETHER_PARTITION;;
merge) printf '(%s %s)' "$(cat $1)" "$(cat $2)";;
finish) echo "result $(cat $1)";;
esac`

func TestProgramMerges(t *testing.T) {
	for _, test := range []struct {
		pairs []string
		want  string
	}{
		{[]string{"partitions=1", "merge=program"}, "0"},
		{[]string{"partitions=5", "merge=program"}, "(((0 1) (2 3)) 4)"},
		{[]string{"partitions=5", "merge=program", "finish=true"}, "result (((0 1) (2 3)) 4)\n"},
		{[]string{"partitions=3", "finish=true"}, "result 012\n"},
	} {
		command, _ := json.Marshal([]string{"sh", "-c", byShell, "sh"})
		r, err := run(t, append([]string{"command=" + string(command)}, test.pairs...))
		if err != nil || r.Text != test.want {
			t.Errorf("%q: got %q, %v; want %q", test.pairs, r.Text, err, test.want)
		}
	}
}

// TestProgramMergesAndFails checks the errors of the phases merge and finish. A failed merge is
// retried like a failed partition.
func TestProgramMergesAndFails(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	in := func(phase, script string) []string {
		return shell("[ $BELLWETHER_PHASE = "+phase+" ] || exit 0; "+script, "partitions=2", "merge=program", "finish=true")
	}
	for _, test := range []struct {
		pairs []string
		want  string
	}{
		{in("merge", "echo broken >&2; exit 3"), "node 1/0: merge: sh: exit status 3: broken"},
		{in("merge", "exit 65"), "merge: sh: exit status 65"},
		{in("merge", "kill -9 $$"), "merge: sh: signal: killed"},
		{append(in("merge", "sleep 60"), "timeout=200ms"), "merge: sh: it took longer than 200ms"},
		{append(in("merge", "yes"), "max-output=1KB"), "merge: sh: it wrote more than 1000 B"},
		{append(in("merge", "x=$(yes | head -c 200000000); sleep 60"), "memory=50MB"), "of memory, and may use 48 MiB"},
		{in("finish", "echo broken >&2; exit 3"), "finish: sh: exit status 3: broken"},
		{append(in("finish", "sleep 60"), "timeout=200ms"), "finish: sh: it took longer than 200ms"},
	} {
		if _, err := run(t, test.pairs); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want %q", test.pairs, err, test.want)
		}
	}
	job := jobs.MustNew(Define(nil))
	params, err := job.Params(nil, in("merge", "[ -e "+mark+" ] || { touch "+mark+"; exit 3; }; echo merged")...)
	if err != nil {
		t.Fatal(err)
	}
	if !job.Engine().HasMerger(params) {
		t.Error("the leader may merge the job's partials")
	}
	if _, err := (jobs.Local{Grant: granted, Slots: 1, Attempts: 2}).Run(t.Context(), job, params); err != nil {
		t.Error(err)
	}
}

func TestFailures(t *testing.T) {
	for _, test := range []struct {
		pairs     []string
		want      string
		permanent bool
	}{
		{shell("echo broken >&2; exit 3"), "sh: exit status 3: broken", false},
		{shell("echo line >&2; echo broken >&2; exit 3"), "sh: exit status 3: broken\nstandard error:\nline\nbroken", false},
		{shell("exit 65"), "exit status 65", true},
		{shell("kill -9 $$"), "signal: killed", false},
		{shell("sleep 60", "timeout=50ms"), "it took longer than 50ms", false},
		{shell("trap '' TERM; echo $$; yes", "max-output=1KB"), "it wrote more than 1000 B to standard output", true},
		{shell("x=$(yes | head -c 200000000); sleep 60", "memory=50MB"), "of memory, and may use 48 MiB", false},
		{shell(`printf 'panic: broken\n\ngoroutine 1\n' >&2; exit 2`), "sh: exit status 2: panic: broken\nstandard error:\npanic: broken\n\ngoroutine 1", false},
		{[]string{`command=["no-such-program"]`}, `map: start program: exec: "no-such-program": executable file not found`, true},
		{[]string{`command=["wc -l"]`}, `"wc -l": executable file not found in $PATH: give the program and each of its arguments as a separate word`, true},
		{[]string{`command=["no-such-program"]`, "keep=true"}, `map: start program: exec: "no-such-program": executable file not found`, true},
		{[]string{`command=["./missing"]`}, "no such file or directory", true},
		{shell(`echo "a b"`, "merge=sum"), `line 1, "a b": want a key, a tab and a decimal number`, true},
		{shell(`echo "a\tNaN"`, "merge=max"), `want a key, a tab and a decimal number`, true},
		{shell(`echo "1e500"`, "merge=max"), `want a key, a tab and a decimal number`, true},
		{shell(`echo "a\tInf"`, "merge=ddsketch"), `line 1: "Inf": want a key, a tab and a number`, true},
		{shell(`echo '{"a":1e500,"b":1e500,"c":1e500,"d":1e500,"e":1e500}'`, "merge=json"), `.a: got the number 1e500`, true},
		{shell(`echo "[1]"`, "merge=json"), `want one JSON object`, true},
		{shell(`printf '{"\\ud800": 1, "\\udfff": 2}'`, "merge=json"), `got "\\ud800`, true},
		{shell(`printf '{"a": ["\\\\ \\uD83D\\u0041"]}'`, "merge=json"), `got "\\uD83D`, true},
		{shell(`printf '{"a": "\\ud83d'`, "merge=json"), `half of a surrogate pair`, true},
		{shell(`echo '{"b": {"a": 1, "a": 2}}'`, "merge=json"), `.b.a: two members have this name`, true},
		{shell(`echo "null"`, "merge=json"), `want one JSON object, got "null\n": it is another value`, true},
		{shell(`echo "{} {}"`, "merge=json"), `want one JSON object, got more after`, true},
		{shell(`echo "{\"a\": $BELLWETHER_PARTITION, \"b\": \"p$BELLWETHER_PARTITION\"}"`, "merge=json", "partitions=2"), `merge json: .b: cannot merge "p0" with "p1"`, true},
		{shell("true", "merge=average"), "takes concat, sum, min, max, sorted, top:N, json, hll, ddsketch or program", false},
		{shell("true", "merge=top:0"), "takes top:N with N from 1 to 1000000", false},
		{shell("true", "memory=much"), "parameter memory", false},
		{[]string{"command=wc -l"}, `such as ["wc","-l"]`, false},
		{nil, "parameter command", false},
	} {
		_, err := run(t, test.pairs)
		if err == nil || !strings.Contains(err.Error(), test.want) || jobs.IsPermanent(err) != test.permanent {
			t.Errorf("%q: %v (permanent: %v), want %q (permanent: %v)", test.pairs, err, jobs.IsPermanent(err), test.want, test.permanent)
		}
	}
}

func TestInput(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.txt": "one\ntwo\nthree\n", "b.txt": "four", "empty.txt": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	input := "input=" + dir + "/*.txt"
	for _, test := range []struct {
		command string
		pairs   []string
		want    string
	}{
		{`["cat"]`, []string{"block=1"}, "one\ntwo\nthree\nfour"},
		{`["cat"]`, []string{"block=5"}, "one\ntwo\nthree\nfour"},
		{`["wc","-l"]`, []string{"block=3", "merge=sum"}, "3\n"},
		{`["head","-n","1"]`, nil, "one\n"},
		{`["awk","{ for (i = 1; i <= NF; i++) n[$i]++ } END { for (w in n) print w \"\\t\" n[w] }"]`, []string{"block=4", "merge=sum"}, "four\t1\none\t1\nthree\t1\ntwo\t1\n"},
		{
			`["sh","-c","cat; echo $BELLWETHER_OFFSET+$BELLWETHER_LENGTH ${BELLWETHER_INPUT##*/}"]`,
			[]string{"block=7"},
			"one\ntwo\n0+7 a.txt\nthree\n7+7 a.txt\nfour0+4 empty.txt\n",
		},
	} {
		r, err := run(t, append([]string{"command=" + test.command, input}, test.pairs...))
		if err != nil || r.Text != test.want {
			t.Errorf("%s %q: %q, %v; want %q", test.command, test.pairs, r.Text, err, test.want)
		}
	}
	for pair, want := range map[string]string{
		"input=" + dir + "/nothing*":         "no object matches",
		"input=https://h/c/o.txt?sig=secret": "parameter input",
		"partitions=3":                       "parameters input and partitions: want one of them",
	} {
		if _, err := run(t, []string{`command=["cat"]`, input, pair}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", pair, err, want)
		}
	}
}

// TestInputIsLost checks that a program is stopped if its input cannot be read completely.
func TestInputIsLost(t *testing.T) {
	p := program{args: []string{"sh", "-c", "cat >&2; echo done"}, output: 100}
	gone := errors.New("the object is gone")
	output, err := p.once(t.Context(), nil, call{each: func(_ context.Context, do func([]byte) error) error {
		return cmp.Or(do([]byte("half")), gone)
	}})
	if !errors.Is(err, gone) {
		t.Errorf("got %q, %v; want %v", output, err, gone)
	}
	ctx, cancel := context.WithCancel(t.Context())
	output, err = p.once(ctx, nil, call{each: func(ctx context.Context, do func([]byte) error) error {
		cancel()
		return ctx.Err()
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %q, %v; want %v", output, err, context.Canceled)
	}
}

// TestLeftReader checks that a call ends although a process that the program has left keeps standard
// input open and does not read it.
func TestLeftReader(t *testing.T) {
	p := program{args: []string{"setsid", "--wait", "sh", "-c", "exec 3<&0; sleep 1000 <&3 3<&- >&- 2>&- &"}, output: 100}
	_, err := p.once(t.Context(), nil, call{each: func(ctx context.Context, do func([]byte) error) error {
		return do(make([]byte, 1<<20)) // more than a pipe takes
	}})
	if err != nil {
		t.Fatal(err)
	}
}

// TestStartAgain checks which errors of a start are repeated.
func TestStartAgain(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "busy")
	busy, err := os.OpenFile(script, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	if _, err := busy.WriteString("#!/bin/sh\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := startProgram(exec.Command(script)); !errors.Is(err, errTemporary) || jobs.IsPermanent(err) {
		t.Errorf("a file that is being written: %v", err)
	}
	if _, err := startProgram(exec.Command("true", strings.Repeat("x", 1<<18))); !jobs.IsPermanent(err) || !strings.Contains(err.Error(), "--send") {
		t.Errorf("long arguments: %v", err)
	}
	for _, name := range []string{"nosuch", filepath.Join(dir, "nosuch"), dir} {
		if _, err := startProgram(exec.Command(name)); !jobs.IsPermanent(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFiles(t *testing.T) {
	script, data := jobs.File("#!/bin/sh\ncat data; stat -L -c %a data"), jobs.File("the data ")
	infos, err := json.Marshal([]FileInfo{{"run.sh", script.SHA256(), int64(len(script))}, {"data", data.SHA256(), int64(len(data))}})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	ctx := jobs.WithFiles(t.Context(), jobs.Files{script, data})
	job := jobs.MustNew(Define(nil))
	local := func(pairs ...string) (string, error) {
		params, err := job.Params(nil, append(pairs, "partitions=3")...)
		if err != nil {
			return "", err
		}
		result, err := jobs.Local{Grant: granted, Slots: 2, Attempts: 1}.Run(ctx, job, params)
		return string(result.Attachment.Data()), err
	}
	got, err := local(`command=["./run.sh"]`, "files="+string(infos))
	if want := strings.Repeat("the data 555\n", 3); err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
	for files, want := range map[string]string{
		`x`: "takes a JSON array",
		`[{"name":"../x","sha256":"` + data.SHA256() + `","size":1}]`:                                                     "want a name of 1 to 100",
		`[{"name":"x","sha256":"12","size":1}]`:                                                                           "got SHA-256",
		`[{"name":"x","sha256":"` + data.SHA256() + `","size":1},{"name":"x","sha256":"` + data.SHA256() + `","size":1}]`: "two files have this name",
		`[{"name":"x","sha256":"` + strings.Repeat("0", 64) + `","size":1}]`:                                              "fetch file x: the file was not submitted",
	} {
		if _, err := local(`command=["./x"]`, "files="+files); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", files, err, want)
		}
	}
}

// TestTemporaryFailureIsNoAttempt checks that a program that exits with status 75 at first is
// called again without counting an attempt.
func TestTemporaryFailureIsNoAttempt(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	r, err := run(t, shell("[ -e "+mark+" ] && echo done && exit; touch "+mark+"; exit 75"))
	if err != nil || r.Text != "done\n" {
		t.Errorf("got %q, %v", r.Text, err)
	}
}

// TestEnvironment checks the environment of a program, and checks that a call leaves no files or
// processes.
func TestEnvironment(t *testing.T) {
	t.Setenv("SECRET", "1")
	left := filepath.Join(t.TempDir(), "left")
	r, err := run(t, shell("env | cut -d= -f1 | grep -v -e PWD -e SHLVL -e '^_$' -e OLDPWD | sort; pwd; ls -A; sleep 1000 & echo $! > "+left+"; touch file; "+
		"for how in 'setsid env -i' 'setsid env --chdir=/' 'setsid setsid'; do $how sh -c 'sleep 1000 & echo $! $$ >> "+left+"; sleep 1000' & done; "+
		"until [ $(wc -l < "+left+") = 4 ]; do sleep 0.01; done", "memory=1GB"))
	if err != nil {
		t.Fatal(err)
	}
	seen := strings.Fields(r.Text)
	var allowed []string
	for _, name := range []string{"BELLWETHER_JOB", "BELLWETHER_MEMORY", "BELLWETHER_PARTITION", "BELLWETHER_PARTITIONS", "BELLWETHER_PHASE", "HOME", "LANG", "PATH", "TMPDIR"} {
		if _, found := os.LookupEnv(name); found || strings.HasPrefix(name, "BELL") || name == "TMPDIR" {
			allowed = append(allowed, name)
		}
	}
	dir := seen[len(seen)-1] // the last word is the working folder, because the folder contains no files
	if got := seen[:len(seen)-1]; strings.Join(got, " ") != strings.Join(allowed, " ") {
		t.Errorf("the program sees %q, want %q", got, allowed)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the working folder %s is left: %v", dir, err)
	}
	data, err := os.ReadFile(left)
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range strings.Fields(string(data)) {
		awaitDeath(t, pid)
	}
}

// awaitDeath waits until a process has ended.
func awaitDeath(t *testing.T, pid string) {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d still runs: %s", n, stat)
		}
	}
}

// TestGuard kills a process that makes calls, and checks that the guard kills all processes that
// the programs have started.
func TestGuard(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], dir)
	temporary := t.TempDir()
	cmd.Env = append(os.Environ(), roleVariable+"=caller", "TMPDIR="+temporary)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var marks []string
	for deadline := time.Now().Add(time.Minute); len(marks) < 3*callers; time.Sleep(time.Millisecond) {
		marks, _ = filepath.Glob(filepath.Join(dir, "[0-9]*"))
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d processes have started", len(marks), 3*callers)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for _, mark := range marks {
		awaitDeath(t, filepath.Base(mark))
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		left, err := os.ReadDir(temporary)
		if err == nil && len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("left are %v, %v", left, err)
		}
	}
}

const callers = 100

// callUntilKilled makes calls until this process is killed. Each call has three processes, and one of
// them leaves the group of the call. Each process makes a file whose name is the number of the process.
func callUntilKilled() {
	guard := newTestGuard()
	script := fmt.Sprintf("cd %s; sh -c 'touch $$; sleep 1000' & setsid sh -c 'touch $$; sleep 1000' & touch $$; wait", os.Args[1])
	p := program{args: []string{"sh", "-c", script}, output: 1}
	for range callers {
		go func() { _, _ = p.once(context.Background(), guard, call{}) }()
	}
	select {}
}
