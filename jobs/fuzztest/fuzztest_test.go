package fuzztest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// takesAnything lists the fuzz targets that accept every input, because they turn any bytes into a
// test case.
var takesAnything = map[string]bool{
	"cmd/internal/human.FuzzPlain":  true,
	"coordinator/ledger.FuzzForest": true,
	"jobs/dataset/form.FuzzString":  true,
	"jobs/primes.FuzzMerge":         true,
}

// TestEveryTargetIsWatched checks that every fuzz target of the module calls a function of this
// package.
func TestEveryTargetIsWatched(t *testing.T) {
	const root = "../.."
	targets, watched := 0, map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		calls := callsByFunction(file)
		for name := range calls {
			if !strings.HasPrefix(name, "Fuzz") {
				continue
			}
			targets++
			target := filepath.ToSlash(folder) + "." + name
			if !leadsHere(calls, name) && !takesAnything[target] {
				t.Errorf("%s is watched by none of this package's functions", target)
			}
			watched[target] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if targets == 0 {
		t.Error("found no target at all")
	}
	for target := range takesAnything {
		if !watched[target] {
			t.Errorf("there is no %s", target)
		}
	}
}

// callsByFunction returns the names of the functions that each function of a file calls. The names
// of this package's functions have the prefix "fuzztest.".
func callsByFunction(file *ast.File) map[string][]string {
	calls := map[string][]string{}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil {
			continue
		}
		calls[f.Name.Name] = nil
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			called := call.Fun
			if generic, ok := called.(*ast.IndexExpr); ok {
				called = generic.X
			}
			switch called := called.(type) {
			case *ast.Ident:
				calls[f.Name.Name] = append(calls[f.Name.Name], called.Name)
			case *ast.SelectorExpr:
				calls[f.Name.Name] = append(calls[f.Name.Name], fmt.Sprint(called.X, ".", called.Sel.Name))
			}
			return true
		})
	}
	return calls
}

// leadsHere reports whether a function calls this package, directly or through other functions of
// its file.
func leadsHere(calls map[string][]string, name string) bool {
	for _, called := range calls[name] {
		if strings.HasPrefix(called, "fuzztest.") || called != name && calls[called] != nil && leadsHere(calls, called) {
			return true
		}
	}
	return false
}

// complaint is the message with which a check fails.
type complaint string

func (c *complaint) Errorf(format string, args ...any) { *c = complaint(fmt.Sprintf(format, args...)) }

func TestCorpusOfOneKind(t *testing.T) {
	for _, c := range []struct {
		taken, refused int
		fine           bool
	}{{0, 0, false}, {3, 0, false}, {0, 3, false}, {1, 1, true}} {
		corpus := &Corpus{}
		for range c.taken {
			corpus.Taken()
		}
		for range c.refused {
			corpus.Refused()
		}
		var said complaint
		if corpus.check(&said); (said == "") != c.fine {
			t.Errorf("%d taken, %d refused: %q", c.taken, c.refused, said)
		}
	}
}
