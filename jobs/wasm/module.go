package wasm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing/fstest"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/exec"
)

const pageSize = 64 << 10 // size of a page of memory in bytes

// errAgain is the error of a module that requests a retry.
var errAgain = errors.New("exit status 75")

// module is a module in this process, which makes one call at a time.
type module struct {
	args        []string // path of the module, and its arguments
	needs       []string // phases that the job calls in addition to map
	pages       uint32
	output      int64
	interpreted bool
	job         string // identification of the job
	cache       string // folder for machine code; empty if machine code is not stored

	runtime  wazero.Runtime
	compiled wazero.CompiledModule // compiled module; nil until the first call
	command  bool                  // true if the module exports _start
}

func (m *module) close() {
	if m.runtime != nil {
		_ = m.runtime.Close(context.Background())
	}
}

// signatures contains the signatures of the functions that a reactor exports.
var signatures = map[string]struct{ params, results []api.ValueType }{
	"alloc":  {[]api.ValueType{api.ValueTypeI32}, []api.ValueType{api.ValueTypeI32}},
	"map":    {[]api.ValueType{api.ValueTypeI64, api.ValueTypeI64, api.ValueTypeI32, api.ValueTypeI32}, []api.ValueType{api.ValueTypeI64}},
	"merge":  {slices.Repeat([]api.ValueType{api.ValueTypeI32}, 4), []api.ValueType{api.ValueTypeI64}},
	"finish": {slices.Repeat([]api.ValueType{api.ValueTypeI32}, 2), []api.ValueType{api.ValueTypeI64}},

	"estimate": {[]api.ValueType{api.ValueTypeI64, api.ValueTypeI32, api.ValueTypeI32}, []api.ValueType{api.ValueTypeI64}},
}

// compile compiles the module. Every error of the module is permanent.
func (m *module) compile(ctx context.Context) error {
	binary, err := os.ReadFile(m.args[0])
	if err != nil {
		return err
	}
	if isComponent(binary) {
		return jobs.Permanent(errComponent)
	}
	config := wazero.NewRuntimeConfig()
	if m.interpreted {
		config = wazero.NewRuntimeConfigInterpreter()
	}
	config = config.WithMemoryLimitPages(m.pages)
	if m.cache != "" {
		cache, err := wazero.NewCompilationCacheWithDir(m.cache)
		if err != nil {
			return fmt.Errorf("open cache: %w", err)
		}
		config = config.WithCompilationCache(cache)
	}
	m.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	wasi, err := wasi_snapshot_preview1.NewBuilder(m.runtime).Compile(ctx)
	if err != nil {
		return err
	}
	compiled, err := m.runtime.CompileModule(experimental.WithCompilationWorkers(ctx, runtime.GOMAXPROCS(0)), binary)
	if err != nil {
		return jobs.Permanent(fmt.Errorf("compile module: %w", err))
	}
	if m.cache != "" {
		if err := boundCache(m.cache, maxCache); err != nil {
			return err
		}
	}
	for _, f := range compiled.ImportedFunctions() {
		from, name, _ := f.Import()
		if _, known := wasi.ExportedFunctions()[name]; from != wasi_snapshot_preview1.ModuleName || !known {
			return jobs.Permanent(fmt.Errorf("the module imports the function %s of %s: want only functions of %s", name, from, wasi_snapshot_preview1.ModuleName))
		}
	}
	if list := compiled.ImportedMemories(); len(list) > 0 {
		from, name, _ := list[0].Import()
		return jobs.Permanent(fmt.Errorf("the module imports the memory %s of %s: want a memory of its own", name, from))
	}
	if _, err := m.runtime.InstantiateModule(ctx, wasi, wazero.NewModuleConfig().WithName(wasi_snapshot_preview1.ModuleName)); err != nil {
		return err
	}
	if _, m.command = compiled.ExportedFunctions()["_start"]; !m.command {
		if err := checkReactor(compiled, append([]string{"alloc", "map"}, m.needs...)); err != nil {
			return jobs.Permanent(err)
		}
	}
	m.compiled = compiled
	return nil
}

