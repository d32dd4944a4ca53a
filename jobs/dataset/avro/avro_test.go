package avro

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/dataset/avro/avrotest"
	"github.com/bellwether-compute/bellwether/jobs/dataset/exact"
)

// read returns the texts of some columns, or of all.
func read(object []byte, columns ...string) (lines []string, err error) {
	f, err := ReadHeader(object)
	if err != nil {
		return nil, err
	}
	if len(columns) == 0 {
		columns = f.Columns()
	}
	s, missing := f.Select(columns)
	if missing != nil {
		return nil, fmt.Errorf("missing: %q", missing)
	}
	for rest := object[f.Size:]; len(rest) > 0; {
		b, err := f.Block(rest)
		if err != nil {
			return lines, err
		}
		if end := b.Size + len(f.Marker); end > len(rest) || string(rest[b.Size:end]) != string(f.Marker[:]) {
			return lines, ErrShort
		}
		rows, err := f.Rows(s, b, rest)
		if err != nil {
			return lines, err
		}
		for {
			ok, err := rows.Next()
			if err != nil {
				return lines, err
			}
			if !ok {
				break
			}
			lines = append(lines, line(rows, len(columns)))
		}
		rest = rest[b.Size+len(f.Marker):]
	}
	return lines, nil
}

// line returns the fields of a record. A missing value is empty, and a value in angle brackets.
func line(rows *Rows, columns int) string {
	if err := rows.Err(); err != nil {
		return err.Error()
	}
	var fields []string
	for i := range columns {
		var n exact.Number
		rows.Number(i, &n)
		rows.IsFloat(i)
		rows.IsTime(i)
		field, _ := rows.Field(i, nil)
		if field == nil {
			fields = append(fields, "")
		} else {
			fields = append(fields, "<"+string(field)+">")
		}
	}
	return strings.Join(fields, " ")
}

// TestForeignObjects reads objects of all types and codecs that hamba/avro 2.31 has written.
func TestForeignObjects(t *testing.T) {
	columns := strings.Fields("b i l f d raw s fix e maybe some money price day tms tus ats atus local id list tags in in.deep in.deep.a tags.a.b in.x")
	for _, codec := range []string{"null", "deflate", "snappy", "zstandard"} {
		object, err := os.ReadFile("testdata/hamba-" + codec + ".avro")
		if err != nil {
			t.Fatal(err)
		}
		got, err := read(object, columns...)
		if err != nil || len(got) != 5 {
			t.Fatalf("%s: got %q, %v, want 5 records", codec, got, err)
		}
		for n, line := range got {
			if want := foreign(n); line != want {
				t.Errorf("%s, record %d:\ngot  %s\nwant %s", codec, n, line, want)
			}
		}
	}
}

// foreign returns the values of record n.
func foreign(n int) string {
	maybe, deep := "", `{"a":[],"b":["x","\"y\""]}`
	if n%2 == 0 {
		maybe = fmt.Sprintf("<%d>", n)
	}
	in, a := fmt.Sprintf(`{"x":%d,"deep":%s,"four":"0908070%d"}`, n, deep, n), "<[]>"
	if n == 3 {
		in, deep, a = `{"x":3,"deep":null,"four":"09080703"}`, "", ""
	} else {
		deep = "<" + deep + ">"
	}
	return strings.Join([]string{
		fmt.Sprintf(`<%v> <%d> <%d> <%v> <%v> <{"n":%d}> <é`+"\n"+`> <0001020%d>`, n%2 == 1, -n, int64(n)<<40, float32(n)/10, float64(n)/8, n, n),
		[]string{"<SPADES>", "<HEARTS>"}[n%2], maybe, []string{"", "<text>", "<1.5>", "<HEARTS>", "<-Inf>"}[n],
		fmt.Sprintf("<-%d.01> <%d.005> <2026-11-22> <21:00:00%s> <21:00:00%s>", n, n, fraction(n, "00"), fraction(n, "00000")),
		fmt.Sprintf("<2026-11-22T21:04:0%d.5Z> <2026-11-22T21:04:0%d.5Z> <2026-11-22T21:04:0%d.5Z> <00112233-4455-6677-8899-aabbccddeeff>", n, n, n),
		fmt.Sprintf(`<[1,%d]> <{"a.b":%d,"m":null,"z":"q"}> <%s> %s %s <%d> <%d>`, n, n, in, deep, a, n, n),
	}, " ")
}

func fraction(n int, zeros string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(".%s%d", zeros, n)
}

const one = `{"type":"record","name":"r","fields":[{"name":"x","type":%s}]}`

