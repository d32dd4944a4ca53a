package check

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-systemd/v22/unit"
)

const unitFile = "../systemd/bellwether-worker.service"

// installed is where the unit expects the program.
const installed = "/usr/local/bin/bellwether"

// unitValues are what the unit says of a directive.
func unitValues(t *testing.T, section, name string) []string {
	t.Helper()
	options, err := unit.DeserializeOptions(strings.NewReader(read(t, unitFile)))
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, o := range options {
		if o.Section == section && o.Name == name {
			values = append(values, o.Value)
		}
	}
	return values
}

func unitValue(t *testing.T, section, name string) string {
	t.Helper()
	values := unitValues(t, section, name)
	if len(values) != 1 {
		t.Fatalf("%s: got %v, want one value", name, values)
	}
	return values[0]
}

func TestUnit(t *testing.T) {
	command := strings.Fields(unitValue(t, "Service", "ExecStart"))
	if command[0] != installed {
		t.Errorf("the unit runs %s", command[0])
	}
	args := slices.DeleteFunc(command[1:], func(arg string) bool { return arg == "$WORKER_FLAGS" })
	checkCommand(t, args)
	grace, err := time.ParseDuration(unitValue(t, "Service", "TimeoutStopSec"))
	if err != nil {
		t.Fatal(err)
	}
	checkGrace(t, args, grace)
	// Another signal would end a worker at once.
	if signals := unitValues(t, "Service", "KillSignal"); len(signals) > 0 {
		t.Errorf("KillSignal: got %v, want the default, SIGTERM", signals)
	}
}

func TestUnitIsVerified(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd-analyze")
	}
	// It looks whether the program is there.
	file := filepath.Join(t.TempDir(), filepath.Base(unitFile))
	text := strings.Replace(read(t, unitFile), "ExecStart="+installed, "ExecStart="+program, 1)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(analyze, "verify", file).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("verify: %v\n%s", err, out)
	}
	const most = "15" // tenths, of 100: what systemd calls OK ends at 50
	if out, err := exec.Command(analyze, "security", "--offline=true", "--no-pager", "--threshold="+most, file).CombinedOutput(); err != nil {
		t.Errorf("security: %v\n%s", err, out)
	}
}
