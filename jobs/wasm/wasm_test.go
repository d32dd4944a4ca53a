package wasm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/exec"
	"github.com/bellwether-compute/bellwether/jobs/fuzztest"
)

// TestMain lets the test binary run as a host process and as a guard process.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == "host":
		if err := HostMain(os.Args[2:], os.Getenv, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case len(os.Args) > 1 && os.Args[1] == "guard":
		exec.GuardMain(os.Stdin)
	default:
		goleak.VerifyTestMain(m)
	}
}

// run runs a module in this process, with additional arguments for the host.
func run(t *testing.T, guard *exec.Guard, host []string, module []byte, args []string, pairs ...string) (string, error) {
	t.Helper()
	result, err := runLocal(t, jobs.Local{}, guard, host, module, args, pairs...)
	return string(result.Attachment.Data()), err
}

// estimates runs a module for four partitions, and returns the estimates from the first of them.
func estimates(t *testing.T, guard *exec.Guard, module []byte, args []string) (list string, err error) {
	t.Helper()
	local := jobs.Local{Estimated: func(e jobs.Estimated) { list += string(e.Value) + " " }}
	_, err = runLocal(t, local, guard, nil, module, args, "partitions=4", "estimate=true")
	return list, err
}

func runLocal(t *testing.T, local jobs.Local, guard *exec.Guard, host []string, module []byte, args []string, pairs ...string) (result jobs.LocalResult, err error) {
	t.Helper()
	file := jobs.File(module)
	for name, value := range map[string]any{
		"command": append([]string{"module.wasm"}, args...),
		"files":   []exec.FileInfo{{Name: "module.wasm", SHA256: file.SHA256(), Size: int64(len(file))}},
	} {
		encoded, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		pairs = append(pairs, name+"="+string(encoded))
	}
	job := jobs.MustNew(Define(guard, append([]string{os.Args[0], "host"}, host...)...))
	params, err := job.Params(nil, pairs...)
	if err != nil {
		return result, err
	}
	local.Grant, local.Slots, local.Attempts = jobs.Grant{Files: []string{"/"}}, 2, 1
	if len(host) > 0 {
		local.Slots = 1 // each process that interprets a module reads all of its code, which takes seconds
	}
	return local.Run(jobs.WithFiles(t.Context(), jobs.Files{file}), job, params)
}

