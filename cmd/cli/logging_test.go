package cli_test

import (
	"bufio"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestIdleClusterLogsNothing watches the log of a cluster without jobs, while it exchanges reports, beacons and pings and
// renews the lease at least twice. A busy machine may stall a process, which the others then log, once.
func TestIdleClusterLogsNothing(t *testing.T) {
	t.Parallel()
	c := newTestCluster(t, onJetStream, 3)
	c.finish(c.submit("n=100"), "n=100")
	logged, since := "", time.Now()
	c.until("nothing is logged for 7 seconds", func() bool {
		if output := c.output.String(); output != logged {
			logged, since = output, time.Now()
		}
		return time.Since(since) > 7*time.Second
	})
}

// TestLogHasChanges checks the log of a cluster that runs a job whose leader is killed, and a job
// that fails.
func TestLogHasChanges(t *testing.T) {
	t.Parallel()
	c := newTestCluster(t, onJetStream, 2)
	id := c.submitHeld(jobParams...)
	c.awaitDone(id, partitions/10)
	c.kill(c.process(c.leader().PID))
	c.finish(id, jobParams...)
	bad := c.submit("n=10", "width=10", "fail=no such luck")
	c.until("the job has failed", func() bool {
		var s statusAnswer
		c.do(&s, "status", bad)
		return s.State == "failed"
	})
	for _, line := range []string{
		`level=INFO msg=Leading .*epoch=1 cause=first`,
		`msg="Worker joined" .*epoch=1 worker=\S+`,
		`msg="Job started" .*epoch=1 job=` + id + ` kind=squares`,
		`msg="Job planned" .*epoch=1 job=` + id + ` partitions=400`,
		`msg="Leader seems dead" .*epoch=1 leader=\S+ cause=died detect=\S+`,
		`msg=Leading .*epoch=2 cause=died predecessor=\S+ detect=\S+ elect=\S+`,
		`msg="Job resumed" .*epoch=2 job=` + id + ` kind=squares partitions=400`,
		`msg="Job ended" .*epoch=2 job=` + id + ` state=completed`,
		`msg="Partition 0 failed.*no such luck.*job=` + bad,
		`msg="Job ended" .*job=` + bad + ` state=failed error=".*no such luck`,
	} {
		like := regexp.MustCompile(line)
		c.until("the log has "+line, func() bool { return like.MatchString(c.output.String()) }) // storage may show the state before the log does
	}
}

// TestLogIsJSON expects JSON by default if standard error is not a terminal.
func TestLogIsJSON(t *testing.T) {
	t.Parallel()
	output := newTestOutput(t)
	worker := startWorker(t, output, "--nats", "nats://127.0.0.1:1", "--http", "127.0.0.1:0")
	output.await(regexp.MustCompile(`("Serving health and metrics")`))
	stopWorker(t, worker)
	lines := bufio.NewScanner(strings.NewReader(output.String()))
	n := 0
	for ; lines.Scan(); n++ {
		var line struct{ Msg, Self string }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil || line.Msg == "" || line.Self == "" {
			t.Errorf("%v in %s", err, lines.Text())
		}
	}
	if n == 0 {
		t.Error("the log of a worker is empty")
	}
}

// TestLogKeysAreDocumented compares the keys of all log lines in the source with the table
// in the documentation of this package.
func TestLogKeysAreDocumented(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, logs, _ := strings.Cut(string(doc), "// # Logs")
	logs, _, _ = strings.Cut(logs, "// # Errors")
	var documented []string
	for _, row := range regexp.MustCompile(`(?m)^//\t(\w+) `).FindAllStringSubmatch(logs, -1) {
		documented = append(documented, row[1])
	}
	if !slices.IsSorted(documented) {
		t.Error("the table is not in alphabetical order")
	}
	used := logKeys(t, filepath.Join("..", ".."))
	for key, where := range used {
		if !slices.Contains(documented, key) {
			t.Errorf("%v: key %q is not documented", where, key)
		}
	}
	for _, key := range documented {
		if _, ok := used[key]; !ok {
			t.Errorf("key %q is documented and nothing logs it", key)
		}
	}
}

// logKeys returns the keys of the log lines in the program's source, with a position of
// each.
func logKeys(t *testing.T, root string) map[string]token.Position {
	t.Helper()
	files := token.NewFileSet()
	keys := make(map[string]token.Position)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") && path != root || entry.Name() == "bench"):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			for i := firstKey(call); i >= 0 && i < len(call.Args); i += 2 {
				if key, ok := call.Args[i].(*ast.BasicLit); ok && key.Kind == token.STRING {
					text, err := strconv.Unquote(key.Value)
					if err != nil {
						t.Fatal(err)
					}
					if text != "" { // the ledger logs a worker and a job only if they are set
						keys[text] = files.Position(key.Pos())
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(keys) < 20 {
		t.Fatalf("found only %d keys", len(keys))
	}
	return keys
}

// firstKey returns the index of the first key among a call's arguments, or -1 if the call
// does not log.
func firstKey(call *ast.CallExpr) int {
	name := ""
	switch c := call.Fun.(type) {
	case *ast.SelectorExpr:
		name = c.Sel.Name
	case *ast.Ident:
		name = c.Name
	}
	first := map[string]int{"Debug": 1, "Info": 1, "Warn": 1, "Error": 1, "log": 1, "With": 0, "complain": 2, "append": 1}
	i, ok := first[name]
	if !ok || name == "append" && (len(call.Args) == 0 || !isNamed(call.Args[0], "attrs")) {
		return -1
	}
	return i
}

func isNamed(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}
