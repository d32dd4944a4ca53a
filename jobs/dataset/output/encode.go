package output

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/bellwether-compute/bellwether/jobs/dataset/parquet"
	"github.com/bellwether-compute/bellwether/jobs/dataset/typed"
)

// Column is a column of the output.
type Column struct {
	Name string `json:"name"`
	Type string `json:"type"` // type of the values: the name of a type of package typed, or JSON
}

// JSON is the type of a column of NDJSON whose fields are JSON values, which are written as they are.
const JSON = "json"

// encoder encodes the rows of one object. A field that is empty has no value.
type encoder interface {
	Add(fields [][]byte) error
	Finish() ([]byte, error)
}

// Format is the format of the objects, and the ending of their names.
type Format string

// These constants are the supported formats.
const (
	CSV     Format = "csv"
	NDJSON  Format = "ndjson"
	Parquet Format = "parquet"
	Files   Format = "files" // objects that programs have written, with any content
)

// Text reports whether the objects are text.
func (f Format) Text() bool { return f == CSV || f == NDJSON }

// Header returns the first line of each CSV object.
func (m Manifest) Header() []byte { return newCSV(m.Columns).text }

// encoder returns an encoder with memory for a text of room bytes.
func (f Format) encoder(columns []Column, room int) (encoder, error) {
	switch f {
	case CSV:
		e := newCSV(columns)
		e.text = slices.Grow(e.text, room)
		return e, nil
	case NDJSON:
		e, err := newNDJSON(columns)
		if err == nil {
			e.text = slices.Grow(e.text, room)
		}
		return e, err
	case Parquet:
		var names, types []string
		for _, c := range columns {
			names, types = append(names, c.Name), append(types, c.Type)
		}
		return parquet.NewWriter(names, types)
	}
	return nil, fmt.Errorf("output format %q: want csv, ndjson or parquet", f)
}

// quoted contains the characters for which a field of CSV is quoted.
var quoted = [256]bool{',': true, '"': true, '\r': true, '\n': true}

// isQuoted reports whether a field of CSV is quoted.
func isQuoted(field []byte) bool {
	for ; len(field) >= 8; field = field[8:] {
		word := binary.LittleEndian.Uint64(field)
		if hasZero(word^','*ones)|hasZero(word^'"'*ones)|hasZero(word^'\r'*ones)|hasZero(word^'\n'*ones) != 0 {
			return true
		}
	}
	for _, c := range field {
		if quoted[c] {
			return true
		}
	}
	return false
}

const ones = 0x0101010101010101 // times a byte: a word of eight such bytes

// hasZero returns a number other than 0 if one of the bytes of a word is 0 (S. E. Anderson, Bit Twiddling Hacks).
func hasZero(word uint64) uint64 { return (word - ones) & ^word & (ones << 7) }

// minRoom is the room in bytes with which most lines are appended to a text.
const minRoom = 512

// csvEncoder writes CSV with a header, as in RFC 4180.
type csvEncoder struct{ text []byte }

func newCSV(columns []Column) *csvEncoder {
	e := &csvEncoder{}
	var names [][]byte
	for _, c := range columns {
		names = append(names, []byte(c.Name))
	}
	e.line(names)
	return e
}

func (e *csvEncoder) Add(fields [][]byte) error {
	e.line(fields)
	return nil
}

func (e *csvEncoder) line(fields [][]byte) {
	text := e.text
	if cap(text)-len(text) < minRoom { // doubles large texts, where append would copy them more often
		text = slices.Grow(text, max(len(text), minRoom))
	}
	for i, field := range fields {
		if i > 0 {
			text = append(text, ',')
		}
		switch {
		case len(field) == 0 && len(fields) == 1: // an empty field in quotes, because some readers ignore an empty line
			text = append(text, `""`...)
		case isQuoted(field):
			text = append(text, '"')
			for _, c := range field {
				if c == '"' {
					text = append(text, c)
				}
				text = append(text, c)
			}
			text = append(text, '"')
		default:
			text = append(text, field...)
		}
	}
	e.text = append(text, '\n')
}

func (e *csvEncoder) Finish() ([]byte, error) { return e.text, nil }

// ndjsonEncoder writes a JSON object per row. An empty field is null.
type ndjsonEncoder struct {
	text   []byte
	names  []string
	before []string // text before the value of each column, which contains the column's name
	types  []typed.Type
	raw    []bool // true for columns of the type JSON
}

func newNDJSON(columns []Column) (*ndjsonEncoder, error) {
	e := &ndjsonEncoder{}
	for i, c := range columns {
		name, err := json.Marshal(c.Name)
		if err != nil {
			return nil, err
		}
		before := ","
		if i == 0 {
			before = "{"
		}
		t := typed.Type{}
		if c.Type != JSON {
			if t, err = typed.Parse(c.Type); err != nil {
				return nil, err
			}
		}
		e.names, e.before = append(e.names, c.Name), append(e.before, before+string(name)+":")
		e.types, e.raw = append(e.types, t), append(e.raw, c.Type == JSON)
	}
	return e, nil
}

func (e *ndjsonEncoder) Add(fields [][]byte) (err error) {
	for i, field := range fields {
		e.text = append(e.text, e.before[i]...)
		switch {
		case len(field) == 0:
			e.text = append(e.text, "null"...)
		case e.raw[i]:
			e.text = append(e.text, field...)
		default:
			if e.text, err = e.types[i].AppendJSON(e.text, field); err != nil {
				return typed.OfColumn(e.names[i], err)
			}
		}
	}
	e.text = append(e.text, "}\n"...)
	return nil
}

func (e *ndjsonEncoder) Finish() ([]byte, error) { return e.text, nil }
