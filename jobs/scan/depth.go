package scan

import "fmt"

// maxDepth is the maximum number of brackets within each other in a condition. The parser of package expr
// needs several kilobytes of stack for each.
const maxDepth = 200

// checkDepth returns an error if too many brackets of a condition are within each other. Brackets in texts
// do not count.
func checkDepth(source string) error {
	depth, quote := 0, byte(0)
	for i := 0; i < len(source); i++ {
		switch c := source[i]; {
		case quote != 0 && c == '\\' && quote != '`':
			i++
		case c == quote:
			quote = 0
		case quote != 0:
		case c == '"' || c == '\'' || c == '`':
			quote = c
		case c == '(' || c == '[' || c == '{':
			if depth++; depth > maxDepth {
				return fmt.Errorf("more than %d brackets are within each other, at byte %d: remove brackets", maxDepth, i)
			}
		case c == ')' || c == ']' || c == '}':
			depth--
		}
	}
	return nil
}
