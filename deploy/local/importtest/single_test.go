package importtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../../.."

var single = regexp.MustCompile(`(?m)^SINGLE :=((?:.*\\\n)*.*)$`)

// TestSinglePackages checks that the packages that the Makefile tests only without the race detector
// start no goroutine.
func TestSinglePackages(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	list := single.FindSubmatch(makefile)
	if list == nil {
		t.Fatal("the Makefile has no list SINGLE")
	}
	folders := strings.Fields(strings.ReplaceAll(string(list[1]), "\\\n", " "))
	if len(folders) < 5 {
		t.Errorf("SINGLE is %q, want at least 5 packages", folders)
	}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Errorf("%s has %d files: %v", folder, len(files), err)
		}
		for _, name := range files {
			if !strings.HasSuffix(name, "_test.go") {
				startsNone(t, name)
			}
		}
	}
}

// startsNone fails the test if a file has a go statement or imports a package that starts goroutines for it.
func startsNone(t *testing.T, name string) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range file.Imports {
		if path := spec.Path.Value; path == `"sync"` || path == `"golang.org/x/sync/errgroup"` {
			t.Errorf("%v: imports %s, which starts goroutines", set.Position(spec.Pos()), path)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if _, ok := n.(*ast.GoStmt); ok {
			t.Errorf("%v: starts a goroutine", set.Position(n.Pos()))
		}
		return true
	})
}
