package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// outputFormat is the value of --output.
type outputFormat string

const (
	outputTable outputFormat = "table"
	outputJSON  outputFormat = "json"
	outputCSV   outputFormat = "csv" // format for results that are tables
)

func (f *outputFormat) String() string {
	if *f == "" {
		return string(outputTable)
	}
	return string(*f)
}

func (f *outputFormat) Set(s string) error {
	switch outputFormat(s) {
	case outputTable, outputJSON, outputCSV:
		*f = outputFormat(s)
		return nil
	}
	return fmt.Errorf("want %s, %s or %s", outputTable, outputJSON, outputCSV)
}

// errNoCSV is the error for --output csv if a command does not print a result.
var errNoCSV = usagef("-o csv is for results that are tables: want -o table or -o json")

func (f *outputFormat) Type() string { return "FORMAT" }

// show prints v as one line of JSON, or as the table that table writes.
func (a *app) show(v any, table func(w io.Writer)) error {
	if a.output == outputJSON {
		enc := json.NewEncoder(a.Out)
		enc.SetEscapeHTML(false) // the bytes of a result must be printed unchanged
		if err := enc.Encode(v); err != nil {
			return fmt.Errorf("print: %w", err)
		}
		return nil
	}
	if a.output == outputCSV {
		return errNoCSV
	}
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	table(w)
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// stream prints a list as a table, or as one line with a JSON array. stream gets the items one at a
// time, so that a long list takes little memory.
type stream struct {
	json  bool
	out   io.Writer
	table *tabwriter.Writer
	begun bool // the JSON array already has an item
}

func (a *app) newStream(header ...any) *stream {
	s := &stream{json: a.output == outputJSON, out: a.Out, table: tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)}
	row(s.table, header...)
	return s
}

// add adds an item to the list: v in JSON output, or cells as a row of the table.
func (s *stream) add(v any, cells ...any) error {
	if !s.json {
		row(s.table, cells...)
		return nil
	}
	var item bytes.Buffer
	item.WriteByte('[')
	if s.begun {
		item.Reset()
		item.WriteByte(',')
	}
	s.begun = true
	enc := json.NewEncoder(&item)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	if _, err := s.out.Write(bytes.TrimSuffix(item.Bytes(), []byte("\n"))); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// end prints the end of the list. The caller must call end, because it prints the table or
// completes the JSON.
func (s *stream) end() (err error) {
	switch {
	case !s.json:
		err = s.table.Flush()
	case s.begun:
		_, err = fmt.Fprintln(s.out, "]")
	default:
		_, err = fmt.Fprintln(s.out, "[]")
	}
	if err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// note prints a line to standard error.
func (a *app) note(format string, args ...any) {
	fmt.Fprintf(a.Err, "%s: %s\n", a.name, fmt.Sprintf(format, args...))
}

// row writes one line of a table.
func row(w io.Writer, cells ...any) {
	for i, c := range cells {
		if i > 0 {
			fmt.Fprint(w, "\t")
		}
		fmt.Fprint(w, c)
	}
	fmt.Fprintln(w)
}

// duration formats a duration with few digits, such as 1.234s, 2m5s or 3h20m0s.
func duration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < 10*time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// clock formats a time for a table, as local time without fractions of a second.
func clock(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

// timestamp returns a pointer to t for JSON, or nil if t is the zero time.
func timestamp(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
