package typed

import (
	"encoding/json"
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/bellwether-compute/bellwether/jobs/fuzztest"
)

// TestJSON checks the JSON values of fields, and the fields that are refused.
func TestJSON(t *testing.T) {
	for _, c := range []struct{ typ, field, want string }{
		{"integer", "9223372036854775807", "9223372036854775807"},
		{"integer", "+07", "7"},
		{"integer", "1.0", "1"},
		{"integer", "1.5", ""},
		{"integer", "9223372036854775808", ""},
		{"integer", "x", ""},
		{"decimal", "123456789012345678901234567890.10", "123456789012345678901234567890.10"},
		{"decimal", "007.50", "7.50"},
		{"decimal", ".5", "0.5"},
		{"decimal", "NaN", ""},
		{"decimal(4,2)", "-99.99", "-99.99"},
		{"decimal(4,2)", "99.990", "99.990"},
		{"decimal(4,2)", "100", ""},
		{"decimal(4,2)", "0.001", ""},
		{"float", "0.1", "0.1"},
		{"float", "1e3", "1e3"},
		{"float", "1e400", ""},
		{"timestamp", "9999-12-31T23:59:59-01:00", ""},
		{"float", "Infinity", `"+Inf"`},
		{"float", "-Inf", `"-Inf"`},
		{"float", "NaN", `"NaN"`},
		{"float", "0x10", ""},
		{"float", "one", ""},
		{"boolean", "TRUE", "true"},
		{"boolean", "false", "false"},
		{"boolean", "1", ""},
		{"date", "2026-11-22", `"2026-11-22"`},
		{"date", "2026-11-31", ""},
		{"date", "2026-11-22T00:00:00Z", ""},
		{"timestamp", "2026-11-22T21:04:00.5+01:00", `"2026-11-22T20:04:00.5Z"`},
		{"timestamp", "2026-11-22 21:04:00", `"2026-11-22T21:04:00Z"`},
		{"timestamp", "2026-11-22", `"2026-11-22T00:00:00Z"`},
		{"timestamp", "2026-11-22T21:04:00.0000001Z", ""},
		{"timestamp(ns)", "2026-11-22T21:04:00.0000001Z", `"2026-11-22T21:04:00.0000001Z"`},
		{"timestamp(ns)", "1600-01-01", ""},
		{"text", "a\"\x01<", `"a\"\u0001\u003c"`},
	} {
		typ, err := Parse(c.typ)
		if err != nil || typ.String() != c.typ {
			t.Fatalf("%s: got %s, %v", c.typ, typ, err)
		}
		got, err := typ.AppendJSON(nil, []byte(c.field))
		if _, refused := errors.AsType[*Error](err); refused != (c.want == "") || !refused && (string(got) != c.want || !json.Valid(got)) {
			t.Errorf("%s %q: got %s, %v, want %s", c.typ, c.field, got, err, c.want)
		}
	}
	for _, name := range []string{"", "number", "decimal(0,0)", "decimal(39,1)", "decimal(2,3)", "decimal(2)", "decimal(a,b)", "decimal(5,2"} {
		if typ, err := Parse(name); err == nil {
			t.Errorf("%q: got %s, want an error", name, typ)
		}
	}
}

// FuzzJSON checks that each value is valid JSON, and is read as the same value again.
func FuzzJSON(f *testing.F) {
	types := []string{"text", "integer", "decimal", "decimal(20,3)", "float", "boolean", "date", "timestamp", "timestamp(ns)"}
	for i, field := range []string{"a", "-1", "1.50", "1e3", "NaN", "true", "2026-11-22", "2026-11-22T21:04:00.5Z", "1e999"} {
		f.Add(uint8(i), field)
	}
	corpus := fuzztest.Watch(f)
	f.Fuzz(func(t *testing.T, which uint8, field string) {
		typ, err := Parse(types[int(which)%len(types)])
		if err != nil {
			t.Fatal(err)
		}
		value, err := typ.AppendJSON(nil, []byte(field))
		if err != nil || !utf8.ValidString(field) { // fields are UTF-8
			corpus.Refused()
			return
		}
		corpus.Taken()
		if !json.Valid(value) {
			t.Fatalf("%s %q: %s is no JSON", typ, field, value)
		}
		text := string(value)
		if value[0] == '"' && json.Unmarshal(value, &text) != nil {
			t.Fatalf("%s is no text", value)
		}
		if again, err := typ.AppendJSON(nil, []byte(text)); err != nil || string(again) != string(value) {
			t.Errorf("%s %q: got %s, %v, then %s", typ, field, value, err, again)
		}
	})
}
