package sim

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var record = flag.Bool("sim.record", false, "write the seeds that find the planted defects to caught.txt")

// defect is a defect that a test plants in the real code or in the simulated storage. The test
// builds a simulator in which the text old of the file is replaced by the text new.
type defect struct {
	name     string
	file     string // path of the source file, relative to the module's root
	old, new string
	within   string // number of seeds within which a promise must be broken
	test     string // test that finds the defect; by default TestSeedsKeepThePromises
}

// caught has a line for each defect: a seed that finds the defect, and the defect's name. With the
// seed, TestDefectsAreCaught needs no search.
//
//go:embed caught.txt
var caught string

// seed returns the seed that found the defect when the seeds were recorded, or "".
func (d defect) seed() string {
	for line := range strings.Lines(caught) {
		if seed, name, _ := strings.Cut(strings.TrimSpace(line), " "); name == d.name {
			return seed
		}
	}
	return ""
}

// TestDefectsAreCaught builds one simulator for each defect, with the defect in its code, and
// requires that the simulator finds the defect. TestSeedsKeepThePromises requires that a simulator
// without a planted defect finds no broken promise.
func TestDefectsAreCaught(t *testing.T) {
	part, parts := 1, 1
	switch of := os.Getenv("DEFECTS"); {
	case of == "":
		t.Skip("builds the simulator once for each defect: set DEFECTS=1/1 for all defects, as make sim does, or DEFECTS=2/3 for the second third")
	default:
		if _, err := fmt.Sscanf(of, "%d/%d", &part, &parts); err != nil || part < 1 || part > parts {
			t.Fatalf("DEFECTS is %s: want 1/1, or another part such as 2/3", of)
		}
	}
	top, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	lines := make([]string, len(defects))
	t.Run("defects", func(t *testing.T) {
		for i, d := range defects {
			if i%parts != part-1 {
				continue
			}
			t.Run(strings.ReplaceAll(d.name, " ", "-"), func(t *testing.T) {
				t.Parallel() // the compiler and the linker often keep only one core busy
				lines[i] = d.find(t, d.build(t, top)) + " " + d.name + "\n"
			})
		}
	})
	if *record && parts == 1 && !t.Failed() {
		if err := os.WriteFile("caught.txt", []byte(strings.Join(lines, "")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// find returns a seed with which the simulator finds the defect. A change of the code can change what
// the recorded seed simulates. If the recorded seed does not find the defect, find tries d.within seeds.
func (d defect) find(t *testing.T, command string) (seed string) {
	t.Helper()
	if seed = d.seed(); seed != "" {
		if _, promise := d.breaks(t, command, "-sim.first="+seed, "-sim.seeds=1"); promise != "" {
			t.Logf("caught by seed %s: %s", seed, promise)
			return seed
		}
	}
	seed, promise := d.breaks(t, command, "-sim.seeds="+d.within, "-sim.failures=1")
	if promise == "" {
		t.Fatalf("not caught within %s seeds", d.within)
	}
	t.Logf("caught by seed %s, where seed %q is recorded ('make sim RECORD=1' records seeds): %s", seed, d.seed(), promise)
	return seed
}

// breaks simulates seeds, and returns the first seed that breaks a promise and the promise, or "".
func (d defect) breaks(t *testing.T, command string, args ...string) (seed, promise string) {
	t.Helper()
	out, err := exec.Command(command, append(args, "-test.run=^"+cmp.Or(d.test, "TestSeedsKeepThePromises")+"$")...).CombinedOutput()
	if _, failed := err.(*exec.ExitError); err != nil && !failed {
		t.Fatal(err)
	}
	before, after, found := strings.Cut(string(out), " breaks a promise: ")
	if !found {
		return "", ""
	}
	promise, _, _ = strings.Cut(after, "\n")
	return before[strings.LastIndex(before, " ")+1:], promise
}

// TestDefectsCanBePlanted fails if the text that a defect replaces is no longer in the code.
func TestDefectsCanBePlanted(t *testing.T) {
	top, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range defects {
		t.Run(strings.ReplaceAll(d.name, " ", "-"), func(t *testing.T) { d.plant(t, top) })
	}
}

// plant returns the path of the file that the defect changes, and the file's source text with the
// defect.
func (d defect) plant(t *testing.T, top string) (path, source string) {
	t.Helper()
	path = filepath.Join(top, filepath.FromSlash(d.file))
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(data), d.old); n != 1 {
		t.Fatalf("%s contains the text that the defect replaces %d times, want once:\n%s", d.file, n, d.old)
	}
	return path, strings.Replace(string(data), d.old, d.new, 1)
}

// build builds a simulator with the defect, and returns the path of the executable.
func (d defect) build(t *testing.T, top string) (command string) {
	t.Helper()
	path, source := d.plant(t, top)
	dir := t.TempDir()
	changed := filepath.Join(dir, "changed.go")
	if err := os.WriteFile(changed, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, list, 0o600); err != nil {
		t.Fatal(err)
	}
	command = filepath.Join(dir, "sim")
	build := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", command, "./bench/internal/sim")
	build.Dir = top
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build with the defect: %v\n%s", err, out)
	}
	return command
}