// build compiles a Go program to a module.
func build(t *testing.T, dir string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "module.wasm")
	cmd := osexec.Command("go", "build", "-o", path, ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=-mod=mod", "GOEXPERIMENT=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return read(t, path)
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// writeInput writes a file of lines, and returns parameters that divide the file into several
// partitions.
func writeInput(t *testing.T) []string {
	path := filepath.Join(t.TempDir(), "input")
	if err := os.WriteFile(path, []byte(strings.Repeat("the cat sat on the mat\n\n", 50)+"the end"), 0o644); err != nil {
		t.Fatal(err)
	}
	return []string{"input=" + path, "block=200"}
}

// TestGo runs a command module.
func TestGo(t *testing.T) {
	guard := exec.NewGuard(os.Args[0], "guard")
	t.Cleanup(func() { _ = guard.Close() })
	module := build(t, "examples/words")
	got, err := run(t, guard, nil, module, nil, append(writeInput(t), "merge=sum")...)
	if want := "cat\t50\nend\t1\nmat\t50\non\t50\nsat\t50\nthe\t101\n"; err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

// TestC runs the reactor module in the repository. If a C compiler is installed, TestC also builds
// the module from its source and runs it. The module counts newlines, and the last line has none.
func TestC(t *testing.T) {
	modules := [][]byte{read(t, "examples/lines/lines.wasm")}
	if _, err := osexec.LookPath("wasm-ld"); err == nil {
		path := filepath.Join(t.TempDir(), "lines.wasm")
		out, err := osexec.Command("clang", "--target=wasm32", "-O2", "-nostdlib", "-Wl,--no-entry,--strip-all", "-o", path, "examples/lines/lines.c").CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		modules = append(modules, read(t, path))
	}
	for _, module := range modules {
		for _, host := range [][]string{nil, {InterpreterFlag}} {
			got, err := run(t, nil, host, module, nil, append(writeInput(t), "merge=program", "finish=true")...)
			if want := "100"; err != nil || got != want {
				t.Errorf("host %q: got %q, %v; want %q", host, got, err, want)
			}
		}
	}
}

// probe is a command module whose first argument selects its behaviour.
const probe = `package main

import (
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

func main() {
	switch os.Args[1] {
	case "see":
		random := make([]byte, 8)
		rand.Read(random)
		_, missing := os.ReadFile("/etc/passwd")
		began := time.Now()
		time.Sleep(time.Hour)
		fmt.Printf("%x %v %v %v\n", random, began.UnixNano(), missing != nil, os.WriteFile("/file", nil, 0o644) != nil)
		for _, v := range os.Environ() {
			if !strings.HasPrefix(v, "BELLWETHER_") {
				fmt.Println("environment", v)
			}
		}
	case "merge":
		if os.Getenv("BELLWETHER_PHASE") == "map" {
			fmt.Print(os.Getenv("BELLWETHER_PARTITION"))
			return
		}
		var parts []string
		for _, name := range os.Args[2:] {
			data, err := os.ReadFile(name)
			if err != nil {
				panic(err)
			}
			parts = append(parts, string(data))
		}
		fmt.Printf("(%s)", strings.Join(parts, " "))
	case "estimate":
		if os.Getenv("BELLWETHER_PHASE") == "map" {
			fmt.Print(os.Getenv("BELLWETHER_PARTITION"))
			return
		}
		data, err := os.ReadFile(os.Args[2])
		if err != nil {
			panic(err)
		}
		fmt.Printf("[%s, %q]", os.Getenv("BELLWETHER_PREFIX"), data)
	case "input":
		name := os.Getenv("BELLWETHER_INPUT")
		fmt.Println(name[strings.LastIndexByte(name, '/')+1:], os.Getenv("BELLWETHER_OFFSET"), os.Getenv("BELLWETHER_LENGTH"))
	case "exit":
		fmt.Fprintln(os.Stderr, "the disk is gone")
		os.Exit(3)
	case "data":
		os.Exit(65)
	case "endless":
		for {
		}
	case "memory":
		var all [][]byte
		for {
			all = append(all, make([]byte, 8<<20))
		}
	case "output":
		for {
			io.WriteString(os.Stdout, strings.Repeat("y", 1000))
		}
	}
}
`

func TestSandbox(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"main.go": probe, "go.mod": "module probe\n\ngo 1.24\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	guard := exec.NewGuard(os.Args[0], "guard")
	t.Cleanup(func() { _ = guard.Close() })
	module := build(t, dir)

	compiled, err := run(t, guard, nil, module, []string{"see"}, "partitions=3")
	lines := strings.Split(strings.TrimSpace(compiled), "\n")
	if err != nil || len(lines) != 3 || lines[0] == lines[1] {
		t.Fatalf("got %q, %v", compiled, err)
	}
	for _, line := range lines {
		if !strings.HasSuffix(line, " true true") {
			t.Errorf("a module sees more than it may: %s", line)
		}
	}
	if interpreted, err := run(t, guard, []string{InterpreterFlag}, module, []string{"see"}, "partitions=3"); err != nil || interpreted != compiled {
		t.Errorf("got %q, %v; want %q", interpreted, err, compiled)
	}
	if got, err := run(t, guard, nil, module, []string{"merge"}, "partitions=5", "merge=program", "finish=true"); err != nil || got != "((((0 1) (2 3)) 4))" {
		t.Errorf("merged %q, %v", got, err)
	}
	if got, err := run(t, guard, nil, module, []string{"input"}, append(writeInput(t), "block=700")...); err != nil || got != "input 0 604\ninput 604 603\n" {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := estimates(t, guard, module, []string{"estimate"}); err != nil || got != `[1,"0"] [2,"01"] [3,"012"] ` {
		t.Errorf("estimates %s, %v", got, err)
	}
	for _, test := range []struct {
		args  []string
		pairs []string
		want  string
	}{
		{[]string{"exit"}, nil, "partition 0: map: module.wasm: exit status 3: the disk is gone"},
		{[]string{"data"}, nil, "map: module.wasm: exit status 65"},
		{[]string{"endless"}, []string{"timeout=1s"}, "map: module.wasm: it took longer than 1s"},
		{[]string{"memory"}, []string{"memory=16MiB"}, "map: module.wasm: exit status 2"},
		{[]string{"output"}, []string{"max-output=1MiB"}, "it wrote more than 1.0 MiB"},
	} {
		if _, err := run(t, guard, nil, module, test.args, test.pairs...); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want %q", test.args, err, test.want)
		}
	}
}

// header is the beginning of the modules of TestBadModules.
var header = []byte("\x00asm\x01\x00\x00\x00")

// section returns an encoded section of a module.
func section(id byte, data string) []byte { return append([]byte{id, byte(len(data))}, data...) }

// TestReactorEstimates calls the function estimate of a reactor. Each map returns the text 7. Each estimate is a text
// of two digits: the number of partitions, and the first byte of the merged outputs.
func TestReactorEstimates(t *testing.T) {
	const types = "\x60\x01\x7f\x01\x7f" + "\x60\x04\x7e\x7e\x7f\x7f\x01\x7e" + "\x60\x03\x7e\x7f\x7f\x01\x7e"
	const (
		alloc = "\x00\x41\x80\x08\x0b"                         // 1024
		call  = "\x00\x42\x81\x80\x80\x80\x80\x02\x0b"         // 16<<32 | 1
		digit = "\x41\x20\x20\x00\xa7\x41\x30\x6a\x3a\x00\x00" // byte 32 = prefix + '0'
		first = "\x41\x21\x20\x01\x2d\x00\x00\x3a\x00\x00"     // byte 33 = first byte of the input
		judge = "\x00" + digit + first + "\x42\x82\x80\x80\x80\x80\x04\x0b"
	)
	code := "\x03"
	for _, body := range []string{alloc, call, judge} {
		code += string(rune(len(body))) + body
	}
	module := slices.Concat(header,
		section(1, "\x03"+types), section(3, "\x03\x00\x01\x02"), section(5, "\x01\x00\x01"),
		section(7, "\x04\x06memory\x02\x00\x05alloc\x00\x00\x03map\x00\x01\x08estimate\x00\x02"),
		section(10, code), section(11, "\x01\x00\x41\x10\x0b\x017"))
	if got, err := estimates(t, nil, module, nil); err != nil || got != "17 27 37 " {
		t.Errorf("got %s, %v", got, err)
	}
	module = bytes.Replace(module, []byte("estimate"), []byte("estimat_"), 1)
	if _, err := estimates(t, nil, module, nil); err == nil || !strings.Contains(err.Error(), "the module exports no function estimate: want _start, or alloc, map, estimate") {
		t.Error(err)
	}
}

func TestBadModules(t *testing.T) {
	trap := slices.Concat(header,
		section(1, "\x01\x60\x00\x00"),       // a function type without parameters and results
		section(3, "\x01\x00"),               // one function of this type
		section(7, "\x01\x06_start\x00\x00"), // export of the function as _start
		section(10, "\x01\x03\x00\x00\x0b"))  // code of the function: unreachable, end
	foreign := slices.Concat(header,
		section(1, "\x01\x60\x00\x00"),
		section(2, "\x01\x03env\x04open\x00\x00"))
	large := slices.Concat(header, section(5, "\x01\x00\x80\x08")) // a memory of 1,024 pages
	for _, test := range []struct {
		module []byte
		want   string
	}{
		{trap, "wasm error: unreachable"},
		{[]byte("#!/bin/sh"), "compile module: invalid magic number"},
		{[]byte("\x00asm\x0d\x00\x01\x00"), "the file is a WebAssembly component, which wraps modules and their interfaces: want a module for WASI preview 1"},
		{foreign, "the module imports the function open of env: want only functions of wasi_snapshot_preview1"},
		{header, "the module exports no function alloc: want _start, or alloc, map"},
		{large, "over limit of 256 pages"},
	} {
		if _, err := run(t, nil, nil, test.module, nil, "memory=16MiB"); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want %q", test.module, err, test.want)
		}
	}
	if _, err := run(t, nil, nil, read(t, "examples/lines/lines.wasm"), nil, "finish=true", "merge=program", "memory=64MB", "partitions=2"); err != nil {
		t.Error(err)
	}
	for pair, want := range map[string]string{
		"memory=1KB":             "parameter memory",
		"timeout=0s":             "parameter timeout",
		`command=["other.wasm"]`: "was not submitted",
		`command=x`:              "parameter command",
	} {
		job := jobs.MustNew(Define(nil, "host"))
		if _, err := job.Params(nil, `command=["a.wasm"]`, `files=[{"name":"a.wasm","sha256":"`+strings.Repeat("0", 64)+`","size":1}]`, pair); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", pair, err, want)
		}
	}
}

