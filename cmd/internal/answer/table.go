package answer

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/cmd/internal/human"
)

// resultTable is a result in the form of a table, such as that of the job scan: a JSON object with
// the members columns and rows.
type resultTable struct {
	Columns []struct {
		Name *string `json:"name"`
		Note string  `json:"note"`
	} `json:"columns"`
	Rows    [][]json.RawMessage `json:"rows"`
	Omitted []string            `json:"omitted"`
}

// tableOf returns the table of a result. tableOf returns false if the result is not a table.
func tableOf(result json.RawMessage) (t resultTable, ok bool) {
	if json.Unmarshal(result, &t) != nil || t.Columns == nil || t.Rows == nil {
		return t, false
	}
	for _, c := range t.Columns {
		if c.Name == nil {
			return t, false
		}
	}
	for _, r := range t.Rows {
		if len(r) != len(t.Columns) {
			return t, false
		}
	}
	return t, true
}

// header returns the names of the columns.
func (t resultTable) header() (names []string) {
	for _, c := range t.Columns {
		names = append(names, *c.Name)
	}
	return names
}

// cells returns the values of a row. A null value becomes an empty cell.
func (t resultTable) cells(row []json.RawMessage) (cells []string) {
	for _, value := range row {
		cells = append(cells, console.CSVCell(value))
	}
	return cells
}

// maxOmitted is the maximum number of omitted columns that an answer lists.
const maxOmitted = 20

// omitted says which columns the table does not have, or returns an empty text.
func (t resultTable) omitted() string {
	if len(t.Omitted) == 0 {
		return ""
	}
	list := strings.Join(t.Omitted[:min(len(t.Omitted), maxOmitted)], ", ")
	if more := len(t.Omitted) - maxOmitted; more > 0 {
		list = fmt.Sprintf("%s and %d more", list, more)
	}
	return human.Plain("left out, because their types cannot be read: " + list)
}

// writeCSV writes the table as CSV (RFC 4180). A table without columns has no text.
func (t resultTable) writeCSV(w io.Writer) error {
	if len(t.Columns) == 0 {
		return nil
	}
	out := console.NewCSVWriter(w)
	if err := out.Write(t.header()); err != nil {
		return err
	}
	for _, r := range t.Rows {
		if err := out.Write(t.cells(r)); err != nil {
			return err
		}
	}
	return out.Flush()
}

// write writes the table for a terminal. Cells with characters that are not harmless there are quoted.
func (t resultTable) write(w io.Writer) {
	line := func(cells []string) {
		for i, c := range cells {
			if human.Plain(c) != c {
				c = strconv.Quote(c)
			}
			if i > 0 {
				fmt.Fprint(w, "\t")
			}
			fmt.Fprint(w, c)
		}
		fmt.Fprintln(w)
	}
	line(t.header())
	for _, r := range t.Rows {
		line(t.cells(r))
	}
	for _, c := range t.Columns {
		if c.Note != "" {
			fmt.Fprintf(w, "\n%s: %s\n", human.Plain(*c.Name), human.Plain(c.Note))
		}
	}
}
