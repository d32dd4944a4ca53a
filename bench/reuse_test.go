package bench

import (
	"os"
	"strings"
	"testing"
)

// TestReuse checks that every run of the benchmark has the bytes of a full run, and what the runs compute. How
// much is kept depends on the time that Map takes, so only the upper bounds are certain.
func TestReuse(t *testing.T) {
	if _, err := cpuOf(os.Getpid()); err != nil {
		t.Skip(err)
	}
	r, err := Reuse(t.Context(), ReuseConfig{Dir: t.TempDir(), Files: 20, Bytes: 200_000, Keys: 10, Slots: 2, Rounds: 1})
	if err != nil {
		t.Fatal(err)
	}
	if r.Bytes != 4_000_000 || len(r.Cases) != 6 || r.KeptBytes == 0 {
		t.Errorf("got %+v", r)
	}
	for _, one := range r.Cases {
		if n := len(one.Label); n == 0 || n > 12 { // the chart has no room for more
			t.Errorf("label %q", one.Label)
		}
		if one.Computed > one.Partitions || one.Partitions < 20 || one.Partitions > 22 || one.Wall <= 0 {
			t.Errorf("got %+v", one)
		}
	}
	var table strings.Builder
	if r.Table(&table); !strings.Contains(table.String(), "one file inserted in the middle\t22\t") {
		t.Errorf("got the table\n%s", table.String())
	}
	if f := r.Figure(); len(f.Panels[0].Rows) != 12 {
		t.Errorf("got %+v", f)
	}
}
