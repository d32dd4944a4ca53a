package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/dustin/go-humanize"
)

// Table is a table with a title.
type Table struct {
	Title string
	Head  []string
	Rows  [][]string
	Notes []string // notes that are printed below the table
}

// Add appends a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// Text prints the table with aligned columns.
func (t Table) Text(w io.Writer) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tab, "%s\n\n", t.Title)
	for _, row := range append([][]string{upper(t.Head)}, t.Rows...) {
		fmt.Fprintln(tab, strings.Join(row, "\t"))
	}
	if err := tab.Flush(); err != nil {
		return fmt.Errorf("print table: %w", err)
	}
	for _, note := range t.Notes {
		fmt.Fprintf(w, "\n%s\n", note)
	}
	_, err := fmt.Fprintln(w)
	return err
}

// Markdown prints the table as Markdown.
func (t Table) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n", t.Title)
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(t.Head)
	line(slices.Repeat([]string{"---"}, len(t.Head)))
	for _, row := range t.Rows {
		line(row)
	}
	for _, note := range t.Notes {
		fmt.Fprintf(&b, "\n%s\n", note)
	}
	b.WriteString("\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func upper(head []string) []string {
	out := make([]string, len(head))
	for i, h := range head {
		out[i] = strings.ToUpper(h)
	}
	return out
}

// Number formats a number with three digits, and commas between groups of digits.
func Number(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return "–"
	}
	if math.Abs(x) < 100 {
		return strconv.FormatFloat(x, 'g', 3, 64)
	}
	magnitude := math.Pow(10, math.Floor(math.Log10(math.Abs(x)))-2)
	return humanize.Comma(int64(math.Round(x/magnitude) * magnitude))
}
