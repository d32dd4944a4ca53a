package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
)

// stream prints a list as a table without empty columns, as one line with a JSON array, or as CSV. stream gets the items
// one at a time, so that a long list takes little memory.
type stream[T any] struct {
	json  bool
	out   io.Writer
	csv   *console.ItemsCSV // nil unless the output is CSV
	rows  [][]any           // rows of the table, with the header
	begun bool              // the JSON array already has an item
}

func newStream[T any](a *app, header ...any) (s *stream[T], err error) {
	s = &stream[T]{json: a.Output == console.OutputJSON, out: a.Out, rows: [][]any{header}}
	if a.Output == console.OutputCSV {
		s.csv, err = console.NewItemsCSV(a.Out, reflect.TypeFor[T]())
	}
	return s, err
}

// add adds an item to the list: v in JSON and CSV, or cells as a row of the table.
func (s *stream[T]) add(v T, cells ...any) error {
	switch {
	case s.csv != nil:
		return s.csv.Add(v)
	case !s.json:
		s.rows = append(s.rows, cells)
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
func (s *stream[T]) end() (err error) {
	switch {
	case s.csv != nil:
		return s.csv.Flush()
	case !s.json:
		err = s.writeTable()
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

// writeTable writes the rows without the columns that are empty in all of them.
func (s *stream[T]) writeTable() error {
	table := console.NewListTable(s.out)
	header := s.rows[0]
	var filled []int
	for i := range header {
		if len(s.rows) == 1 || slices.ContainsFunc(s.rows[1:], func(row []any) bool { return row[i] != "" }) {
			filled = append(filled, i)
		}
	}
	for _, row := range s.rows {
		cells := make([]any, len(filled))
		for i, column := range filled {
			cells[i] = row[column]
		}
		console.Row(table, cells...)
	}
	return table.Flush()
}