// isComponent reports whether a binary is a component. Components begin like modules, but name the
// layer 1 of the format instead of the layer 0.
func isComponent(binary []byte) bool {
	const magic = "\x00asm"
	return len(binary) >= 8 && string(binary[:4]) == magic && binary[6] == 1 && binary[7] == 0
}

var errComponent = errors.New("the file is a WebAssembly component, which wraps modules and their interfaces: want a module for WASI preview 1 " +
	"(Go: GOOS=wasip1 GOARCH=wasm; Rust: --target wasm32-wasip1, not wasip2; TinyGo: -target=wasip1; clang: --target=wasm32-wasip1)")

// checkReactor returns an error if a reactor does not export its memory or one of the given
// functions.
func checkReactor(m wazero.CompiledModule, functions []string) error {
	for _, name := range functions {
		want := signatures[name]
		f, found := m.ExportedFunctions()[name]
		switch {
		case !found:
			return fmt.Errorf("the module exports no function %s: want _start, or %s", name, strings.Join(functions, ", "))
		case !slices.Equal(f.ParamTypes(), want.params) || !slices.Equal(f.ResultTypes(), want.results):
			return fmt.Errorf("the function %s of the module takes %s and returns %s, want %s and %s", name, types(f.ParamTypes()), types(f.ResultTypes()), types(want.params), types(want.results))
		}
	}
	if len(m.ExportedMemories()) == 0 {
		return errors.New("the module exports no memory")
	}
	return nil
}

func types(list []api.ValueType) string {
	var names []string
	for _, t := range list {
		names = append(names, api.ValueTypeName(t))
	}
	return "(" + strings.Join(names, ", ") + ")"
}

// call makes a call in a new instance of the module.
func (m *module) call(ctx context.Context, f frame) ([]byte, error) {
	if m.compiled == nil {
		if err := m.compile(ctx); err != nil {
			return nil, err
		}
	}
	if f.phase == checkPhase {
		return nil, nil
	}
	stdout, stderr := &limited{most: m.output}, &exec.Tail{}
	log := jobs.StderrLog(ctx)
	defer log.Close()
	config := m.config(f).WithStdout(stdout).WithStderr(io.MultiWriter(stderr, log))
	output, err := m.run(ctx, f, config)
	switch {
	case stdout.full || int64(len(output)) > m.output:
		return nil, jobs.Permanent(stderr.Explain(fmt.Errorf("it wrote more than %s: raise max-output, or write less", humanize.IBytes(uint64(m.output)))))
	case err != nil:
		return nil, outcome(err, stderr)
	case m.command:
		return stdout.data, nil
	}
	return output, nil
}

// outcome returns the error of a call that has failed.
func outcome(err error, stderr *exec.Tail) error {
	var exit *sys.ExitError
	if !errors.As(err, &exit) {
		return stderr.Explain(err)
	}
	err = stderr.Explain(fmt.Errorf("exit status %d", exit.ExitCode()))
	switch exit.ExitCode() {
	case exec.ExitUsage, exec.ExitData:
		return jobs.Permanent(err)
	case exec.ExitTemporarily:
		return errAgain
	}
	return err
}

// clock is the clock of an instance. The clock begins at a fixed time and advances whenever it is
// read, so that loops that wait for a time end.
type clock struct{ now time.Duration }

const (
	clockBegin = 1640995200 * time.Second // 2022-01-01, as a Unix time
	clockStep  = time.Microsecond
)

func (c *clock) read() time.Duration {
	c.now += clockStep
	return clockBegin + c.now
}

// set makes a module use the clock. A sleep takes no time and only advances the clock.
func (c *clock) set(config wazero.ModuleConfig) wazero.ModuleConfig {
	wall := func() (sec int64, nsec int32) {
		t := c.read()
		return int64(t / time.Second), int32(t % time.Second)
	}
	return config.WithWalltime(wall, sys.ClockResolution(clockStep)).
		WithNanotime(func() int64 { return int64(c.read()) }, sys.ClockResolution(clockStep)).
		WithNanosleep(func(ns int64) { c.now += time.Duration(max(0, ns)) })
}

