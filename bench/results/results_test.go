package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAssembleJoinsTheSectionsThatThereAre(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "results"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"peers", "scale", "failover-kill", "other"} {
		if err := os.WriteFile(filepath.Join(dir, "results", name+".md"), []byte("## "+name+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := assemble(dir); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "RESULTS.md"))
	if err != nil {
		t.Fatal(err)
	}
	if want := head + "\n## failover-kill\n\n## scale\n\n## peers\n"; string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestRenewRefusesUnknownSections(t *testing.T) {
	t.Chdir(t.TempDir())
	err := renew(t.Context(), "nothing", false, []string{"weather"})
	if err == nil || !strings.Contains(err.Error(), `no section "weather"`) {
		t.Errorf("got %v", err)
	}
}
