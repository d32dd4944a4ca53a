package parquet

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	library "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// float16Type is a type that the library does not have.
type float16Type struct{ library.Type }

func (float16Type) LogicalType() *format.LogicalType {
	return &format.LogicalType{Value: &format.Float16Type{}}
}

// write returns an object with one row group.
func write(t *testing.T, columns library.Group, rows ...[]string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := library.NewGenericWriter[any](&out, library.NewSchema("rows", columns))
	for _, fields := range rows {
		row := library.Row{}
		for i, field := range fields {
			v := library.ByteArrayValue([]byte(field))
			if node := columns.Fields()[i]; node.Type().Kind() == library.FixedLenByteArray {
				v = library.FixedLenByteArrayValue([]byte(field))
			}
			row = append(row, v.Level(0, 0, i))
		}
		if _, err := w.WriteRows([]library.Row{row}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestTypesOfBytes(t *testing.T) {
	content := write(t, library.Group{
		"a float": library.Leaf(float16Type{library.FixedLenByteArrayType(2)}),
		"b fixed": library.Leaf(library.FixedLenByteArrayType(3)),
		"c time":  library.IntervalNode(),
		"d bson":  library.BSON(),
		"e text":  library.Leaf(library.ByteArrayType),
	},
		[]string{"\x1c\x50", "abc", "\x0e\x00\x00\x00\x03\x00\x00\x00\xfa\x00\x00\x00", "\xff\x00", "é"},
		[]string{"\x00\xfc", "\x00\xfe\xff", "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", "", ""},
		[]string{"\x01\x00", "   ", "\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00", "a", "a"},
		[]string{"\x66\xae", "   ", "\xff\xff\xff\xff\x00\x00\x00\x00\xff\xff\xff\xff", "a", "a"},
	)
	want := []string{
		"32.875|616263|P14M3DT0.25S|ff00|é|",
		"-Inf|00feff|PT0S|||",
		"0.000000059604645|202020|P1D|61|a|",
		"-0.099975586|202020|P4294967295MT4294967.295S|61|a|",
	}
	if got := readAll(t, content); !slices.Equal(got, want) {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
}

// TestNoUTF8 checks that a text that is not UTF-8 is an error only if its column is read.
func TestNoUTF8(t *testing.T) {
	content := write(t, library.Group{"a": library.String(), "b": library.Leaf(library.ByteArrayType)}, []string{"a", "\xff"})
	r := bytes.NewReader(content)
	f, err := Open(r, r.Size())
	if err != nil {
		t.Fatal(err)
	}
	for column, want := range []string{"", `column "b": "\xff" is not UTF-8, and the type BYTE_ARRAY is read as text: leave the column out`} {
		rows, err := openRows(f, 0, []int{column}, content)
		if err != nil {
			t.Fatal(err)
		}
		_, err = rows.Next()
		_, unreadable := errors.AsType[*UnreadableError](err)
		if unreadable != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("column %d: got %v, want %q", column, err, want)
		}
	}
}

func TestEncrypted(t *testing.T) {
	content := write(t, library.Group{"a": library.String()}, []string{"a"})
	copy(content[len(content)-4:], "PARE")
	r := bytes.NewReader(content)
	if _, err := Open(r, r.Size()); err == nil || !strings.Contains(err.Error(), "encrypted") {
		t.Errorf("got %v, want that the object is encrypted", err)
	}
}
