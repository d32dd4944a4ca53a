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

// Missing returns an error for a name that no column of a list has. The error says if the name of a
// column differs only in spaces.
func Missing(name string, columns []string) error {
	for _, c := range columns {
		if strings.TrimSpace(c) == strings.TrimSpace(name) {
			return fmt.Errorf("there is no column %q, but the column %q, whose name includes spaces: the parameter names gives columns other names", name, c)
		}
	}
	if len(columns) == 0 {
		return fmt.Errorf("there is no column %q", name)
	}
	return fmt.Errorf("there is no column %q: the columns are %s", name, List(columns))
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
