package cluster

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// environmentReaders are the files outside of cmd that may use environment variables, and the
// functions of package os that they may call.
var environmentReaders = map[string]string{
	"jobs/cluster/env.go": "Getenv", // FromEnv

	// These files pass the environment on to child processes.
	"jobs/exec/program.go":                "Environ",
	"deploy/local/procs/process.go":       "Environ",
	"bench/peers/programs/contests.go":    "Environ",
	"bench/peers/programs/source/kernel/": "Getenv", // a program of a job
}

// TestSettingsAreValues checks that settings are values: packages outside of cmd neither read nor
// set environment variables, and no function writes a package-level variable. Two workers of
// different clusters in one process would share such a setting.
func TestSettingsAreValues(t *testing.T) {
	const root = "../.."
	folders := map[string][]*ast.File{}
	set := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		if strings.HasSuffix(filepath.Dir(path), "test") { // a package of test helpers
			return nil
		}
		file, err := parser.ParseFile(set, path, nil, 0)
		folders[filepath.Dir(path)] = append(folders[filepath.Dir(path)], file)
		return err
	})
	if err != nil || len(folders) < 50 {
		t.Fatalf("%d folders, %v", len(folders), err)
	}
	for _, files := range folders {
		variables := packageVariables(files)
		for _, file := range files {
			name, err := filepath.Rel(root, set.Position(file.Pos()).Filename)
			if err != nil {
				t.Fatal(err)
			}
			for use, at := range environmentUses(file) {
				if !mayUse(name, use) {
					t.Errorf("%v: os.%s: want a value that the caller passes", set.Position(at), use)
				}
			}
			for variable, at := range writes(file, variables) {
				t.Errorf("%v: writes the package-level variable %s: want a value that the caller passes", set.Position(at), variable)
			}
		}
	}
}

func mayUse(name, use string) bool {
	if strings.HasPrefix(name, "cmd/") {
		return use != "Setenv" && use != "Unsetenv"
	}
	for file, function := range environmentReaders {
		if strings.HasPrefix(name, file) && use == function {
			return true
		}
	}
	return false
}

// environmentUses yields the functions of package os that a file uses for environment variables.
func environmentUses(file *ast.File) func(yield func(string, token.Pos) bool) {
	functions := []string{"Getenv", "LookupEnv", "Environ", "ExpandEnv", "Setenv", "Unsetenv", "Clearenv"}
	return func(yield func(string, token.Pos) bool) {
		ast.Inspect(file, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if ok && fmt.Sprint(s.X) == "os" && slices.Contains(functions, s.Sel.Name) {
				yield(s.Sel.Name, s.Pos())
			}
			return true
		})
	}
}

// packageVariables returns the names of the variables that the files of a package declare.
func packageVariables(files []*ast.File) (names []string) {
	for _, file := range files {
		for _, d := range file.Decls {
			declaration, ok := d.(*ast.GenDecl)
			if !ok || declaration.Tok != token.VAR {
				continue
			}
			for _, spec := range declaration.Specs {
				for _, name := range spec.(*ast.ValueSpec).Names {
					if name.Name != "_" {
						names = append(names, name.Name)
					}
				}
			}
		}
	}
	return names
}

// writes yields the package-level variables that the functions of a file write: by an assignment,
// or by a method of an atomic value. A name that a function declares anywhere is local to it.
func writes(file *ast.File, variables []string) func(yield func(string, token.Pos) bool) {
	return func(yield func(string, token.Pos) bool) {
		for _, d := range file.Decls {
			function, ok := d.(*ast.FuncDecl)
			if !ok || function.Name.Name == "init" { // init runs once, before any Run
				continue
			}
			local := localNames(function)
			for _, target := range targets(function) {
				name := changed(target)
				if name != nil && slices.Contains(variables, name.Name) && !slices.Contains(local, name.Name) {
					yield(name.Name, name.Pos())
				}
			}
		}
	}
}

// localNames returns the names of a function's receiver, parameters, results and variables.
func localNames(function *ast.FuncDecl) (names []string) {
	add := func(list ...ast.Expr) {
		for _, e := range list {
			if name, ok := e.(*ast.Ident); ok {
				names = append(names, name.Name)
			}
		}
	}
	ast.Inspect(function, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			for _, name := range n.Names {
				add(name)
			}
		case *ast.ValueSpec:
			for _, name := range n.Names {
				add(name)
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				add(n.Lhs...)
			}
		case *ast.RangeStmt:
			add(n.Key, n.Value)
		}
		return true
	})
	return names
}

// targets returns the expressions that a function assigns to.
func targets(function *ast.FuncDecl) (list []ast.Expr) {
	ast.Inspect(function, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				list = append(list, n.Lhs...)
			}
		case *ast.IncDecStmt:
			list = append(list, n.X)
		case *ast.CallExpr:
			method, ok := n.Fun.(*ast.SelectorExpr)
			if ok && slices.Contains([]string{"Store", "Swap", "CompareAndSwap"}, method.Sel.Name) {
				list = append(list, method.X)
			}
		}
		return true
	})
	return list
}

// changed returns the variable in which an assignment to the expression e changes something, or nil.
func changed(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.Ident:
			return x
		default:
			return nil
		}
	}
}
