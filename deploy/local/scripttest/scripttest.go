// Package scripttest reads the commands of the scripts that drive the state machines of Bellwether:
// ledger, session and election. A script is a file in testdata with commands and their expected
// output, which package datadriven runs.
//
// Package scripttest is only for Bellwether's own tests. The package is in deploy/local, beside
// other test helpers that all packages share. It is not in an internal folder, because only a folder
// at the top level would allow every package to import it.
package scripttest

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Command is a command of a script. Its methods parse arguments, and fail the test if an argument
// cannot be parsed.
type Command struct {
	T *testing.T
	D *datadriven.TestData
}

// Word returns the i-th argument.
func (c Command) Word(i int) string {
	if i >= len(c.D.CmdArgs) {
		c.D.Fatalf(c.T, "too few arguments")
	}
	return c.D.CmdArgs[i].Key
}

// Text returns the value of a named argument, or otherwise if the argument is missing.
func (c Command) Text(name, otherwise string) string {
	for _, a := range c.D.CmdArgs {
		if a.Key == name && len(a.Vals) == 1 {
			return a.Vals[0]
		}
	}
	return otherwise
}

// Number parses a number.
func (c Command) Number(text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		c.D.Fatalf(c.T, "%v", err)
	}
	return n
}

// Duration parses a duration with its unit.
func (c Command) Duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		c.D.Fatalf(c.T, "%v", err)
	}
	return d
}

// Node parses a node of the aggregation tree, such as 2/0 for node 0 of level 2.
func (c Command) Node(text string) engine.Node {
	level, index, _ := strings.Cut(text, "/")
	return engine.Node{Level: uint8(c.Number(level)), Index: c.Number(index)}
}

// Span parses a span of partitions, such as 0-10.
func (c Command) Span(text string) engine.Span {
	lo, hi, _ := strings.Cut(text, "-")
	return engine.Span{Lo: c.Number(lo), Hi: c.Number(hi)}
}

// Call parses the name of a function, and the node of a merge, such as Finish or Merge-2/0.
func (c Command) Call(text string) (function wire.Function, node engine.Node) {
	name, at, hasNode := strings.Cut(text, "-")
	for f := wire.Map; f <= wire.Estimate; f++ {
		if f.String() == name {
			if hasNode {
				node = c.Node(at)
			}
			return f, node
		}
	}
	c.D.Fatalf(c.T, "%q is no function", text)
	return 0, node
}

// Machine is a state machine that waits for a time.
type Machine interface {
	Due() time.Duration // the time of the next tick
}

// Wait lets the time d pass from now on, and calls tick whenever the machine is due.
func Wait(m Machine, now *time.Duration, d time.Duration, tick func()) {
	until := *now + d
	for due := m.Due(); due <= until; due = m.Due() {
		*now = max(*now, due)
		tick()
	}
	*now = until
}

// WaitCommand runs the command wait: it lets the time of the command's argument pass or, without an
// argument, the time until the machine is due.
func (c Command) WaitCommand(m Machine, now *time.Duration, never time.Duration, tick func()) {
	switch due := m.Due(); {
	case len(c.D.CmdArgs) > 0:
		Wait(m, now, c.Duration(c.Word(0)), tick)
	case due == never:
		c.D.Fatalf(c.T, "nothing is due")
	default:
		Wait(m, now, due-*now, tick)
	}
}
