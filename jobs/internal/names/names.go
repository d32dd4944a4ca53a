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

// MissingError is the error for a name that no column has.
type MissingError struct {
	Name    string
	Columns []string
}

// Missing returns a *MissingError for a name that no column of a list has.
func Missing(name string, columns []string) error { return &MissingError{name, columns} }

// Error says if the name of a column differs only in spaces.
func (e *MissingError) Error() string {
	for _, c := range e.Columns {
		if strings.TrimSpace(c) == strings.TrimSpace(e.Name) {
			return fmt.Sprintf("there is no column %q, but the column %q, whose name includes spaces: the parameter trim leaves them out of csv and tsv, and the parameter names gives columns other names", e.Name, c)
		}
	}
	if len(e.Columns) == 0 {
		return fmt.Sprintf("there is no column %q", e.Name)
	}
	return fmt.Sprintf("there is no column %q: the columns are %s", e.Name, List(e.Columns))
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
