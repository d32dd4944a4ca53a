package scan

import (
	"context"
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/bench/peers/report"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTables(t *testing.T) {
	r := Result{Rows: 1000, Hits: 500, Groups: 70_000, Cores: 2, Rounds: 2, Systems: []Runs{
		{Bellwether, "Bellwether 1", report.Figures{1, 2}, report.Figures{2, 2}, []report.Figures{{1, 3}}, report.Figures{4, 5}},
		{"DuckDB", "DuckDB v1", report.Figures{3, 3}, report.Figures{1, 1}, []report.Figures{{2, 6}}, report.Figures{2, 10}},
	}}
	var text strings.Builder
	for _, table := range r.Tables() {
		if err := table.Text(&text); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{
		"1,000 rows of CSV, 500 of Parquet", "DuckDB            3                2.25                    1                    0.5\n", "DuckDB v1", "2 threads, 2 rounds", "1 queries: 500 rows of 105 columns", "0      2                          4                2\n",
		"by 70,000 keys", "DuckDB            6        1.25\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in\n%s", want, text.String())
		}
	}
}

func TestResultsAreCompared(t *testing.T) {
	q := query{compared: []int{1, 3}}
	answerOf := func(rows ...[]any) answer {
		a, err := q.answerOf(rows)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	want := answerOf([]any{"a", 1.0, "2.00000000000001"}, []any{"b", "1", 3.0})
	if err := want.equal(answerOf([]any{"b", 7, "3"}, []any{"a", 1, 2})); err != nil {
		t.Error(err)
	}
	for name, other := range map[string]answer{
		"a row is missing": answerOf([]any{"a", 1, 2}), "another key": answerOf([]any{"a", 1, 2}, []any{"c", 1, 3}), "another number": answerOf([]any{"a", 1, 2}, []any{"b", 1, 3.1}),
	} {
		if err := want.equal(other); err == nil {
			t.Errorf("%s: another result counts as equal", name)
		}
	}
	if err := (answer{}).equal(nil); err == nil {
		t.Error("results without rows are accepted")
	}
	if _, err := q.answerOf([][]any{{"a", 1}}); err == nil {
		t.Error("a row without a compared column is accepted")
	}
}

func TestWriteRows(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, write := range map[string]func(ctx context.Context, w io.Writer, rows uint64) error{"station;temperature\nStation ": writeRows, "WatchID,JavaEnable,Title,": writeHits} {
		var text strings.Builder
		if err := write(t.Context(), &text, 1000); err != nil {
			t.Fatal(err)
		}
		if strings.Count(text.String(), "\n") != 1001 || !strings.HasPrefix(text.String(), name) {
			t.Errorf("got %.60q", text.String())
		}
		if err := write(cancelled, &text, 1000); err == nil {
			t.Errorf("%s: a cancelled benchmark writes on", name)
		}
	}
}

func TestHitsQueries(t *testing.T) {
	list, err := hitsQueries("hits.csv")
	if err != nil || len(list) != 43 {
		t.Fatalf("got %d queries, %v, want 43", len(list), err)
	}
	for _, q := range list {
		for _, parameter := range q.parameters {
			if name, _, ok := strings.Cut(parameter, "="); !ok || strings.Contains(name, " ") {
				t.Errorf("%v: %q is no parameter", q, parameter)
			}
		}
	}
}
