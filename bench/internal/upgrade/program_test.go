//go:build unix

package upgrade

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// earlier is the version with which this one is tested as long as no version has a tag. It has rounds, kmeans and the reuse
// of partials in a cluster.
const earlier = "63b9b7fb35d495990adc22181e5157a292bba870"

// program is the program of one version.
type program struct {
	t       *testing.T
	version string // commit or tag, or "this tree"
	path    string
}

// this builds the program of this tree.
func this(t *testing.T) program {
	p := program{t, "this tree", filepath.Join(t.TempDir(), "later")}
	command(t, "../../..", "go", "build", "-o", p.path, "./cmd/bellwether")
	return p
}

// before builds the program of the earlier version from its commit.
func before(t *testing.T) program {
	version := earlier
	if tag, err := exec.Command("git", "describe", "--tags", "--abbrev=0", "HEAD^").Output(); err == nil {
		version = strings.TrimSpace(string(tag))
	}
	if exec.Command("git", "cat-file", "-e", version+"^{commit}").Run() != nil {
		t.Fatalf("the earlier version, commit %s, is not in this clone, which may be shallow: run 'git fetch --unshallow --tags' or, for this commit alone, 'git fetch --depth=1 origin %[1]s'", version)
	}
	dir := t.TempDir()
	source, archive := filepath.Join(dir, "source"), filepath.Join(dir, "source.tar")
	if err := os.Mkdir(source, 0o700); err != nil {
		t.Fatal(err)
	}
	command(t, "../../..", "git", "archive", "-o", archive, version)
	command(t, source, "tar", "-xf", archive)
	p := program{t, version, filepath.Join(dir, "earlier")}
	command(t, source, "go", "build", "-trimpath", "-buildvcs=false", "-o", p.path, "./cmd/bellwether")
	return p
}

func command(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(c.Args, " "), err, out)
	}
}

// ask runs a command and decodes its output.
func (p program) ask(answer any, args ...string) error {
	c := exec.CommandContext(p.t.Context(), p.path, append(args, "-o", "json")...)
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		return &failed{p.version, args, strings.TrimSpace(errs.String()), err}
	}
	return json.Unmarshal(out, answer)
}

// must runs a command that has to succeed.
func (p program) must(answer any, args ...string) {
	p.t.Helper()
	if err := p.ask(answer, args...); err != nil {
		p.t.Fatal(err)
	}
}

// failed is the error of a command.
type failed struct {
	version string
	args    []string
	text    string
	err     error
}

func (f *failed) Error() string {
	return f.version + ": bellwether " + strings.Join(f.args, " ") + ": " + f.err.Error() + "\n" + f.text
}
