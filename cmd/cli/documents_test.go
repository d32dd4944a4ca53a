package cli_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/dataset/output"
)

var documents = flag.Int("documents", 300, "number of documents of TestDocumentsUnderKills, of which each hundredth is broken")

// TestDocumentsUnderKills converts documents with a program, a call each, while a worker and the leader are killed.
// Each good document must be in the output once, each broken one must be named with what the program said about it, and
// the folder must contain nothing else. When their cause is repaired, a retry converts only the broken ones, and the output has
// each document once.
func TestDocumentsUnderKills(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in, folder := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	if err := os.Mkdir(in, 0o700); err != nil {
		t.Fatal(err)
	}
	broken := 0
	for i := range *documents {
		text := fmt.Sprintf("text of document %d\n", i)
		if i%100 == 42 {
			text, broken = "broken\n", broken+1
		}
		if err := os.WriteFile(filepath.Join(in, fmt.Sprintf("%06d.txt", i)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	calls, repaired := filepath.Join(dir, "calls"), filepath.Join(dir, "repaired")
	command, err := json.Marshal([]string{"sh", "-c", `echo "$1" >> "$2"; [ ! -e "$3" ] && grep -q broken "$1" && { echo reading >&2; echo "cannot parse $1" >&2; exit 1; }; tr a-z A-Z < "$1" > "$BELLWETHER_OUT/$1"`, "sh", "{}", calls, repaired})
	if err != nil {
		t.Fatal(err)
	}
	c := newTestCluster(t, onJetStream, 3, "--allow", "exec", "--files", dir)
	var submitted struct {
		ID string `json:"id"`
	}
	c.do(&submitted, "submit", "exec", "-p", "command="+string(command), "-p", "input="+in+"/", "-p", "split=file", "-p", "output="+folder,
		"--max-attempts", "2", "--max-skipped", fmt.Sprint(broken))
	kills := 0
	for before, ended := uint64(0), false; !ended; {
		c.until("a document is done, or the job has ended", func() bool {
			var s statusAnswer
			c.do(&s, "status", submitted.ID)
			ended = s.State != "queued" && s.State != "running"
			moved := s.Done > before
			before = max(before, s.Done)
			return ended || moved
		})
		switch n := uint64(*documents); {
		case ended:
		case kills == 0 && before > n/10:
			c.kill(c.others(c.leader().PID)[0])
			kills++
		case kills == 1 && before > n/3:
			c.kill(c.process(c.leader().PID))
			kills++
		}
	}
	var got outcomeAnswer
	if status := c.ask(&got, "result", submitted.ID); status != 0 || got.State != "completed" {
		t.Fatalf("status %d, %+v", status, got)
	}
	checkDocuments(t, c, submitted.ID, broken, broken)
	c.until("only the objects of the output are left", func() bool { // a lost attempt may still remove its object
		names, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		return len(names) == *documents-broken+1
	})
	if kills < 2 {
		t.Errorf("the job ended after %d kills, want 2", kills)
	}
	t.Logf("%d documents, %d broken, %d repeated, %d leaders", *documents, broken, got.Repeated, len(got.Epochs))
	for _, name := range []string{repaired, calls} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	retryDocuments(t, c, submitted.ID, broken, calls)
}

// retryDocuments retries a job that has skipped broken documents and removes the job. It checks that the retry has called the
// program for these only, and has completed the output.
func retryDocuments(t *testing.T, c *testCluster, id string, broken int, calls string) {
	t.Helper()
	if status, _, errs := c.run("result", id); status != 0 || !strings.Contains(errs, "retry "+id+"' computes only these") {
		t.Errorf("result: status %d, %s", status, errs)
	}
	var retried struct {
		ID string `json:"id"`
	}
	c.do(&retried, "retry", id)
	var ended []statusAnswer
	c.do(&ended, "wait", retried.ID)
	var got outcomeAnswer
	if status := c.ask(&got, "result", retried.ID); status != 0 || got.State != "completed" {
		t.Fatalf("status %d, %+v", status, got)
	}
	if status, _, errs := c.run("remove", id); status != 0 {
		t.Fatal(errs)
	}
	checkDocuments(t, c, retried.ID, broken, 0)
	log, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	called := map[string]bool{}
	for name := range strings.FieldsSeq(string(log)) {
		called[name] = true
		if !strings.HasSuffix(name, "42.txt") {
			t.Errorf("the retry has called the program for %s, which was not broken", name)
		}
	}
	if len(called) != broken {
		t.Errorf("the retry has called the program for %d documents, want the %d broken ones", len(called), broken)
	}
	if status, _, errs := c.run("retry", retried.ID); status != 2 || !strings.Contains(errs, "has skipped nothing") {
		t.Errorf("retry of a whole job: status %d, %s", status, errs)
	}
}

// checkDocuments checks what the command output says about the documents, of which the given numbers are broken and missing.
func checkDocuments(t *testing.T, c *testCluster, id string, broken, missing int) {
	t.Helper()
	var list struct {
		output.Manifest
		Failed []struct{ Item, Error string }
	}
	c.do(&list, "output", id)
	if len(list.Failed) != missing || len(list.Objects) != *documents-missing {
		t.Fatalf("%d documents failed, %d objects; want %d and %d", len(list.Failed), len(list.Objects), missing, *documents-missing)
	}
	copied := filepath.Join(t.TempDir(), "copy")
	if status, _, errs := c.run("output", id, "--copy", copied); status != 0 {
		t.Fatal(errs)
	}
	for _, p := range list.Objects {
		name := filepath.Base(p.Item)
		content, err := os.ReadFile(filepath.Join(copied, name))
		var i int
		_, scanErr := fmt.Sscanf(name, "%06d.txt", &i)
		want := fmt.Sprintf("TEXT OF DOCUMENT %d\n", i)
		if missing < broken && i%100 == 42 {
			want = "BROKEN\n"
		}
		if err != nil || scanErr != nil || p.Path != name || string(content) != want {
			t.Errorf("item %s, file %s: %q, %v", p.Item, p.Path, content, err)
		}
	}
	for i, f := range list.Failed { // in the order of the documents
		name := fmt.Sprintf("%06d.txt", 100*i+42)
		if filepath.Base(f.Item) != name || !strings.Contains(f.Error, "exit status 1: cannot parse "+name) || !strings.Contains(f.Error, "\nreading\n") {
			t.Errorf("document %s: got the item %s, %q", name, f.Item, f.Error)
		}
	}
}
