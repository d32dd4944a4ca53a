package exec

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
)

// need skips the test if a program is not installed. If the variable CI is set, the test fails
// instead.
func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

// TestExamples counts words with the example program of each language.
func TestExamples(t *testing.T) {
	t.Chdir("examples")
	dir := t.TempDir()
	input := filepath.Join(dir, "input")
	text := strings.Repeat("the cat sat on the mat\n\n", 50) + "the end"
	if err := os.WriteFile(input, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	want := "cat\t50\nend\t1\nmat\t50\non\t50\nsat\t50\nthe\t101\n"
	for _, test := range []struct {
		needs   string
		build   []string
		files   []string
		command []string
	}{
		{"python3", nil, []string{"bellwether.py", "words.py"}, []string{"python3", "words.py"}},
		{"awk", nil, []string{"words.sh"}, []string{"./words.sh"}},
		{"g++", []string{"g++", "-std=c++17", "-o", filepath.Join(dir, "words"), "words.cpp"}, []string{filepath.Join(dir, "words")}, []string{"./words"}},
	} {
		t.Run(test.needs, func(t *testing.T) {
			need(t, test.needs)
			if test.build != nil {
				if out, err := exec.Command(test.build[0], test.build[1:]...).CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
			}
			got := runKept(t, test.files, test.command, "input="+input, "block=100", "merge=sum", "keep=true")
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// runKept runs a job with files in this process.
func runKept(t *testing.T, paths, command []string, pairs ...string) string {
	t.Helper()
	output, err := runKeptOnce(t, paths, command, pairs...)
	if err != nil {
		t.Fatal(err)
	}
	return output
}

func runKeptOnce(t *testing.T, paths, command []string, pairs ...string) (string, error) {
	t.Helper()
	var files jobs.Files
	var infos []FileInfo
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f := jobs.File(data)
		files, infos = append(files, f), append(infos, FileInfo{filepath.Base(path), f.SHA256(), int64(len(f))})
	}
	for name, value := range map[string]any{"command": command, "files": infos} {
		encoded, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		pairs = append(pairs, name+"="+string(encoded))
	}
	job := jobs.MustNew(Define(nil))
	params, err := job.Params(nil, pairs...)
	if err != nil {
		t.Fatal(err)
	}
	result, err := jobs.Local{Grant: granted, Slots: 2, Attempts: 1}.Run(jobs.WithFiles(t.Context(), files), job, params)
	return string(result.Attachment.Data()), err
}

// TestKeptMerge runs the phases merge and finish in kept processes.
func TestKeptMerge(t *testing.T) {
	need(t, "python3")
	program := filepath.Join(t.TempDir(), "join.py")
	text := `import bellwether
bellwether.serve(lambda data, partition, partitions: b"%d/%d" % (partition, partitions),
                 lambda left, right: b"(%s %s)" % (left, right), lambda data: b"result " + data)
`
	if err := os.WriteFile(program, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	got := runKept(t, []string{"examples/bellwether.py", program}, []string{"python3", "join.py"}, "partitions=3", "merge=program", "finish=true", "keep=true")
	if want := "result ((0/3 1/3) 2/3)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestKeptProcess checks that calls share a process, and checks the errors of processes that
// violate the protocol.
func TestKeptProcess(t *testing.T) {
	answer := func(line string) string { return "while read -r number phase p n length; do " + line + "; done" }
	for _, test := range []struct {
		script string
		pairs  []string
		want   string
		error  string
	}{
		{script: answer(`i=$((i+1)); printf '%s ok 4\n%s/%s\n' $number $i $n`), want: "1/3\n2/3\n3/3\n"},
		{script: answer(`[ $((i+=1)) = 2 ] && { echo "$number again 0"; continue; }; printf '%s ok 1\n%s' $number $i`), want: "134"},
		{script: answer(`printf '%s fail 4\nlost' $number`), error: "sh: lost"},
		{script: answer(`printf '%s permanent 4\nlost' $number`), error: "sh: lost"},
		{script: answer(`echo bye >&2; exit 7`), error: "sh: it ended during a call: exit status 7: bye"},
		{script: answer(`printf '1 ok 9\nlast call'; exit`), pairs: []string{"partitions=1"}, want: "last call"},
		{script: answer(`exit`), error: "sh: it ended during a call, with status 0"},
		{script: answer(`printf '1 ok 9\nshort'; exit`), error: "it ended during a call"},
		{script: answer(`echo "1 ok 0
1 ok 0"`), error: `it wrote "1 ok 0\n" after the answer: want one answer for each call`},
		{script: answer(`echo "1 ok 0"`), error: "it answered the call 1: want an answer to the call 2, which is the next one"},
		{script: answer(`echo hello`), error: `it answered "hello\n": want a line of the number of the call, one of ok, fail, permanent and again, and`},
		{script: answer(`echo 1 ok -1`), error: `it answered "1 ok -1\n"`},
		{script: answer(`echo ok 0`), error: `it answered "ok 0\n"`},
		{script: answer(`echo 1 ok 1000000000000; exit`), pairs: []string{"max-output=1TB"}, error: "it ended during a call"},
		{script: answer(`head -c 100000 /dev/zero`), error: "it answered"},
		{script: answer(`echo 1 ok 2000`), pairs: []string{"max-output=1KB"}, error: "it announced an answer of 2.0 KiB: raise max-output from 1000 B"},
		{script: answer(`sleep 100`), pairs: []string{"timeout=50ms"}, error: "it took longer than 50ms"},
		{script: answer(`x=$(yes | head -c 200000000); sleep 60`), pairs: []string{"memory=50MB"}, error: "of memory, and may use 48 MiB"},
		{script: `sleep 100`, pairs: []string{"timeout=50ms"}, error: "it took longer than 50ms"},
	} {
		encoded, err := json.Marshal([]string{"sh", "-c", test.script})
		if err != nil {
			t.Fatal(err)
		}
		job := jobs.MustNew(Define(nil))
		params, err := job.Params(nil, slices.Concat([]string{"command=" + string(encoded), "partitions=3", "keep=true"}, test.pairs)...)
		if err != nil {
			t.Fatal(err)
		}
		result, err := jobs.Local{Grant: granted, Slots: 1, Attempts: 1}.Run(t.Context(), job, params)
		if got := string(result.Attachment.Data()); err == nil && (test.error != "" || got != test.want) {
			t.Errorf("%s: got %q, want %q %s", test.script, got, test.want, test.error)
		}
		if err != nil && (test.error == "" || !strings.Contains(err.Error(), test.error)) {
			t.Errorf("%s: %v, want %q", test.script, err, test.error)
		}
	}
}

// TestAhead checks that an error of a call names its partition, although later calls were sent
// before the answer arrived. It also checks that each answer belongs to its call.
func TestAhead(t *testing.T) {
	const partitions = 1000
	var all strings.Builder
	for i := range partitions {
		fmt.Fprintf(&all, "%03d\n", i)
	}
	// The program in Python writes answers only after it has read all available calls.
	const python = `import bellwether, os, sys
def call(data, partition, partitions):
    if partition == 777: %s
    return b"%%03d\n" %% partition
bellwether.serve(call)
`
	const shell = `while read -r number phase p n length; do if [ $p = 777 ]; then %s; fi; printf '%%s ok 4\n%%03d\n' $number $p; done`
	for _, test := range []struct {
		name  string // name of the program
		at    string
		pairs []string
		error string // text that the error must contain; empty if the job succeeds
	}{
		{name: "python3", at: `pass`},
		{name: "python3", at: `os._exit(7)`, error: "partition 777: map: python3: it ended during a call: exit status 7"},
		{name: "python3", at: `raise ValueError("lost")`, error: "partition 777: map: python3: ValueError('lost')"},
		{name: "sh", at: `exit 7`, error: "partition 777: map: sh: it ended during a call: exit status 7"},
		{name: "sh", at: `kill -9 $$`, error: "partition 777: map: sh: it ended during a call: signal: killed"},
		{name: "sh", at: `sleep 60`, pairs: []string{"timeout=2s"}, error: "partition 777: map: sh: it took longer than 2s"},
		{name: "sh", at: `if ! [ -e mark ]; then touch mark; echo "$number again 0"; continue; fi`},
		{name: "sh", at: `if ! [ -e "$0" ]; then touch "$0"; exit 7; fi`}, // only the first process ends
	} {
		t.Run(test.name+" "+test.at, func(t *testing.T) {
			need(t, test.name)
			t.Parallel()
			dir := t.TempDir()
			command, paths := []string{"sh", "-c", fmt.Sprintf(shell, test.at), filepath.Join(dir, "mark")}, []string(nil)
			if test.name == "python3" {
				program := filepath.Join(dir, "call.py")
				if err := os.WriteFile(program, fmt.Appendf(nil, python, test.at), 0o644); err != nil {
					t.Fatal(err)
				}
				command, paths = []string{"python3", "call.py"}, []string{"examples/bellwether.py", program}
			}
			got, err := runKeptOnce(t, paths, command, append(test.pairs, fmt.Sprint("partitions=", partitions), "keep=true")...)
			switch {
			case test.error == "" && (err != nil || got != all.String()):
				t.Errorf("got %d bytes, %v; want %d bytes", len(got), err, all.Len())
			case test.error != "" && (err == nil || !strings.Contains(err.Error(), test.error)):
				t.Errorf("%v, want %q", err, test.error)
			}
		})
	}
}

// TestStopsAhead stops a stream while the process has unanswered calls.
func TestStopsAhead(t *testing.T) {
	k := &keeper{program: program{args: []string{"sh", "-c", "while read -r number phase p rest; do [ $p -lt 8 ] || sleep 60; echo $number ok 0; done"}, output: 1}}
	defer k.close()
	frame := func(_ context.Context, batch []byte, number, p uint64) ([]byte, error) {
		return appendHeader(batch, number, "map", [2]uint64{p}, 0), nil
	}
	one, err := k.take()
	if err != nil {
		t.Fatal(err)
	}
	one.ahead = 16
	k.put(one)
	s := stream{ctx: t.Context(), keeper: k, frame: frame, hi: 100}
	for range 4 {
		if _, err := s.next(); err != nil {
			t.Fatal(err)
		}
	}
	s.close()
	if len(k.idle) > 0 {
		t.Error("a process that has not answered is idle")
	}
	s = stream{ctx: t.Context(), keeper: k, frame: frame, lo: 1, sent: 1, hi: 3}
	if _, err := s.next(); err != nil {
		t.Fatal(err)
	}
	s.close()
	if len(k.idle) != 1 {
		t.Errorf("%d processes are idle, want the one that has answered", len(k.idle))
	}
}

// BenchmarkKeptCalls measures empty calls of a kept process that does no work.
func BenchmarkKeptCalls(b *testing.B) {
	k := &keeper{program: program{args: []string{"sh", "-c", "while read -r number call; do echo $number ok 0; done"}, output: 1}}
	defer k.close()
	frame := func(_ context.Context, batch []byte, number, p uint64) ([]byte, error) {
		return appendHeader(batch, number, "map", [2]uint64{p}, 0), nil
	}
	s := stream{ctx: b.Context(), keeper: k, frame: frame, hi: math.MaxUint64}
	defer s.close()
	for i := 0; b.Loop(); i++ {
		if _, err := s.next(); err != nil {
			b.Fatal(fmt.Errorf("call %d: %w", i, err))
		}
	}
}

// TestUnreadCall runs a kept program that answers without reading its call.
func TestUnreadCall(t *testing.T) {
	input := filepath.Join(t.TempDir(), "input")
	if err := os.WriteFile(input, bytes.Repeat([]byte("0123456789abcde\n"), 64<<10), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := runKeptOnce(t, nil, []string{"sh", "-c", `echo "1 ok 0"; sleep 60`}, "input="+input, "block=1048576", "keep=true", "timeout=200ms")
	if err == nil || !strings.Contains(err.Error(), "it took longer than 200ms") {
		t.Errorf("got error %v, want one because of the parameter timeout", err)
	}
}

// TestTooManyAnswers runs a kept program that answers each line of its call, so that it stops reading when
// its standard output is full.
func TestTooManyAnswers(t *testing.T) {
	input := filepath.Join(t.TempDir(), "input")
	if err := os.WriteFile(input, bytes.Repeat([]byte("0123456789abcde\n"), 1<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := runKeptOnce(t, nil, []string{"sed", "-u", "s/ .*//; s/$/ ok 0/"}, "input="+input, "keep=true")
	if err == nil || !strings.Contains(err.Error(), `after the answer: want one answer for each call`) {
		t.Errorf("got %v, want an error because of the second answer", err)
	}
}

// TestProgramInWorkingFolder checks the hints for a program that was not sent, or is named without its folder.
func TestProgramInWorkingFolder(t *testing.T) {
	for command, want := range map[string]string{
		"./nosuch": "only files that were sent with the job, with --send",
		"words.sh": "the file was sent with the job, so name it ./words.sh",
	} {
		_, err := runKeptOnce(t, []string{"examples/words.sh"}, []string{command})
		if !jobs.IsPermanent(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", command, err, want)
		}
	}
}
