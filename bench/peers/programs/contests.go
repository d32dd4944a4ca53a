package programs

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bellwether-compute/bellwether/bench/peers/processes"
)

//go:embed source
var source embed.FS

// contest is some work and the commands that do it.
type contest struct {
	title   string
	units   float64 // how much work
	unit    string  // in the plural, and per second in the table
	entries []entry
	target  string // what the first entry should reach
}

type entry struct {
	name    string
	command []string
	differs bool // the command's output does not contain that of the first entry
}

const (
	calls      = 1000
	emptyCalls = 1_000_000
	partitions = 64
)

func contests(ctx context.Context, program, dir string, text int64) ([]contest, error) {
	at := func(name string) string { return filepath.Join(dir, "source", name) }
	if err := build(ctx, dir, at); err != nil {
		return nil, err
	}
	if err := writeText(at("text"), text); err != nil {
		return nil, err
	}
	run := func(job string, args ...string) []string {
		return slices.Concat([]string{program, "run", job, "--save", at("saved")}, args)
	}
	shell := func(format string, args ...any) []string {
		return []string{"bash", "-o", "pipefail", "-c", fmt.Sprintf(format, args...)}
	}
	list := []contest{
		{"a process per call, true", calls, "calls", []entry{
			{"Bellwether", run("exec", fmt.Sprint("-ppartitions=", calls), "--", "true"), false},
			{"GNU parallel -j2", shell("seq %d | parallel -j2 true", calls), true},
			{"xargs -P2", shell("seq %d | xargs -P2 -n1 true", calls), true},
		}, "3 × GNU parallel, 0.8 × xargs"},
		{"empty calls of kept processes in C++", emptyCalls, "calls", []entry{
			{"Bellwether", run("exec", fmt.Sprint("-ppartitions=", emptyCalls), "-pkeep=true", "--", at("empty")), false},
		}, "100,000 calls/s per core"},
		{fmt.Sprintf("words of %d MB of text, in Python", text/1e6), float64(text) / 1e6, "MB", []entry{
			{"Bellwether, kept processes", run("exec", "-pinput="+at("text"), "-pmerge=sum", "-pkeep=true", "--send", at("kept_words.py"), "--send", at("bellwether.py"), "--", "python3", "kept_words.py"), false},
			{"Bellwether, a process per block", run("exec", "-pinput="+at("text"), "-pmerge=sum", "--send", at("words.py"), "--", "python3", "words.py"), false},
			{"one process", shell("python3 %s < %s | LC_ALL=C sort", at("words.py"), at("text")), false},
			{"one process, by blocks", shell("python3 %s < %s | LC_ALL=C sort", at("block_words.py"), at("text")), false},
		}, "1.8 × one process"},
	}
	for _, kernel := range []string{"primes", "montecarlo"} {
		args := []string{fmt.Sprint("-ppartitions=", partitions), "-pmerge=sum"}
		module := func(name string) []string {
			return run("wasm", slices.Concat(args, []string{"--send", at(name), "--", name, kernel})...)
		}
		list = append(list, contest{kernel + ", in modules and in a program", partitions, "partitions", []entry{
			{"program of Go", run("exec", slices.Concat(args, []string{"--", at("native"), kernel})...), false},
			{"module of C", module("c.wasm"), false},
			{"module of Go", module("go.wasm"), false},
		}, "a module takes at most 3 × the program's time"})
	}
	return list, nil
}

// build copies the programs to a folder and compiles them. The function at returns the path of a
// program.
func build(ctx context.Context, dir string, at func(name string) string) error {
	if err := os.CopyFS(dir, source); err != nil {
		return err
	}
	if err := os.WriteFile(at("kernel/go.mod"), []byte("module kernel\n\ngo 1.24\n"), 0o600); err != nil {
		return err
	}
	for _, build := range []struct {
		env  []string
		args []string
	}{
		{args: []string{"g++", "-O2", "-o", at("empty"), at("empty.cpp")}},
		{args: []string{"go", "build", "-o", at("native"), "."}},
		{args: []string{"go", "build", "-o", at("go.wasm"), "."}, env: []string{"GOOS=wasip1", "GOARCH=wasm"}},
		{args: []string{"clang", "--target=wasm32-wasi", "-O2", "-o", at("c.wasm"), at("kernel.c"), "-lm"}},
	} {
		cmd := exec.CommandContext(ctx, build.args[0], build.args[1:]...)
		cmd.Dir, cmd.Env = at("kernel"), append(os.Environ(), build.env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("run %q: %w: %s", build.args, err, out)
		}
	}
	return nil
}

func writeText(path string, size int64) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	random := rand.New(rand.NewPCG(1, 2))
	words := make([]string, 5000)
	for i := range words {
		words[i] = strings.Repeat(string(rune('a'+i%26)), 1+i%5) + fmt.Sprint(i)
	}
	var block bytes.Buffer
	for size > 0 {
		block.Reset()
		for int64(block.Len()) < min(size, 1<<20) {
			for range 10 {
				block.WriteString(words[random.IntN(len(words))])
				block.WriteByte(' ')
			}
			block.WriteByte('\n')
		}
		n, err := f.Write(block.Bytes())
		if err != nil {
			return err
		}
		size -= int64(n)
	}
	return nil
}

func (e entry) run(ctx context.Context, saved string) (seconds float64, output []byte, err error) {
	if err := os.RemoveAll(saved); err != nil {
		return 0, nil, err
	}
	begin := time.Now()
	out, err := processes.Output(ctx, "", e.command[0], e.command[1:]...)
	if err != nil {
		return 0, nil, err
	}
	seconds = time.Since(begin).Seconds()
	output, err = os.ReadFile(saved)
	if errors.Is(err, os.ErrNotExist) { // the command is not Bellwether
		return seconds, out, nil
	}
	return seconds, output, err
}
