package bench

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/primes"
)

func TestTracesRecordExecutions(t *testing.T) {
	dir := t.TempDir()
	job := jobs.MustNew(Traced(primes.Definition, dir))
	params, err := job.Params(nil, "limit=1000", "width=100")
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	traced, err := jobs.Local{Slots: 3}.Run(t.Context(), job, params)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := jobs.Local{}.Run(t.Context(), jobs.MustNew(primes.Definition), params)
	if err != nil {
		t.Fatal(err)
	}
	if string(traced.Result) != string(plain.Result) {
		t.Errorf("with traces the result is %s, want %s", traced.Result, plain.Result)
	}

	name := filepath.Join(dir, "99999999") // file of another process, which was killed while it wrote a record
	if err := os.WriteFile(name, make([]byte, executionSize+3), 0o600); err != nil {
		t.Fatal(err)
	}
	executions, err := readTraces(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(executions) != 11 || executions[0].pid != 99999999 {
		t.Fatalf("got %v, want 10 executions of this process and one of another before them", executions)
	}
	seen := make(map[uint64]bool)
	for _, e := range executions[1:] {
		seen[e.partition] = true
		if e.pid != os.Getpid() || e.at.Before(began) || e.at.After(time.Now()) {
			t.Errorf("got execution %+v, want a recent one of this process", e)
		}
	}
	if len(seen) != 10 {
		t.Errorf("%d partitions were executed, want all 10", len(seen))
	}
}

func TestReadTracesRefusesOtherFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "notes"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readTraces(dir); err == nil {
		t.Error("a file that is no trace: got no error")
	}
}
