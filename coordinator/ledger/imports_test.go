package ledger

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

// TestImports holds the ledger to what it may know: no clock, no chance, no I/O,
// no goroutine. Of the store it uses the records alone, and the store's package
// brings no driver with it.
func TestImports(t *testing.T) {
	const module = "github.com/bellwether-compute/bellwether/"
	allowed := map[string][]string{ // import, and what may be used of it; nil is anything
		"cmp": nil, "errors": nil, "fmt": {"Append", "Sprint", "Sprintf", "Errorf"}, "iter": nil, "maps": {"Keys", "Values"}, "math": nil, "math/bits": nil, "slices": nil,
		"time":                {"Duration", "Hour", "Minute", "Second", "Millisecond"},
		module + "jobs":       {"Span", "Node", "Tree", "NewTree", "Leaf", "MaxPartitions"},
		module + "jobs/store": {"Spec", "State", "Contributor", "Attempt", "Suspect", "Running", "Completed", "Failed", "Cancelled", "MaxSkipped"},
		module + "jobs/wire":  nil,
	}
	names, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for _, name := range names {
		if !strings.HasSuffix(name.Name(), ".go") || strings.HasSuffix(name.Name(), "_test.go") {
			continue
		}
		files++
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		uses := map[string][]string{}
		for _, spec := range file.Imports {
			path, _ := strconv.Unquote(spec.Path.Value)
			use, ok := allowed[path]
			if !ok || spec.Name != nil {
				t.Errorf("%s imports %s", name.Name(), spec.Path.Value)
			}
			uses[path[strings.LastIndex(path, "/")+1:]] = use
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt, *ast.ChanType, *ast.SelectStmt, *ast.SendStmt:
				t.Errorf("%v: the ledger is one goroutine's", set.Position(n.Pos()))
			case *ast.SelectorExpr:
				pkg, ok := n.X.(*ast.Ident)
				if ok && uses[pkg.Name] != nil && !slices.Contains(uses[pkg.Name], n.Sel.Name) {
					t.Errorf("%v: uses %s.%s", set.Position(n.Pos()), pkg.Name, n.Sel.Name)
				}
			}
			return true
		})
	}
	if files < 10 {
		t.Errorf("looked at %d files only", files)
	}
}
