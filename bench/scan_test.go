package bench

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/bellwether-compute/bellwether/bench/internal/manykeys"
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

// TestGroupByHand checks that the loop writes the same rows with any number of goroutines, and that lines differ if a row does.
func TestGroupByHand(t *testing.T) {
	input, output := filepath.Join(t.TempDir(), "keys.csv"), filepath.Join(t.TempDir(), "groups.csv")
	if _, err := manykeys.Write(input, 3000); err != nil {
		t.Fatal(err)
	}
	var want manykeys.Lines
	for _, slots := range []int{1, 3} {
		if err := groupByHand(input, output, slots); err != nil {
			t.Fatal(err)
		}
		got, err := manykeys.Read(output)
		if err != nil || got.Count != 3000 || slots > 1 && got != want {
			t.Errorf("%d goroutines: got %+v, %v, want %+v", slots, got, err, want)
		}
		want = got
	}
	text, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)-2]++
	if err := os.WriteFile(output, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := manykeys.Read(filepath.Dir(output)); err != nil || got == want || got.Count != 3000 {
		t.Errorf("another row: got %+v, %v", got, err)
	}
}
