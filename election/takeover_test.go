package election_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// drivers are the lease drivers in takeover.pml, with the macros that select them.
var drivers = []struct{ name, macro string }{
	{"bloblease", "BLOB"},
	{"kvlease", "KV"},
}

// everything contains bounds within which each statement of the model is reached.
var everything = []string{"WORKERS=2", "ITEMS=2", "LOSSES=2", "LATE=1", "TRANSFERS=1", "RENEWALS=1"}

// TestTakeoverModel runs spin, which searches all executions of takeover.pml within some bounds.
// With more workers, the bounds allow fewer faults.
func TestTakeoverModel(t *testing.T) {
	needSpin(t)
	bounds := map[string][]string{
		"two workers":               everything,
		"three and transfers":       {"WORKERS=3", "ITEMS=2", "LOSSES=0", "LATE=0", "TRANSFERS=1", "RENEWALS=0"},
		"three and late writes":     {"WORKERS=3", "ITEMS=1", "LOSSES=0", "LATE=1", "TRANSFERS=0", "RENEWALS=0"},
		"three and answers missing": {"WORKERS=3", "ITEMS=1", "LOSSES=1", "LATE=0", "TRANSFERS=0", "RENEWALS=0"},
	}
	for _, driver := range drivers {
		for name, macros := range bounds {
			t.Run(driver.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				found := search(t, "-O2", append(slices.Clone(macros), driver.macro)...)
				t.Log(found)
				if found.errors != "0" {
					t.Errorf("spin found: %s\n%s", found.violated, found.output)
				}
				if strings.Contains(found.output, "max search depth too small") {
					t.Error("the search was cut off")
				}
				if name == "two workers" {
					found.reachesAll(t)
				}
			})
		}
	}
}

// TestTakeoverModelFindsDefects adds each defect to the model, which must then violate a property:
// (a) about epochs, (b) about durable items.
func TestTakeoverModelFindsDefects(t *testing.T) {
	needSpin(t)
	defects := []struct {
		name     string
		property string
		driver   string // driver of the lease; empty means both
	}{
		{name: "NO_FENCE", property: "b"},
		{name: "STALE_FENCE", property: "b"},
		{name: "BLIND_MANIFEST", property: "a"},
		{name: "OLD_EPOCH", property: "a"},
		{name: "BLIND_TRUST", property: "b"},
		{name: "REUSED_NUMBER", property: "b"},
		{name: "EARLY_ACK", property: "b"},
		{name: "SAME_EPOCH", property: "a"},
		{name: "FORGOTTEN", property: "a"},
		{name: "BLIND_RECORD", property: "a", driver: "KV"},
	}
	for _, driver := range drivers {
		for _, defect := range defects {
			if defect.driver != "" && defect.driver != driver.macro {
				continue
			}
			t.Run(driver.name+"/"+defect.name, func(t *testing.T) {
				t.Parallel()
				found := search(t, "-O0", append(slices.Clone(everything), driver.macro, defect.name)...)
				t.Log(found)
				if found.property() != defect.property {
					t.Errorf("violated %q, want property (%s)\n%s", found.violated, defect.property, found.output)
				}
			})
		}
	}
}

// needSpin skips a test unless MODEL is set: the tests need a C compiler, and use all
// cores for several minutes.
func needSpin(t *testing.T) {
	t.Helper()
	if os.Getenv("MODEL") == "" {
		t.Skip("'make model' runs this")
	}
	for _, tool := range []string{"spin", "cc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("%s is needed to check takeover.pml: on Debian, apt-get install spin gcc libc6-dev", tool)
		}
	}
}

// searched is the outcome of spin's search.
type searched struct {
	output   string
	states   string
	errors   string // number of errors; spin stops at the first error
	violated string // violated assertion
	took     time.Duration
}

func (s searched) String() string {
	return fmt.Sprintf("%s states, %s errors, %q, in %v", s.states, s.errors, s.violated, s.took.Round(time.Millisecond))
}

// property returns the property whose assertion was violated.
func (s searched) property() string {
	switch {
	case s.violated == "":
		return ""
	case strings.Contains(s.violated, "acked") || strings.Contains(s.violated, "base"):
		return "b"
	case strings.Contains(s.violated, "epoch"):
		return "a"
	}
	return "another"
}

var (
	statesForm   = regexp.MustCompile(`(\d+) states, stored`)
	errorsForm   = regexp.MustCompile(`errors: (\d+)`)
	violatedForm = regexp.MustCompile(`assertion violated (.*) \(at depth`)
	blockForm    = regexp.MustCompile(`(?m)^unreached in proctype Worker\n((?:\t.*\n)*)`)
	lineForm     = regexp.MustCompile(`"(.*)"\n`)
)

// search runs spin on all states of the model with the given macros defined.
func search(t *testing.T, optimize string, macros ...string) searched {
	t.Helper()
	model, err := filepath.Abs("takeover.pml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	run := func(name string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		output, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, output)
		}
		return string(output)
	}
	generate := []string{"-a"}
	for _, macro := range macros {
		generate = append(generate, "-D"+macro)
	}
	run("spin", append(generate, model)...)
	run("cc", optimize, "-w", "-DSAFETY", "-DCOLLAPSE", "-DMEMLIM=1024", "-o", "pan", "pan.c")
	began := time.Now()
	output := run("./pan", "-m10000", "-w22")
	found := searched{output: output, took: time.Since(began)}
	for form, field := range map[*regexp.Regexp]*string{
		statesForm: &found.states, errorsForm: &found.errors, violatedForm: &found.violated,
	} {
		if match := form.FindStringSubmatch(output); match != nil {
			*field = match[1]
		}
	}
	if found.states == "" || found.errors == "" {
		t.Fatalf("spin printed no number of states or of errors:\n%s", output)
	}
	return found
}

// reachesAll checks that every statement of a worker was reached in some state, except
// assertions that must not be reached.
func (s searched) reachesAll(t *testing.T) {
	t.Helper()
	block := blockForm.FindStringSubmatch(s.output)
	if block == nil {
		t.Fatalf("spin did not list the statements that it did not reach:\n%s", s.output)
	}
	for _, line := range lineForm.FindAllStringSubmatch(block[1], -1) {
		if line[1] != "assert(0)" {
			t.Errorf("never reached: %s", block[1])
		}
	}
}
