package scan

import (
	"bytes"
	"strings"

	"github.com/expr-lang/expr/ast"
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
