package scan

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/bench/peers/report"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTables(t *testing.T) {
	r := Result{Rows: 1000, Cores: 2, Rounds: 2, Systems: []Runs{
		{Bellwether, "Bellwether 1", report.Figures{1, 2}, report.Figures{2, 2}},
		{"DuckDB", "DuckDB v1", report.Figures{3, 3}, report.Figures{1, 1}},
	}}
	var text strings.Builder
	for _, table := range r.Tables() {
		if err := table.Text(&text); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"1,000 rows of CSV, 500 of Parquet", "DuckDB            3                2.25                    1                    0.5\n", "DuckDB v1", "2 threads, 2 rounds"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in\n%s", want, text.String())
		}
	}
}

func TestResultsAreCompared(t *testing.T) {
	want, err := tableOf([][4]any{{"a", 1.0, "2.00000000000001", "3"}, {"b", "1", 2.0, 3.0}})
	if err != nil {
		t.Fatal(err)
	}
	if err := want.equal(table{"a": {1, 2, 3}, "b": {1, 2, 3}}); err != nil {
		t.Error(err)
	}
	for name, other := range map[string]table{
		"keys": {"a": {1, 2, 3}}, "another key": {"a": {1, 2, 3}, "c": {1, 2, 3}},
		"minimum": {"a": {1.1, 2, 3}, "b": {1, 2, 3}}, "mean": {"a": {1, 2.1, 3}, "b": {1, 2, 3}}, "maximum": {"a": {1, 2, 3.1}, "b": {1, 2, 3}},
	} {
		if err := want.equal(other); err == nil {
			t.Errorf("%s: another table counts as equal", name)
		}
	}
	if _, err := tableOf(nil); err == nil {
		t.Error("a result without rows is accepted")
	}
	if _, err := tableOf([][4]any{{"a", nil, 2.0, 3.0}}); err == nil {
		t.Error("a row without a number is accepted")
	}
}

func TestWriteRows(t *testing.T) {
	name := filepath.Join(t.TempDir(), "m.csv")
	if err := writeRows(t.Context(), name, 1000); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil || strings.Count(string(text), "\n") != 1001 || !strings.HasPrefix(string(text), "station;temperature\nStation ") {
		t.Errorf("got %.60q, %v", text, err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := writeRows(cancelled, name, 1000); err == nil {
		t.Error("a cancelled benchmark writes on")
	}
}
