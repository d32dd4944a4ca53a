// Package importtest checks in a test what the source files of a package import, which
// names of an import they use, and that they start no goroutine. The state machines of
// Bellwether (ledger, term, session, election) are tested this way: code that cannot
// import a package cannot use what the package provides, such as clocks and sockets.
//
// The package is for Bellwether's own tests. It lies under deploy/local, beside other
// helpers that the tests of every package share. An internal folder that every package
// may import would have to be at the top level.
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

// Rules say what the files of a package may use. Goroutines, channels and select
// are always refused.
type Rules struct {
	// Allowed has each import path that may be imported. The map's value lists the
	// names that may be used of the imported package; nil allows all names. Imports may
	// not be renamed.
	Allowed map[string][]string

	// Exempt lists files that the rules do not cover, such as the file with a state
	// machine's clocks and sockets. The other files may not use names that exempt files
	// declare.
	Exempt []string

	// NoMaps refuses map types, whose iteration order is random.
	NoMaps bool

	// Files is the minimum number of files to check. If the package's files were moved
	// elsewhere, the check then fails instead of passing without files.
	Files int
}

// Check fails the test for each violation of the rules by the files, other than tests,
// in the current directory. The current directory of a test is its package's directory.
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
	c := checker{rules: rules, set: token.NewFileSet(), exempt: map[string]bool{}}
	var files []*ast.File
	exempt := 0
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(c.set, filepath.Join(dir, e.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(rules.Exempt, e.Name()) {
			files = append(files, file)
			continue
		}
		exempt++
		for _, name := range declared(file) {
			c.exempt[name] = true
		}
	}
	if len(files) < max(1, rules.Files) {
		return nil, fmt.Errorf("check imports: found %d files, want at least %d", len(files), max(1, rules.Files))
	}
	if exempt < len(rules.Exempt) {
		return nil, fmt.Errorf("check imports: found %d of %d exempt files", exempt, len(rules.Exempt))
	}
	for _, file := range files {
		c.file(file)
	}
	return c.violations, nil
}

type checker struct {
	rules      Rules
	set        *token.FileSet
	exempt     map[string]bool // names that exempt files declare
	violations []string
}

func (c *checker) violation(at ast.Node, format string, args ...any) {
	c.violations = append(c.violations, fmt.Sprintf("%v: ", c.set.Position(at.Pos()))+fmt.Sprintf(format, args...))
}

func (c *checker) file(file *ast.File) {
	uses := map[string][]string{} // the allowed names, by the name of the imported package
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value) // the parser has checked the literal
		names, ok := c.rules.Allowed[path]
		if !ok || spec.Name != nil {
			c.violation(spec, "imports %s", spec.Path.Value)
		}
		base := strings.TrimSuffix(path, "/v2")
		uses[base[strings.LastIndex(base, "/")+1:]] = names
	}
	members := map[*ast.Ident]bool{} // fields and methods, which may share a name with a declaration
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
		case *ast.FuncDecl:
			members[n.Name] = n.Recv != nil
		case *ast.SelectorExpr:
			members[n.Sel] = true
			pkg, ok := n.X.(*ast.Ident)
			if ok && uses[pkg.Name] != nil && !slices.Contains(uses[pkg.Name], n.Sel.Name) {
				c.violation(n, "uses %s.%s", pkg.Name, n.Sel.Name)
			}
		case *ast.Ident:
			if c.exempt[n.Name] && !members[n] {
				c.violation(n, "uses %s, which an exempt file declares", n.Name)
			}
		}
		return true
	})
}

// declared returns the names that a file adds to its package.
func declared(file *ast.File) []string {
	var names []string
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil {
				names = append(names, decl.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					names = append(names, spec.Name.Name)
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						names = append(names, name.Name)
					}
				}
			}
		}
	}
	return names
}
