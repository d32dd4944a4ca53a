package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
)

// stream prints a list as a table, as one line with a JSON array, or as CSV. stream gets the items one at a
// time, so that a long list takes little memory.
type stream[T any] struct {
	json  bool
	out   io.Writer
	csv   *console.ItemsCSV // nil unless the output is CSV
	table *console.Table
	begun bool // the JSON array already has an item
}

func newStream[T any](a *app, header ...any) (s *stream[T], err error) {
	s = &stream[T]{json: a.Output == console.OutputJSON, out: a.Out, table: console.NewListTable(a.Out)}
	if a.Output == console.OutputCSV {
		s.csv, err = console.NewItemsCSV(a.Out, reflect.TypeFor[T]())
	}
	console.Row(s.table, header...)
	return s, err
}

// add adds an item to the list: v in JSON and CSV, or cells as a row of the table.
func (s *stream[T]) add(v T, cells ...any) error {
	switch {
	case s.csv != nil:
		return s.csv.Add(v)
	case !s.json:
		console.Row(s.table, cells...)
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