// TestValues reads values of one type, of which some are bad.
func TestValues(t *testing.T) {
	long, text, record := avrotest.Long, avrotest.Text, avrotest.Record
	for _, c := range []struct {
		typ   string
		value []byte
		want  string
	}{
		{`"long"`, long(-1 << 63), "<-9223372036854775808>"},
		{`"int"`, long(1 << 31), "damaged"},
		{`"boolean"`, []byte{2}, "damaged"},
		{`"null"`, nil, ""},
		{`["null","null","long"]`, long(2), "the same type twice"},
		{`["null"]`, long(1), "damaged"},
		{`{"type":"enum","name":"e","symbols":["A"]}`, long(1), "damaged"},
		{`"bytes"`, text("\xff"), `"\xff" is not UTF-8`},
		{`"string"`, long(-2), "damaged"},
		{`"string"`, long(1 << 40), "damaged"},
		{`"double"`, avrotest.Double(1e-7), "<0.0000001>"},
		{`{"type":"array","items":"double"}`, record(long(-1), long(8), avrotest.Double(1.5), long(1), avrotest.Double(2), long(0)), "<[1.5,2]>"},
		{`{"type":"map","values":"long"}`, record(long(2), text("b"), long(1), text("a\""), long(2), long(0)), `<{"a\"":2,"b":1}>`},
		{`{"type":"map","values":"long"}`, record(long(1), text("b"), long(1), long(1), text("b"), long(2), long(0)), "a map has a key twice"},
		{`{"type":"array","items":{"type":"bytes","logicalType":"decimal","precision":4,"scale":2}}`, record(long(1), text("\xff"), long(0)), "<[-0.01]>"},
		{`{"type":"bytes","logicalType":"decimal","precision":4,"scale":2}`, text(""), "<0.00>"},
		{`{"type":"bytes","logicalType":"decimal","precision":4,"scale":2}`, text(strings.Repeat("\x01", 1000)), "a decimal has 1000 bytes"},
		{`{"type":"fixed","name":"d","size":12,"logicalType":"duration"}`, []byte("\x01\x00\x00\x00\x02\x00\x00\x00\xfa\x00\x00\x00"), "<P1M2DT0.25S>"},
		{`{"type":"fixed","name":"u","size":16,"logicalType":"uuid"}`, []byte(avrotest.Marker), "<30313233-3435-3637-3839-616263646566>"},
		{`{"type":"long","logicalType":"timestamp-nanos"}`, long(1), "<1970-01-01T00:00:00.000000001Z>"},
		{`{"type":"long","logicalType":"unknown"}`, long(1), "<1>"},
		{`{"type":"string","logicalType":"date"}`, text("a"), "<a>"},
		{`{"type":{"type":"long","logicalType":"timestamp-millis"}}`, long(0), "<1970-01-01T00:00:00Z>"},
		{`{"type":"array","items":"null"}`, record(long(1<<40), long(0)), "more than 16 values for each byte"},
		{`{"type":"array","items":"long"}`, record(long(-1<<63), long(0), long(0)), "damaged"},
		{`{"type":"record","name":"n","fields":[{"name":"n","type":["null","n"]}]}`, record(long(1), long(1), long(0)), `<{"n":{"n":{"n":null}}}>`},
		{`{"type":"record","name":"n","fields":[{"name":"n","type":["null","n"]}]}`, bytes.Repeat(long(1), 5000), "values are more than 1000 deep"},
		{`{"type":"record","name":"n","fields":[{"name":"n","type":"n"}]}`, nil, "values are more than 1000 deep"},
		{`{"type":"error","name":"ns.n","fields":[{"name":"e","type":{"type":"enum","name":"m","symbols":["A"]}},{"name":"f","type":"ns.m"}]}`, record(long(0), long(0)), `<{"e":"A","f":"A"}>`},
	} {
		got, err := read(avrotest.Object(fmt.Sprintf(one, c.typ), "null", 1, c.value))
		text := strings.Join(got, "|")
		if err != nil {
			text = err.Error()
		}
		if c.want == "" && text != "" || !strings.Contains(text, c.want) {
			t.Errorf("%s: got %s, want %s", c.typ, text, c.want)
		}
	}
}

