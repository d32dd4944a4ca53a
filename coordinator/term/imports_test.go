package term

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

// TestImports holds a term to what it may touch: time, chance and the network
// come from its world alone, and nothing in it waits for another goroutine.
func TestImports(t *testing.T) {
	const module = "github.com/bellwether-compute/bellwether/"
	allowed := map[string][]string{ // import, and what may be used of it; nil is anything
		"context":       {"Context", "CancelFunc", "WithCancel", "Cause"},
		"crypto/sha256": nil, "encoding/hex": nil, "encoding/json": {"RawMessage"}, "errors": nil,
		"fmt": {"Sprintf", "Errorf"}, "log/slog": {"Logger"}, "maps": {"Keys"}, "slices": nil, "strings": nil,
		"sync/atomic":                 nil,
		"time":                        {"Time", "Duration", "Minute", "Second", "Millisecond"},
		module + "coordinator/ledger": nil,
		module + "election":           nil,
		module + "jobs":               nil,
		module + "jobs/store":         nil,
		module + "jobs/wire":          nil,
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
				t.Errorf("%v: a term has no goroutine and no channel of its own", set.Position(n.Pos()))
			case *ast.UnaryExpr:
				if n.Op == token.ARROW {
					t.Errorf("%v: waits for a channel", set.Position(n.Pos()))
				}
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