// TestHostMemory runs a module that grows a table, which is not in the module's memory.
func TestHostMemory(t *testing.T) {
	defer func(before uint64) { hostMemory = before }(hostMemory)
	hostMemory = 256 << 20
	module := slices.Concat(header,
		section(1, "\x01\x60\x00\x00"),       // a type: no parameters, no results
		section(3, "\x01\x00"),               // one function
		section(4, "\x01\x70\x00\x00"),       // one table of functions, which is empty
		section(7, "\x01\x06_start\x00\x00"), // exported
		section(10, "\x01\x12\x00\xd2\x00\x41\x80\xc2\xd7\x2f\xfc\x0f\x00\x1a\x03\x40\x0c\x00\x0b\x0b")) // ref.func 0, i32.const 100000000, table.grow 0, drop, an endless loop
	_, err := run(t, nil, nil, module, nil, "memory=1MiB", "max-output=1KiB", "timeout=1m")
	if want := "map: module.wasm: its processes used"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

func TestCacheIsBounded(t *testing.T) {
	dir := t.TempDir()
	begin := time.Unix(1e9, 0)
	for i, name := range []string{"old", "middle", "new", "written.1.tmp"} {
		path := filepath.Join(dir, "version", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, make([]byte, 100), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, begin, begin.Add(time.Duration(i)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	if err := boundCache(dir, 200); err != nil {
		t.Fatal(err)
	}
	left, _ := filepath.Glob(filepath.Join(dir, "version", "*"))
	for i, path := range left {
		left[i] = filepath.Base(path)
	}
	if want := []string{"middle", "new", "written.1.tmp"}; !slices.Equal(left, want) {
		t.Errorf("left are %q, want %q", left, want)
	}
}

// FuzzFrame reads frames of calls, and checks that the length of the data agrees with the line.
func FuzzFrame(f *testing.F) {
	watch := fuzztest.Watch(f)
	f.Add([]byte("7 map 1 2 4\n\nabc"))
	f.Add([]byte("7 map 1 2 12\n\"a\" 10 20\nabc"))
	f.Add([]byte("7 merge 1 2 3\nabc"))
	f.Add([]byte("7 finish 0 0 0\n"))
	f.Add([]byte("7 merge 3 3 3\nabc"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := readFrame(bufio.NewReader(bytes.NewReader(text)))
		if err != nil {
			watch.Refused()
			return
		}
		watch.Taken()
		data := string(got.data)
		switch {
		case got.phase == "map" && got.input == input{}:
			data = "\n" + data
		case got.phase == "map":
			data = fmt.Sprintf("%q %d %d\n%s", got.input.names, got.input.offset, got.input.length, data)
		}
		again, err := readFrame(bufio.NewReader(strings.NewReader(fmt.Sprintf("%d %s %d %d %d\n%s", got.number, got.phase, got.numbers[0], got.numbers[1], len(data), data))))
		if err != nil || again.number != got.number || again.phase != got.phase || again.numbers != got.numbers || again.input != got.input || !bytes.Equal(again.data, got.data) {
			t.Errorf("read %v again as %v, %v", got, again, err)
		}
		if got.phase == "merge" {
			left, right := got.operands()
			if len(left)+len(right) != len(got.data) {
				t.Errorf("operands of %d and %d bytes of %d", len(left), len(right), len(got.data))
			}
		}
	})
}