// TestPaths reads members of values by their paths.
func TestPaths(t *testing.T) {
	const schema = `{"type":"record","name":"r","fields":[
		{"name":"a","type":["null","string",{"type":"record","name":"q","fields":[{"name":"b","type":["long","string"]},{"name":"next","type":["null","q"]}]}]},
		{"name":"m","type":{"type":"map","values":{"type":"map","values":"long"}}},
		{"name":"z","type":"string"}]}`
	long, text := avrotest.Long, avrotest.Text
	noMap := long(0)
	object := avrotest.Object(schema, "null", 10,
		avrotest.Record(long(0), noMap, text("1")),
		avrotest.Record(long(1), text("text"), noMap, text("2")),
		avrotest.Record(long(2), long(0), long(7), long(1), long(1), text("x"), long(0), long(2), text("k"), long(1), text("l"), long(5), long(0), text("o.p"), long(1), text("q"), long(6), long(0), long(0), text("3")),
		avrotest.Record(long(0), long(2), text("k"), long(1), text("l"), long(5), long(0), text("k.l"), long(0), long(0), text("4")),
	)
	got, err := read(object, "z", "a.b", "a.next.b", "a", "m.k.l", "m.o.p", "m.o.p.q", "z")
	want := []string{
		"<1>       <1>",
		"<2>   <text>    <2>",
		`<3> <7> <x> <{"b":7,"next":{"b":"x","next":null}}> <5> <{"q":6}> <6> <3>`,
		`two members of the record are named "m.k.l": want different names`,
	}
	if err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %v:\n%s\nwant\n%s", err, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, path := range []string{"b", "z.a", "a.c", "a.next.c", "a.b.c", ""} {
		if _, err := read(object, path, "z"); err == nil || !strings.Contains(err.Error(), "missing") {
			t.Errorf("%s: got %v, want that it is missing", path, err)
		}
	}
}

// TestTypes describes columns.
func TestTypes(t *testing.T) {
	object, err := os.ReadFile("testdata/hamba-null.avro")
	if err != nil {
		t.Fatal(err)
	}
	f, err := ReadHeader(object)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := f.Select([]string{"l", "f", "money", "maybe", "some", "day", "tus", "local", "in.x", "tags.k", "z"})
	if got, want := strings.Join(s.Types(), " "), "integer float decimal integer text text text text float text text"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(s.Typed()), "[integer float decimal(10,2) integer text date text timestamp float text text]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(s.Times()), "map[day:2026-11-22 local:2026-11-22T21:04:00Z tus:21:04:00]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestDamage changes and cuts objects. Every cut within a block is an error, and damage never makes the reader panic.
func TestDamage(t *testing.T) {
	for _, codec := range []string{"null", "deflate", "snappy", "zstandard"} {
		object, err := os.ReadFile("testdata/hamba-" + codec + ".avro")
		if err != nil {
			t.Fatal(err)
		}
		whole, err := read(object)
		if err != nil {
			t.Fatal(err)
		}
		for n := range object {
			got, err := read(object[:n])
			if err == nil && len(got)%2 != 0 {
				t.Errorf("%s: got %d records of %d bytes without an error, want blocks of 2", codec, len(got), n)
			}
			if n > 0 && err == nil && len(got) == len(whole) {
				t.Errorf("%s: got all records of %d bytes", codec, n)
			}
			changed := bytes.Clone(object)
			changed[n] ^= 0x41
			_, _ = read(changed)
		}
	}
}

func TestHeaders(t *testing.T) {
	record := fmt.Sprintf(one, `"long"`)
	for _, c := range []struct{ schema, codec, want string }{
		{record, "lzma", `the codec "lzma" cannot be read`},
		{"", "null", "the schema is not JSON"},
		{`"long"`, "null", "the schema is no record"},
		{`{"type":"record","name":"r"}`, "null", "has no list of fields"},
		{`{"type":"record","fields":[]}`, "null", "without a name"},
		{fmt.Sprintf(one, `"other"`), "null", `the schema has no type "other"`},
		{fmt.Sprintf(one, `["null",["null"]]`), "null", "a union in a union"},
		{fmt.Sprintf(one, `{"type":"fixed","name":"f","size":-1}`), "null", "has the size -1"},
		{fmt.Sprintf(one, `{"type":"fixed","name":"f","size":1e30}`), "null", "has the size 1e+30"},
		{fmt.Sprintf(one, `{"type":"record","name":"r","fields":[]}`), "null", `declares "r" twice`},
		{fmt.Sprintf(one, `{"type":"array"}`), "null", "a type that is"},
	} {
		if _, err := ReadHeader(avrotest.Header(c.schema, c.codec)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.schema, err, c.want)
		}
	}
	header := avrotest.Header(record, "null")
	for n := range header {
		if _, err := ReadHeader(header[:n]); !errors.Is(err, ErrShort) {
			t.Fatalf("%d bytes: got %v, want that it is short", n, err)
		}
	}
	if _, err := ReadHeader([]byte("PAR1")); err == nil || errors.Is(err, ErrShort) {
		t.Errorf("got %v, want that it is not Avro", err)
	}
}
