package scan

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"

	"github.com/bellwether-compute/bellwether/jobs/dataset/exact"
)

// compileLike compiles a call of like with a column and a constant pattern without _.
func compileLike(n *ast.BuiltinNode, index func(name string) int) (test, bool) {
	if n.Name != "like" || len(n.Arguments) != 2 {
		return nil, false
	}
	id, isColumn := n.Arguments[0].(*ast.IdentifierNode)
	pattern, isText := n.Arguments[1].(*ast.StringNode)
	if !isColumn || !isText || strings.Contains(pattern.Value, "_") {
		return nil, false
	}
	at, parts := index(id.Value), bytes.Split([]byte(pattern.Value), []byte("%"))
	return func(v *values) (bool, error) { return hasParts(v.field(at), parts), nil }, true
}

// hasParts reports whether a text consists of parts, with any text between two parts.
func hasParts(text []byte, parts [][]byte) bool {
	last := len(parts) - 1
	if last == 0 {
		return bytes.Equal(text, parts[0])
	}
	rest, ok := bytes.CutPrefix(text, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1:last] {
		i := bytes.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return bytes.HasSuffix(rest, parts[last])
}

// compileCall compiles the number of characters of a column, and the parts of a time in the most common forms.
func compileCall(n *ast.BuiltinNode, index func(name string) int) numberOf {
	if len(n.Arguments) != 1 {
		return nil
	}
	id, ok := n.Arguments[0].(*ast.IdentifierNode)
	if !ok {
		return nil
	}
	if n.Name == "len" {
		at := index(id.Value)
		return func(v *values) (exact.Number, bool, error) {
			return exact.New(int64(utf8.RuneCount(v.field(at))), 0), true, nil
		}
	}
	if f := scalarNamed(n.Name); f != nil && f.part != nil {
		at := index(id.Value)
		return func(v *values) (exact.Number, bool, error) {
			t, ok := commonTime(v.field(at))
			return exact.New(int64(f.part(t)), 0), ok, nil
		}
	}
	return nil
}

// compileReplace compiles a call of regexp_replace with a column and constants. For another call it returns nil.
func compileReplace(n *ast.BuiltinNode, index func(name string) int) textOf {
	if n.Name != "regexp_replace" || len(n.Arguments) != 3 {
		return nil
	}
	id, isColumn := n.Arguments[0].(*ast.IdentifierNode)
	pattern, isPattern := n.Arguments[1].(*ast.StringNode)
	by, isText := n.Arguments[2].(*ast.StringNode)
	if !isColumn || !isPattern || !isText {
		return nil
	}
	one, err := compile(pattern.Value)
	if err != nil { // which parseSource has reported
		return nil
	}
	m, at := newMeter(), index(id.Value)
	return func(v *values) ([]byte, error) {
		field := v.field(at)
		m.begin(len(field))
		return m.replaceAll(one, string(field), by.Value)
	}
}
