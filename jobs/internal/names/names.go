// Package names is for lists of names that may be long, such as the columns of a table. Its functions take
// time in proportion to the list, and their texts have a limited length.
package names

import (
	"fmt"
	"slices"
	"strings"
)

const (
	maxListed = 20 // maximum number of names in a text
	maxBytes  = 80 // maximum number of bytes of a name in a text
)

// List returns a text with the first names of a list, separated by commas, and the number of the others.
func List(list []string) string {
	listed := slices.Clone(list[:min(len(list), maxListed)])
	for i, name := range listed {
		if len(name) > maxBytes {
			listed[i] = strings.ToValidUTF8(name[:maxBytes], "") + "…"
		}
	}
	text := strings.Join(listed, ", ")
	if more := len(list) - len(listed); more > 0 {
		return fmt.Sprintf("%s and %d more", text, more)
	}
	return text
}

// Positions returns the index of each name in a list. If the list contains a name twice, the first index
// is returned.
func Positions(list []string) map[string]int {
	positions := make(map[string]int, len(list))
	for i, name := range list {
		if _, again := positions[name]; !again {
			positions[name] = i
		}
	}
	return positions
}
