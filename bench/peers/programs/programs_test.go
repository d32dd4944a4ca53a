package programs

import (
	"os"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/bench/peers/report"
)

func TestTables(t *testing.T) {
	r := Result{Cores: 2, Rounds: 3, Contests: []Measured{{"empty calls", 100, "calls", "2 × other", []Runs{
		{"Bellwether", report.Figures{1, 2, 4}}, {"Other", report.Figures{4, 8, 16}},
	}}}}
	var text strings.Builder
	for _, table := range r.Tables() {
		if err := table.Text(&text); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"Bellwether  2        50       1\n", "Other       8        12.5     4\n", "Target: 2 × other"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in\n%s", want, text.String())
		}
	}
}

func TestEntryFails(t *testing.T) {
	saved := t.TempDir() + "/saved"
	if _, _, err := (entry{command: []string{"sh", "-c", "echo lost >&2; exit 3"}}).run(t.Context(), saved); err == nil || !strings.Contains(err.Error(), "exit status 3: lost") {
		t.Errorf("got %v", err)
	}
	if _, output, err := (entry{command: []string{"echo", "text"}}).run(t.Context(), saved); err != nil || string(output) != "text\n" {
		t.Errorf("got %q, %v", output, err)
	}
}

// TestKeptProgram checks that the contest measures the example, in at most ten lines of Python.
func TestKeptProgram(t *testing.T) {
	for name, example := range map[string]string{"bellwether.py": "bellwether.py", "kept_words.py": "words.py"} {
		got, err := source.ReadFile("source/" + name)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile("../../../jobs/exec/examples/" + example)
		if err != nil || string(got) != string(want) {
			t.Errorf("source/%s differs from the example %s: %v", name, example, err)
		}
		lines := 0
		for line := range strings.Lines(string(got)) {
			if strings.TrimSpace(line) != "" {
				lines++
			}
		}
		if name == "kept_words.py" && lines > 10 {
			t.Errorf("%s has %d lines of Python, want at most 10", name, lines)
		}
	}
}
