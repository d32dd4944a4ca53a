package sim

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// defect is a defect that a test plants in the real code or in the simulated storage. The test
// builds a simulator in which the text old of the file is replaced by the text new.
type defect struct {
	name     string
	file     string // path of the source file, relative to the module's root
	old, new string
	within   string // number of seeds within which a promise must be broken
}

// TestDefectsAreCaught builds one simulator for each defect, with the defect in its code, and
// requires that the simulator finds the defect. TestSeedsKeepThePromises requires that a simulator
// without a planted defect finds no broken promise.
func TestDefectsAreCaught(t *testing.T) {
	if os.Getenv("DEFECTS") == "" {
		t.Skip("builds the simulator once for each defect: set DEFECTS=1, as make sim does")
	}
	top, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range defects {
		t.Run(strings.ReplaceAll(d.name, " ", "-"), func(t *testing.T) {
			t.Parallel() // the compiler and the linker often keep only one core busy
			command := d.build(t, top)
			out, err := exec.Command(command, "-test.run=^TestSeedsKeepThePromises$", "-sim.seeds="+d.within, "-sim.failures=1").CombinedOutput()
			if _, failed := err.(*exec.ExitError); err != nil && !failed {
				t.Fatal(err)
			}
			_, found, caught := strings.Cut(string(out), "breaks a promise: ")
			if !caught {
				t.Fatalf("not caught within %s seeds:\n%s", d.within, out)
			}
			found, _, _ = strings.Cut(found, "\n")
			t.Logf("caught: %s", found)
		})
	}
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
	build := exec.Command("go", "test", "-c", "-overlay", overlay, "-o", command, "./bench/internal/sim")
	build.Dir = top
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build with the defect: %v\n%s", err, out)
	}
	return command
}
