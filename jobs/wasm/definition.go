package wasm

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/exec"
)

// maxOutput is the largest value of the parameter max-output. The limit is needed because a
// host process keeps the output in memory.
const maxOutput = 1 << 30

// hostMemory is the memory in bytes that a host process may use in addition to the module's
// memory and copies of its output. The compiler and the tables of modules use the additional
// memory. Tests set a lower value.
var hostMemory uint64 = 1 << 30

// Params contains the parameters of the job wasm.
type Params struct {
	Command string `json:"command" required:"true" help:"the module and its arguments, as a JSON array of strings; on the command line also: -- MODULE [ARGUMENT...]"`
	Files   string `json:"files" help:"the module; the option --send sets it"`
	exec.Calls
	Merge     string        `json:"merge" help:"how outputs are merged: concat, sum, min, max, top:N, sorted, json, hll, ddsketch, or program: the module merges two outputs"`
	Finish    bool          `json:"finish" help:"the module is called with the merged outputs, and writes the result"`
	Estimate  bool          `json:"estimate" help:"the module is called with the merged outputs of the first 1, 2, 3 … calls, and writes an estimate as JSON"`
	Timeout   time.Duration `json:"timeout" min:"1ms" help:"how long a call may take"`
	Memory    string        `json:"memory" help:"how much memory a call may use, from 64KiB to 4GiB"`
	MaxOutput string        `json:"max-output" help:"how many bytes a call may write to standard output, such as 64MiB"`
}

// Define returns the definition of the job wasm. If the guard is nil, each host process compiles
// the module. The parameter host is the beginning of the command line of a program that calls
// [HostMain] with the remaining arguments.
func Define(guard *exec.Guard, host ...string) jobs.Definition[Params, []byte, exec.Result] {
	return exec.Kind[Params]{
		Name: "wasm", Version: "6", Summary: "run a WebAssembly module for each partition, and merge what the calls write",
		Defaults: Params{Calls: exec.DefaultCalls(), Merge: "concat", Timeout: 10 * time.Minute, Memory: "512MiB", MaxOutput: "64MiB"},
		Guard:    guard, Cache: true, Describe: true,
		Program: func(p Params) exec.Params { return p.program(host) },
		Title:   func(p Params) string { return p.command()[0] },
		Check:   func(p Params) string { return checkPhase },
	}.Definition()
}

// program returns the parameters of the job exec that run the host process.
func (p Params) program(host []string) exec.Params {
	memory, _ := jobs.ParseSize(p.Memory)
	output, _ := jobs.ParseSize(p.MaxOutput)
	needs := ""
	if p.Merge == "program" {
		needs += "merge,"
	}
	if p.Finish {
		needs += "finish,"
	}
	if p.Estimate {
		needs += "estimate,"
	}
	args := slices.Concat(host, []string{strconv.FormatUint(memory/pageSize, 10), strconv.FormatUint(output, 10), needs}, p.command())
	command, err := json.Marshal(args)
	if err != nil {
		panic(err) // cannot happen, because strings can always be encoded
	}
	return exec.Params{
		Command: string(command), Files: p.Files, Calls: p.Calls,
		Keep: true, Merge: p.Merge, Finish: p.Finish, Estimate: p.Estimate, Timeout: p.Timeout, Memory: strconv.FormatUint(memory+4*output+hostMemory, 10), MaxOutput: p.MaxOutput,
	}
}

// command returns the module and its arguments, or an empty module if the parameter is not valid.
func (p Params) command() []string {
	var args []string
	if json.Unmarshal([]byte(p.Command), &args) != nil || len(args) == 0 {
		return []string{""}
	}
	return args
}

// Validate implements jobs.Validator. The Validate of the embedded Calls is called too.
func (p Params) Validate() error {
	module := p.command()[0]
	if module == "" {
		return fmt.Errorf(`parameter command: got %.100q, takes the module and its arguments as a JSON array, such as ["count.wasm"]`, p.Command)
	}
	if err := p.program([]string{"host"}).Validate(); err != nil {
		return err
	}
	var files []exec.FileInfo
	if p.Files != "" {
		if err := json.Unmarshal([]byte(p.Files), &files); err != nil {
			return err
		}
	}
	if !slices.ContainsFunc(files, func(f exec.FileInfo) bool { return f.Name == module }) {
		return fmt.Errorf("parameter command: the module %.100q was not submitted: want the name of a file, without its folder, that --send names", module)
	}
	if n, err := jobs.ParseSize(p.MaxOutput); err == nil && n > maxOutput {
		return fmt.Errorf("parameter max-output: got %q, takes at most %s", p.MaxOutput, humanize.IBytes(maxOutput))
	}
	if n, err := jobs.ParseSize(p.Memory); err != nil || n < pageSize || n > 1<<32 {
		return errors.New("parameter memory: got " + strconv.Quote(p.Memory) + ", takes 64KiB to 4GiB")
	}
	return nil
}
