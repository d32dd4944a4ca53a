package scan

import (
	"fmt"
	"iter"
)

// maxDepth is the maximum number of brackets within each other in a condition. The parser of package expr
// needs several kilobytes of stack for each.
const maxDepth = 200

// checkDepth returns an error if too many brackets of a condition are within each other. Brackets in texts
// do not count.
func checkDepth(source string) error {
	depth := 0
	for i, c := range outsideTexts(source) {
		switch c {
		case '(', '[', '{':
			if depth++; depth > maxDepth {
				return fmt.Errorf("more than %d brackets are within each other, at byte %d: remove brackets", maxDepth, i)
			}
		case ')', ']', '}':
			depth--
		}
	}
	return nil
}

// outsideTexts yields the offsets and the bytes of an expression, except those of texts in quotes.
func outsideTexts(source string) iter.Seq2[int, byte] {
	return func(yield func(int, byte) bool) {
		quote := byte(0)
		for i := 0; i < len(source); i++ {
			switch c := source[i]; {
			case quote != 0 && c == '\\' && quote != '`':
				i++
			case c == quote:
				quote = 0
			case quote != 0:
			case c == '"' || c == '\'' || c == '`':
				quote = c
			case !yield(i, c):
				return
			}
		}
	}
}
