package dataset

import (
	"cmp"
	"fmt"
	"iter"
	"net/url"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs/internal/names"
)

// objectColumn is the column with the name of a record's object.
const objectColumn = "_object"

// nullInPath is the value that Hive and Spark write in a path for a missing value.
const nullInPath = "__HIVE_DEFAULT_PARTITION__"

// pathColumn returns the value of a column that the name of an object contains. A folder named column=value on the
// way to the object is such a column; of two folders with the same column the first counts. The value of a missing
// value is nil, and bytes that are not UTF-8 are replaced.
func pathColumn(object, column string) (value []byte, ok bool) {
	if column == objectColumn {
		return validText(object), true
	}
	for name, text := range pathColumns(object) {
		switch {
		case name != column:
		case text == nullInPath:
			return nil, true
		default:
			return validText(text), true
		}
	}
	return nil, false
}

func validText(text string) []byte { return []byte(strings.ToValidUTF8(text, "\uFFFD")) }

// pathColumns yields the columns in the name of an object, with their texts.
func pathColumns(object string) iter.Seq2[string, string] {
	folders := strings.Split(object, "/")
	escaped := strings.HasPrefix(object, "https://") || strings.HasPrefix(object, "http://")
	return func(yield func(name, text string) bool) {
		for _, folder := range folders[:len(folders)-1] {
			if escaped {
				folder = unescapePath(folder)
			}
			name, text, isColumn := strings.Cut(folder, "=")
			if isColumn && name != "" && !yield(unescapePath(name), unescapePath(text)) {
				return
			}
		}
	}
}

// unescapePath returns a text without the escapes that Hive and Spark use for special characters in paths, or the text
// itself if an escape is not valid.
func unescapePath(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}

// pathColumn reports whether a column is in the names of all objects. It returns an error if the column is only in some of
// them.
func (l listing) pathColumn(column string) (ok bool, err error) {
	with, without := -1, -1
	for i, o := range l {
		if _, ok := pathColumn(o.Name, column); ok {
			with = i
		} else {
			without = i
		}
	}
	if with >= 0 && without >= 0 {
		return false, fmt.Errorf("column %q is in the name of %s, but not in that of %s: give only objects that have the column", column, l[with].Name, l[without].Name)
	}
	return with >= 0, nil
}

// pathColumns returns the columns that the names of all objects contain and that the objects do not have.
func (l listing) pathColumns(have []string) (list []string) {
	known := names.Positions(have)
	for name := range pathColumns(l[0].Name) {
		_, again := known[name]
		if ok, err := l.pathColumn(name); ok && err == nil && !again {
			known[name] = 0
			list = append(list, name)
		}
	}
	return list
}

// checkWanted returns an error if a wanted column is neither a column of the objects nor in their names.
func (l listing) checkWanted(have, wanted []string) error {
	positions := names.Positions(have)
	for _, column := range wanted {
		if _, ok := positions[column]; ok {
			continue
		}
		if ok, err := l.pathColumn(column); !ok || err != nil {
			return cmp.Or(err, names.Missing(column, have))
		}
	}
	return nil
}

// place contains the columns of the path of a record's object.
type place struct {
	columns []string
	object  string
	values  [][]byte // nil before the first object
}

// value returns the value of column i for a record of an object.
func (p *place) value(object string, i int) []byte {
	if p.values == nil || p.object != object {
		p.object, p.values = object, make([][]byte, len(p.columns))
		for i, name := range p.columns {
			p.values[i], _ = pathColumn(object, name)
		}
	}
	return p.values[i]
}