// config returns the configuration of an instance: arguments, environment, files, clock and random
// numbers. The configuration does not depend on the time, the machine or earlier calls.
func (m *module) config(f frame) wazero.ModuleConfig {
	seed := sha256.Sum256(fmt.Appendf(nil, "%s %s %d %d %x", m.job, f.phase, f.numbers[0], f.numbers[1], sha256.Sum256(f.data)))
	args := slices.Clone(m.args)
	config := new(clock).set(wazero.NewModuleConfig()).WithName("").WithRandSource(rand.NewChaCha8(seed)).
		WithEnv("BELLWETHER_JOB", m.job).WithEnv("BELLWETHER_PHASE", f.phase).
		WithEnv("BELLWETHER_MEMORY", strconv.FormatUint(uint64(m.pages)*pageSize, 10))
	files := fstest.MapFS{}
	add := func(name string, data []byte) {
		files[name] = &fstest.MapFile{Data: data, Mode: 0o444}
		args = append(args, name)
	}
	switch f.phase {
	case "map":
		config = config.WithEnv("BELLWETHER_PARTITION", strconv.FormatUint(f.numbers[0], 10)).
			WithEnv("BELLWETHER_PARTITIONS", strconv.FormatUint(f.numbers[1], 10)).
			WithStdin(bytes.NewReader(f.data))
		if f.input.names != "" {
			config = config.WithEnv("BELLWETHER_INPUT", f.input.names).
				WithEnv("BELLWETHER_OFFSET", strconv.FormatInt(f.input.offset, 10)).
				WithEnv("BELLWETHER_LENGTH", strconv.FormatInt(f.input.length, 10))
		}
	case "merge":
		left, right := f.operands()
		add(".left", left)
		add(".right", right)
	case "estimate":
		config = config.WithEnv("BELLWETHER_PREFIX", strconv.FormatUint(f.numbers[0], 10))
		add(".prefix", f.data)
	case "finish":
		add(".root", f.data)
	}
	return config.WithArgs(args...).WithFSConfig(wazero.NewFSConfig().WithFSMount(files, "/"))
}

// run makes a call. If the module is a reactor, run returns the output.
func (m *module) run(ctx context.Context, f frame, config wazero.ModuleConfig) ([]byte, error) {
	if !m.command {
		config = config.WithStartFunctions("_initialize")
	}
	instance, err := m.runtime.InstantiateModule(ctx, m.compiled, config)
	var exit *sys.ExitError
	if err != nil {
		if errors.As(err, &exit) && exit.ExitCode() == 0 && m.command {
			err = nil
		}
		return nil, err
	}
	defer func() { _ = instance.Close(ctx) }()
	if m.command {
		return nil, nil
	}
	args := f.numbers[:0:0]
	inputs := [][]byte{f.data}
	switch f.phase {
	case "map":
		args = append(args, f.numbers[:]...)
	case "estimate":
		args = append(args, f.numbers[0])
	case "merge":
		left, right := f.operands()
		inputs = [][]byte{left, right}
	}
	for _, data := range inputs {
		at, err := instance.ExportedFunction("alloc").Call(ctx, uint64(len(data)))
		if err != nil {
			return nil, fmt.Errorf("alloc: %w", err)
		}
		if !instance.Memory().Write(uint32(at[0]), data) {
			return nil, fmt.Errorf("alloc returned %d for %d bytes, which is outside of the module's memory", uint32(at[0]), len(data))
		}
		args = append(args, at[0], uint64(len(data)))
	}
	results, err := instance.ExportedFunction(f.phase).Call(ctx, args...)
	if err != nil {
		return nil, err
	}
	at, length := uint32(results[0]>>32), uint32(results[0])
	output, ok := instance.Memory().Read(at, length)
	if !ok {
		return nil, fmt.Errorf("the output has %d bytes from %d on, which is outside of the module's memory", length, at)
	}
	return slices.Clone(output), nil
}

// limited is a writer that keeps all bytes that are written to it, up to a limit. A write past the
// limit panics, which ends the instance. An error would not end it, because a module may ignore
// errors.
type limited struct {
	data []byte
	most int64
	full bool
}

func (l *limited) Write(data []byte) (int, error) {
	if l.full = l.full || int64(len(l.data)+len(data)) > l.most; l.full {
		panic(errors.New("too much output"))
	}
	l.data = append(l.data, data...)
	return len(data), nil
}
