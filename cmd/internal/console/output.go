package console

import (
	"fmt"
	"io"

	"github.com/bellwether-compute/bellwether/cmd/internal/human"
)

// OutputFormat is the value of --output.
type OutputFormat string

const (
	OutputTable OutputFormat = "table"
	OutputJSON  OutputFormat = "json"
	OutputCSV   OutputFormat = "csv"
)

func (f *OutputFormat) String() string {
	if *f == "" {
		return string(OutputTable)
	}
	return string(*f)
}

func (f *OutputFormat) Set(s string) error {
	switch OutputFormat(s) {
	case OutputTable, OutputJSON, OutputCSV:
		*f = OutputFormat(s)
		return nil
	}
	return fmt.Errorf("want %s, %s or %s", OutputTable, OutputJSON, OutputCSV)
}

func (f *OutputFormat) Type() string { return "FORMAT" }

// Show prints v as one line of JSON, as CSV with the members of this JSON, or as the table that table writes.
func (a *App) Show(v any, table func(w io.Writer)) error { return a.show(v, NewTable(a.Out), table) }

// ShowList is like Show, and cuts the lines of the table at the width of the terminal.
func (a *App) ShowList(v any, table func(w io.Writer)) error {
	return a.show(v, NewListTable(a.Out), table)
}

func (a *App) show(v any, w *Table, table func(w io.Writer)) error {
	switch a.Output {
	case OutputJSON:
		text, err := encodeJSON(v)
		if err != nil {
			return err
		}
		if _, err := a.Out.Write(append(text, '\n')); err != nil {
			return fmt.Errorf("print: %w", err)
		}
		return nil
	case OutputCSV:
		return showCSV(a.Out, v)
	}
	table(w)
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// Note prints a line to standard error. Texts in it may be from outside, so they are made harmless for
// a terminal.
func (a *App) Note(format string, args ...any) {
	fmt.Fprintf(a.Err, "%s: %s\n", a.Name, human.Lines(fmt.Sprintf(format, args...)))
}
