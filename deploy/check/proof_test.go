package check

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// proof is the page with the commands that check the README's promises.
const proof = "bench/PROOF.md"

// firstCommit is the first commit of the project. A checkout that contains it has the whole history.
const firstCommit = "f0dc7ceab172a35359a937f3bf77040863e4e813"

// TestTargets checks that the Makefile has the targets that the documents name.
func TestTargets(t *testing.T) {
	makefile := read(t, filepath.Join(root, "Makefile"))
	target := regexp.MustCompile("`make ([a-z][a-z0-9-]*)")
	named := 0
	for _, doc := range documentFiles {
		for _, match := range target.FindAllStringSubmatch(read(t, filepath.Join(root, doc)), -1) {
			if !regexp.MustCompile(`(?m)^([a-z0-9-]+ )*` + match[1] + `( [a-z0-9-]+)*:`).MatchString(makefile) {
				t.Errorf("%s: the Makefile has no target %s", doc, match[1])
			}
			named++
		}
	}
	if named == 0 {
		t.Error("the documents name no target")
	}
}

// TestProofMessages checks that programs and tests contain the messages in the last two columns of the
// promises, and that the tests exist that have found defects.
func TestProofMessages(t *testing.T) {
	code := goFiles(t)
	message := regexp.MustCompile("`([^`]+)`")
	messages := 0
	for _, cells := range rows(t, 6) {
		for _, match := range message.FindAllStringSubmatch(cells[4]+cells[5], -1) {
			for part := range strings.SplitSeq(match[1], "…") {
				if part = strings.Trim(part, ", :;()"); !strings.Contains(code, part) {
					t.Errorf("%s: no Go file contains %q of the message %q", proof, part, match[1])
				}
			}
			messages++
		}
	}
	if messages == 0 {
		t.Errorf("%s has no messages", proof)
	}
	for _, cells := range rows(t, 4) {
		if finder := cells[0]; finder != "simulator" && finder != "chaos" && !strings.Contains(code, "\nfunc "+finder+"(") {
			t.Errorf("%s: there is no test %s", proof, finder)
		}
	}
}

// TestProofCommits checks that the history contains the commits that have fixed defects. A shallow clone does not
// have the history, and an archive has none. There only the form of the hashes is checked.
func TestProofCommits(t *testing.T) {
	hash := regexp.MustCompile(`^[0-9a-f]{8}$`)
	whole := contains(firstCommit) == nil
	defects := rows(t, 4)
	for _, cells := range defects {
		if commit := cells[3]; !hash.MatchString(commit) {
			t.Errorf("%s: %q is no abbreviated hash of 8 digits", proof, commit)
		} else if err := contains(commit); whole && err != nil {
			t.Errorf("%s: commit %s is not in the history: %v", proof, commit, err)
		}
	}
	if len(defects) == 0 {
		t.Errorf("%s lists no defects", proof)
	}
}

// contains returns an error if the checked out history does not contain the commit.
func contains(commit string) error {
	return run("git", "-C", root, "merge-base", "--is-ancestor", commit, "HEAD")
}

// rows returns the cells of the table of [proof] that has the number of columns, without its head.
func rows(t *testing.T, columns int) (rows [][]string) {
	t.Helper()
	for line := range strings.Lines(read(t, filepath.Join(root, proof))) {
		cells := strings.Split(strings.Trim(line, "|\n"), "|")
		if !strings.HasPrefix(line, "|") || len(cells) != columns {
			continue
		}
		for i, cell := range cells {
			cells[i] = strings.TrimSpace(cell)
		}
		rows = append(rows, cells)
	}
	if len(rows) < 3 {
		t.Fatalf("%s has no table of %d columns", proof, columns)
	}
	return rows[2:]
}

// goFiles returns the text of all Go files of the repository.
func goFiles(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		data, err := os.ReadFile(path)
		text.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return text.String()
}
