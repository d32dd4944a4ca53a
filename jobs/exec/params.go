package exec

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
)

// Params contains the parameters of the job exec.
type Params struct {
	Command string `json:"command" required:"true" help:"the program and its arguments, as a JSON array of strings; on the command line also: -- PROGRAM [ARGUMENT...]"`
	Files   string `json:"files" help:"files in the working folder of each call; the option --send sets it"`
	Calls
	Keep      bool          `json:"keep" help:"one process makes many calls, as frames on its standard input and output"`
	Merge     string        `json:"merge" help:"how outputs are merged: concat, sum, min, max, top:N, sorted, json, hll, ddsketch, or program: the program merges two outputs"`
	Output    string        `json:"output" help:"the folder for the files that calls write to $BELLWETHER_OUT, named like the objects of input; empty: there is no $BELLWETHER_OUT"`
	Finish    bool          `json:"finish" help:"the program is called with the merged outputs, and writes the result"`
	Estimate  bool          `json:"estimate" help:"the program is called with the merged outputs of the first 1, 2, 3 … calls, and writes an estimate as JSON"`
	Timeout   time.Duration `json:"timeout" min:"0" help:"how long a call may take; 0: as long as a partition may take"`
	Memory    string        `json:"memory" help:"how much memory the processes of a call may use, such as 2GiB; 0: any amount"`
	MaxOutput string        `json:"max-output" help:"how many bytes a call may write to standard output, and in all to $BELLWETHER_OUT, such as 64MiB"`
}

// Calls contains the parameters that determine the calls of a job, for each [Kind].
type Calls struct {
	Input      string `json:"input"`
	Split      string `json:"split" oneof:"lines file" help:"how the input is cut: lines: each line goes to one call; file: each call gets one object"`
	Block      int64  `json:"block" min:"1" help:"bytes of the input per call, about"`
	Lines      uint64 `json:"lines" max:"1000000000" help:"lines of the input per call, in place of block, or items per call; 0: block, or one item"`
	Items      string `json:"items" help:"file with one item a line, for a call each: arguments of the program; the option --items sets it"`
	Partitions uint64 `json:"partitions" help:"number of calls if there is no input; 0: one"`
}

// DefaultCalls returns the default values of Calls.
func DefaultCalls() Calls { return Calls{Split: "lines", Block: dataset.DefaultBlock} }

// Describe implements jobs.Describer, for the parameter input.
func (Calls) Describe(parameter string) string {
	if parameter != "input" {
		return ""
	}
	return "the objects that the calls read, separated by commas; each, also as a pattern or a folder, is " + source.Names(dataset.Sources())
}

// Validate implements jobs.Validator.
func (c Calls) Validate() error {
	if c.Items != "" {
		if _, err := c.itemsFile(); err != nil {
			return err
		}
	}
	switch {
	case c.Input != "" && c.Partitions > 0:
		return errors.New("parameters input and partitions: want one of them, because the input is cut into partitions of about block bytes")
	case c.Items != "" && (c.Input != "" || c.Partitions > 0):
		return errors.New("parameters items, input and partitions: want one of them, because the items determine the calls")
	case c.Split == splitFile && c.Input == "":
		return errors.New("parameter split: got \"file\" without the parameter input, which names the objects")
	case c.Split == splitFile && c.Lines > 0:
		return errors.New("parameters split=file and lines: want one of them, because each call gets one object")
	case c.Lines > 0 && c.Input == "" && c.Items == "":
		return errors.New("parameter lines: want also the parameter input or the option --items, whose lines are counted")
	}
	in := c.input()
	return in.Validate()
}

// input returns the objects that the calls read.
func (c Calls) input() dataset.Input {
	in := dataset.Defaults()
	in.Source, in.Format, in.Block = c.Input, "lines", c.Block
	return in
}

func defaults() Params {
	return Params{Calls: DefaultCalls(), Merge: concat.name, Memory: "0", MaxOutput: "64MiB"}
}

// Validate implements jobs.Validator. The Validate of the embedded Calls is called too.
func (p Params) Validate() error {
	args, err := p.args()
	if err == nil {
		err = p.checkPlaceholders(args)
	}
	if err == nil {
		err = p.checkOutput()
	}
	if err != nil {
		return err
	}
	if _, err := p.files(); err != nil {
		return err
	}
	if _, err := parseMerge(p.Merge); err != nil {
		return err
	}
	if _, err := size("memory", p.Memory); err != nil {
		return err
	}
	n, err := size("max-output", p.MaxOutput)
	if err == nil && n == 0 {
		err = errors.New(`parameter max-output: got "0", takes at least 1 byte`)
	}
	return err
}

// args returns the program and its arguments.
func (p Params) args() ([]string, error) {
	var args []string
	if p.Command == "" || json.Unmarshal([]byte(p.Command), &args) != nil || len(args) == 0 || args[0] == "" {
		return nil, fmt.Errorf(`parameter command: got %.100q, takes the program and its arguments as a JSON array, such as ["wc","-l"]`, p.Command)
	}
	for _, a := range args {
		if strings.ContainsRune(a, 0) {
			return nil, fmt.Errorf("parameter command: argument %.100q has a zero byte, which no program can take", a)
		}
	}
	return args, nil
}

// size parses a number of bytes.
func size(name, value string) (int64, error) {
	n, err := jobs.ParseSize(value)
	if err != nil || n > 1<<50 {
		return 0, fmt.Errorf("parameter %s: got %.100q, takes a number of bytes, such as 512MiB", name, value)
	}
	return int64(n), nil
}

// program returns the program of the job's calls, with its limits.
func (p Params) program() (program, error) {
	args, err := p.args()
	if err != nil {
		return program{}, err
	}
	memory, err := size("memory", p.Memory)
	if err != nil {
		return program{}, err
	}
	output, err := size("max-output", p.MaxOutput)
	replaces := p.Items != "" || p.Split == splitFile
	return program{args: args, replaces: replaces, name: args[0], timeout: p.Timeout, memory: memory, output: output}, err
}
