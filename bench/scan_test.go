package bench

import (
	"os"
	"path/filepath"
	"testing"
)

// TestScan checks that the loop and the scan compute the same result for any number of slots.
func TestScan(t *testing.T) {
	if _, err := cpuOf(os.Getpid()); err != nil {
		t.Skip(err)
	}
	for between, slots := range []int{1, 3, 7} {
		file := filepath.Join(t.TempDir(), "m.csv")
		r, err := Scan(t.Context(), ScanConfig{File: file, Rows: 150_000, Between: between, Slots: slots, Rounds: 1})
		if err != nil || r.Keys != stations || r.Rows != 150_000 {
			t.Errorf("%d slots: got %+v, %v, want %d keys", slots, r, err, stations)
		}
		if _, err := os.Stat(file); !os.IsNotExist(err) {
			t.Errorf("the file is still there: %v", err)
		}
	}
}
