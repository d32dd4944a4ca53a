package console

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// CSVWriter writes records as in RFC 4180. An error of the underlying writer is returned by Flush.
type CSVWriter struct {
	out io.Writer
	csv *csv.Writer
}

func NewCSVWriter(w io.Writer) *CSVWriter { return &CSVWriter{w, csv.NewWriter(w)} }

// Write writes a record. A record of one empty field is written in quotes, because readers skip empty lines.
func (w *CSVWriter) Write(record []string) error {
	if len(record) == 1 && record[0] == "" {
		if err := w.Flush(); err != nil {
			return err
		}
		if _, err := io.WriteString(w.out, "\"\"\n"); err != nil {
			return fmt.Errorf("print: %w", err)
		}
		return nil
	}
	if err := w.csv.Write(record); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

func (w *CSVWriter) Flush() error {
	w.csv.Flush()
	if err := w.csv.Error(); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// ItemsCSV writes items of one type as CSV, with a column for each member of the items' JSON. Lists and
// objects in an item are written as JSON.
type ItemsCSV struct {
	*CSVWriter
	columns []string
}

// NewItemsCSV writes the header for items of a type.
func NewItemsCSV(w io.Writer, item reflect.Type) (*ItemsCSV, error) {
	c := &ItemsCSV{NewCSVWriter(w), members(item)}
	return c, c.Write(c.columns)
}

func (c *ItemsCSV) Add(item any) error {
	text, err := encodeJSON(item)
	if err != nil {
		return err
	}
	var values map[string]json.RawMessage
	if err := json.Unmarshal(text, &values); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	record := make([]string, 0, len(c.columns))
	for _, name := range c.columns {
		record = append(record, CSVCell(values[name]))
	}
	return c.Write(record)
}

// CSVCell returns the cell of a value in JSON. Null becomes an empty cell.
func CSVCell(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) != nil { // the value is a number, a boolean, a list or an object
		text = string(value)
	}
	return text
}

// members returns the names of the members that the JSON of a type may have, in their order.
func members(t reflect.Type) (names []string) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t.Implements(reflect.TypeFor[json.Marshaler]()) {
		return encodedMembers(reflect.Zero(t).Interface())
	}
	known := map[string]bool{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		if embedded := f.Anonymous && f.Tag.Get("json") == ""; f.IsExported() && !embedded && name != "-" && !known[name] {
			known[name] = true
			names = append(names, name)
		}
	}
	return names
}

// encodedMembers returns the names of the members of a value's JSON.
func encodedMembers(v any) (names []string) {
	text, err := encodeJSON(v)
	if err != nil {
		return nil
	}
	in := json.NewDecoder(bytes.NewReader(text))
	if open, err := in.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	for in.More() {
		name, err := in.Token()
		var value json.RawMessage
		if err != nil || in.Decode(&value) != nil {
			break
		}
		names = append(names, fmt.Sprint(name))
	}
	return names
}

// showCSV prints an answer as CSV: a record for each item of a list, and one record for anything else.
func showCSV(w io.Writer, v any) error {
	list := reflect.ValueOf(v)
	if list.Kind() != reflect.Slice {
		list = reflect.Append(reflect.MakeSlice(reflect.SliceOf(list.Type()), 0, 1), list)
	}
	out, err := NewItemsCSV(w, list.Type().Elem())
	if err != nil {
		return err
	}
	for i := range list.Len() {
		if err := out.Add(list.Index(i).Interface()); err != nil {
			return err
		}
	}
	return out.Flush()
}

// encodeJSON encodes a value as JSON, in which the bytes of a result are unchanged.
func encodeJSON(v any) ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("print: %w", err)
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}
