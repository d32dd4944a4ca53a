// Package importtest contains a test helper that checks the source files of a package: their
// imports, the imported names that they use, and that they start no goroutines. The helper checks
// the state machines of Bellwether (ledger, term, session, election), which may not use clocks or
// sockets.
//
// Package importtest is only for Bellwether's own tests. The package is in deploy/local, beside
// other test helpers that all packages share. Package importtest is not in an internal folder,
// because only a folder at the top level would allow every package to import it.
package importtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Module is the path of this module, followed by a slash.
const Module = "github.com/bellwether-compute/bellwether/"

// Rules lists what the files of a package may use. The rules always forbid goroutines, channels and
// select.
type Rules struct {
	// Allowed contains each import path that is allowed. The value for an import path lists the
	// names of the imported package that may be used; nil allows all names. Imports may not be
	// renamed in the checked files.
	Allowed map[string][]string

	// NoMaps forbids map types, because their iteration order is random.
	NoMaps bool

	// Files is the minimum number of files to check. Without this minimum, the check would pass if
	// the package's files were moved.
	Files int
}

// Check fails the test for each violation of the rules in the current directory's files, except
// test files. The current directory of a test is its package's directory.
func Check(t testing.TB, rules Rules) {
	t.Helper()
	violations, err := check(".", rules)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range violations {
		t.Error(v)
	}
}

func check(dir string, rules Rules) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	c := checker{rules: rules, set: token.NewFileSet()}
	var files []*ast.File
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(c.set, filepath.Join(dir, e.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	if len(files) < max(1, rules.Files) {
		return nil, fmt.Errorf("check imports: found %d files, want at least %d", len(files), max(1, rules.Files))
	}
	for _, file := range files {
		c.file(file)
	}
	return c.violations, nil
}

type checker struct {
	rules      Rules
	set        *token.FileSet
	violations []string
}

func (c *checker) violation(at ast.Node, format string, args ...any) {
	c.violations = append(c.violations, fmt.Sprintf("%v: ", c.set.Position(at.Pos()))+fmt.Sprintf(format, args...))
}

func (c *checker) file(file *ast.File) {
	uses := map[string][]string{} // allowed names of each imported package
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value) // the parser has already checked the literal
		names, ok := c.rules.Allowed[path]
		if !ok || spec.Name != nil {
			c.violation(spec, "imports %s", spec.Path.Value)
		}
		base := strings.TrimSuffix(path, "/v2")
		uses[base[strings.LastIndex(base, "/")+1:]] = names
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			c.violation(n, "starts a goroutine")
		case *ast.ChanType, *ast.SelectStmt, *ast.SendStmt:
			c.violation(n, "uses a channel")
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				c.violation(n, "receives from a channel")
			}
		case *ast.MapType:
			if c.rules.NoMaps {
				c.violation(n, "uses a map, whose order is random")
			}
		case *ast.SelectorExpr:
			pkg, ok := n.X.(*ast.Ident)
			if ok && uses[pkg.Name] != nil && !slices.Contains(uses[pkg.Name], n.Sel.Name) {
				c.violation(n, "uses %s.%s", pkg.Name, n.Sel.Name)
			}
		}
		return true
	})
}
