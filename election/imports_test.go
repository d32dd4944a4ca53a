package election

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// shellFiles may use clocks, goroutines and what drivers offer. All other files
// are the machine's.
var shellFiles = []string{"lease.go", "peers.go", "perform.go", "run.go", "term.go", "trust.go"}

// TestImports holds the machine to what it may know: no clock, no chance but what
// it was given, no I/O, no goroutine, no map, and nothing of its shell.
func TestImports(t *testing.T) {
	allowed := map[string][]string{ // import, and what may be used of it; nil is anything
		"errors": nil, "fmt": {"Errorf", "Sprintf"}, "log/slog": {"Logger", "New", "DiscardHandler"},
		"math": nil, "math/rand/v2": {"Rand"}, "time": {"Duration", "Second", "Millisecond"},
		"github.com/bellwether-compute/bellwether/jobs/wire": nil,
	}
	names, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	parse := func(name string) *ast.File {
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	shell := map[string]bool{}
	for _, name := range shellFiles {
		for _, declared := range declaredBy(parse(name)) {
			shell[declared] = true
		}
	}
	files := 0
	for _, name := range names {
		if !strings.HasSuffix(name.Name(), ".go") || strings.HasSuffix(name.Name(), "_test.go") || slices.Contains(shellFiles, name.Name()) {
			continue
		}
		files++
		file := parse(name.Name())
		uses := map[string][]string{}
		for _, spec := range file.Imports {
			path, _ := strconv.Unquote(spec.Path.Value)
			use, ok := allowed[path]
			if !ok || spec.Name != nil {
				t.Errorf("%s imports %s", name.Name(), spec.Path.Value)
			}
			base := strings.TrimSuffix(path, "/v2")
			uses[base[strings.LastIndex(base, "/")+1:]] = use
		}
		members := map[*ast.Ident]bool{} // of types, whose names are not the package's
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt, *ast.ChanType, *ast.SelectStmt, *ast.SendStmt:
				t.Errorf("%v: the machine is one goroutine's", set.Position(n.Pos()))
			case *ast.MapType:
				t.Errorf("%v: a map has no order", set.Position(n.Pos()))
			case *ast.FuncDecl:
				members[n.Name] = n.Recv != nil
			case *ast.SelectorExpr:
				members[n.Sel] = true
				pkg, ok := n.X.(*ast.Ident)
				if ok && uses[pkg.Name] != nil && !slices.Contains(uses[pkg.Name], n.Sel.Name) {
					t.Errorf("%v: uses %s.%s", set.Position(n.Pos()), pkg.Name, n.Sel.Name)
				}
			case *ast.Ident:
				if shell[n.Name] && !members[n] {
					t.Errorf("%v: uses %s, which is the shell's", set.Position(n.Pos()), n.Name)
				}
			}
			return true
		})
	}
	if files < 10 || len(shell) < 8 {
		t.Errorf("looked at %d files and for %d names only", files, len(shell))
	}
}

// declaredBy returns what a file adds to its package's names.
func declaredBy(file *ast.File) []string {
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
