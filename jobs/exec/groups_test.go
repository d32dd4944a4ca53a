package exec

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestGroups adds and removes groups, more than firstGroups at a time, and compares the file with a set.
func TestGroups(t *testing.T) {
	folder := t.TempDir()
	g, err := newGroups(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer g.file.Close()
	random := rand.New(rand.NewPCG(1, 2))
	running := map[int]bool{}
	for i := range 5000 {
		group := 2 + random.IntN(2*firstGroups+i)
		if running[group] {
			g.remove(group)
			delete(running, group)
		} else {
			g.add(group)
			running[group] = true
		}
		if i%100 > 0 {
			continue
		}
		file, err := os.Open(filepath.Join(folder, groupsName))
		if err != nil {
			t.Fatal(err)
		}
		got := readGroups(file)
		_ = file.Close()
		slices.Sort(got)
		var want []int
		for group := range running {
			want = append(want, group)
		}
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("after %d changes: got %v, want %v", i+1, got, want)
		}
	}
	if len(running) <= firstGroups {
		t.Errorf("at most %d groups were running, want more than %d", len(running), firstGroups)
	}
	g.remove(1 << 30) // an unknown group is ignored
}
