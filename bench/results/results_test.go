package main

import (
	"os"
	"path/filepath"
	"runtime/debug"
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

func TestRevision(t *testing.T) {
	setting := func(key, value string) debug.BuildSetting { return debug.BuildSetting{Key: key, Value: value} }
	commit := setting("vcs.revision", "33dc182c0ffee33dc182c0ffee33dc182c0ffee1")
	for want, settings := range map[string][]debug.BuildSetting{
		"of an unknown revision":    nil,
		"33dc182c0ffe":              {commit, setting("vcs.modified", "false")},
		"33dc182c0ffe with changes": {commit, setting("vcs.modified", "true")},
	} {
		if got := revision(&debug.BuildInfo{Settings: settings}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// The program that is measured is a script here.
func TestRenewShowsTheCommandThatWasRun(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, folder := range []string{"bin", "bench/results"} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("bin/peers", []byte("#!/bin/sh\necho \"it was called $*\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := renew(t.Context(), "bin/bellwether", false, []string{peers}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("bench/RESULTS.md")
	if err != nil {
		t.Fatal(err)
	}
	if text := string(got); !strings.HasPrefix(text, head+"\n## Peers\n\n") || !strings.HasSuffix(text, "\n\nit was called -bellwether bin/bellwether -o markdown -rounds 3 all\n") {
		t.Errorf("got\n%s", text)
	}
}
