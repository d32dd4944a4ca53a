package scan

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/bellwether-compute/bellwether/jobs/internal/names"
)

// quotedNames is an ast.Visitor that makes the columns in $env identifiers, and paths of columns such as a.b. Package expr
// has $env for names that are not identifiers, such as those with spaces or dashes: $env["unit price"].
type quotedNames struct{ err error }

const env = "$env"

// inEnv returns the name of a column as a condition contains it in $env.
func inEnv(name string) string { return fmt.Sprintf("%s[%q]", env, name) }

// Visit implements ast.Visitor.
func (n *quotedNames) Visit(node *ast.Node) {
	member, ok := (*node).(*ast.MemberNode)
	if !ok {
		return
	}
	of, ok := member.Node.(*ast.IdentifierNode)
	name, isText := member.Property.(*ast.StringNode)
	switch {
	case !ok || !isText && of.Value != env || n.err != nil:
	case !isText:
		n.err = fmt.Errorf("%s takes the name of a column in quotes, as in %s", env, inEnv("unit price"))
	case of.Value == env:
		*node = &ast.IdentifierNode{Value: name.Value}
		(*node).SetLocation(member.Location())
	default:
		*node = &ast.IdentifierNode{Value: of.Value + "." + name.Value}
		(*node).SetLocation(member.Location())
	}
}

// identifier matches the names of columns that a condition can contain outside $env.
var identifier = regexp.MustCompile(`^[\pL_$][\pL\p{Nd}_$]*$`)

// hintAtNames adds to the error for a name that no column has how members of a text are read, if the name is a path into a
// column. For a name in the condition, it adds how a column is written of whose name it may be a part: unit-price is
// the difference of two columns.
func hintAtNames(p Params, err error) error {
	missing, ok := errors.AsType[*names.MissingError](err)
	if !ok {
		return err
	}
	for _, column := range missing.Columns {
		if path, below := strings.CutPrefix(missing.Name, column+"."); below {
			of := column
			if !identifier.MatchString(column) {
				of = inEnv(column)
			}
			if len(p.Columns) == 0 && p.Aggregate == "" {
				err = fmt.Errorf("%w (if %s is an object with members, give the parameter columns, with which members are columns too)", err, column)
			}
			return fmt.Errorf("%w (%s has no such member; if its texts are JSON objects, give let='x = json(%[3]s, %[4]q)', and use x)", err, column, of, path)
		}
	}
	q, invalid := newQuery(p)
	if invalid != nil || q.where == nil || !q.where.known[missing.Name] {
		return err
	}
	for _, column := range missing.Columns {
		if !identifier.MatchString(column) && strings.Contains(column, missing.Name) {
			return fmt.Errorf("%w (in the parameter where, the column %q is written as %s)", err, column, inEnv(column))
		}
	}
	return err
}
