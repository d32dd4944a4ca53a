// Package fleettest builds the bellwether program for tests.
package fleettest

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const module = "github.com/bellwether-compute/bellwether"

// Program builds the bellwether program from the source code of this repository and returns the
// program's path.
func Program(t testing.TB) string {
	t.Helper()
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		t.Fatalf("find module %s: %v", module, err)
	}
	path := filepath.Join(t.TempDir(), "bellwether")
	build := exec.Command("go", "build", "-o", path, "./cmd/bellwether")
	build.Dir = strings.TrimSpace(string(root)) // the go.mod in this directory selects the dependency versions
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build bellwether: %v\n%s", err, out)
	}
	return path
}
