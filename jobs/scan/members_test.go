package scan

import (
	"strings"
	"testing"
)

// TestAllMembers returns all members of JSON objects.
func TestAllMembers(t *testing.T) {
	for content, want := range map[string]string{
		"{\"b\":1,\"a\":\"x\"}\n\n{\"a\":2,\"c\":{\"d\":3}}\n{}\n": `"rows":[["1","x",""],["","2","{\"d\":3}"],["","",""]]`,
		"": `"rows":[]`,
		"{\"a\":1}\n" + strings.Repeat("{}\n", 30_000) + "{\"a\":2,\"late\":3}\n": `the member "late" is not in the first records of the input: add it to the parameter names, or give the members to read`,
	} {
		name := write(t, "a.ndjson", content)
		for _, block := range []string{"5", "1000000"} {
			if len(content) > 1000 && block == "5" {
				continue
			}
			got, err := scan(t, "input="+name, "block="+block)
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, want) {
				t.Errorf("%.40q, blocks of %s bytes: got %.300s, want %s", content, block, got, want)
			}
		}
	}
}

// TestMembersBelow returns members of objects in other objects.
func TestMembersBelow(t *testing.T) {
	name := write(t, "a.ndjson", `{"a":{"b":1,"c":{"d":"x\ty"}},"e":2}
{"a":{"c":{"d":null},"b":"\u00e9"}}
{"a":[{"b":1}],"e":"{"}
`)
	got, err := scan(t, "input="+name, "columns=a.b,a.c.d,e,a.c", "where=e != 'q'")
	if want := `"rows":[["1","x\ty","2","{\"d\":\"x\\ty\"}"],["é","","","{\"d\":null}"],["","","{",""]]`; err != nil || !strings.Contains(got, want) {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

// TestNamesOfMembers refuses records with two members of a name, and members that the first records lack
// unless the parameter names contains them.
func TestNamesOfMembers(t *testing.T) {
	const rest = "{\"a\":1,\"b\":{\"c\":2},\"d\":null}\n"
	for _, c := range []struct{ content, query, want string }{
		{"{\"a\":1,\"a\":2}\n", "columns=a", `byte 0: two members of the record are named "a": want different names`},
		{"{\"a\":1}\n{\"a\":1,\"\\u0061\":2}\n", "", `byte 8: two members of the record are named "a"`},
		{"{\"a\":1}\n{\"a\":1,\"a\":null}\n", "columns=a;on-error=skip", `"rows":[["1"]],"rows_read":1,`},
		{"{\"a\":{\"b\":1},\"a.b\":2}\n", "columns=a.b", `two members of the record are named "a.b"`},
		{"{\"a\":1,\"b\":2,\"b\":3}\n", "columns=a", `"rows":[["1"]]`},
		{"{\"a\":\"\\ud83d\\ude00\"}\n", "columns=a", `"rows":[["😀"]]`},
		{"{\"a\":\"x\\ud83d\"}\n", "columns=a", `byte 0: member "a" is "\\ud83d\"": half of a surrogate pair is no character`},
		{"{\"a\":{\"b\":\"\\udc00\\ud83d\"}}\n", "by=a.b;aggregate=count", `byte 0: member "a.b" is "\\udc00`},
		{"{\"b\":\"\\ud83d\",\"a\":1}\n", "columns=a", `"rows":[["1"]]`},
		{"{\"\\ud83d\":1}\n", "", `byte 0: the name of a member is "\\ud83d\"": half of a surrogate pair`},
		{rest, "columns=a,z", `there is no column "z": the columns are a, b, d (if later records have it, add it to the parameter names)`},
		{rest, "aggregate=count;where=z > 1", `there is no column "z"`},
		{rest, "columns=b.z", `there is no column "b.z"`},
		{rest, "columns=b.c,d", `"rows":[["2",""]]`},
		{rest, "columns=a,z;names=y,z", `"rows":[["1",""]]`},
		{rest + "{\"z\":7}\n", "names=z", `"rows":[["1","{\"c\":2}","",""],["","","","7"]]`},
		{strings.Repeat("{}\n", 30_000) + "{\"z\":7}\n", "columns=z;where=z > 1", `"rows":[["7"]]`},
		{"", "columns=z", `"rows":[]`},
		{"{}\n", "columns=z", `there is no column "z" (if later`},
	} {
		name := write(t, "a.ndjson", c.content)
		got, err := scan(t, append(strings.FieldsFunc(c.query, func(r rune) bool { return r == ';' }), "input="+name)...)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%.40q, %s: got %.300s, want %s", c.content, c.query, got, c.want)
		}
	}
}

// TestOnlyUnreadable refuses to return all columns of a Parquet object of which no column can be read.
func TestOnlyUnreadable(t *testing.T) {
	name := write(t, "wide.parquet", wideDecimals(t, 2, false))
	if got, err := scan(t, "input="+name); err == nil || !strings.Contains(err.Error(), "no column can be read, because of their types: list, wide; the rows can be counted") {
		t.Errorf("got %s, %v, want that no column can be read", got, err)
	}
	if got, err := scan(t, "input="+name, "aggregate=count"); err != nil || !strings.Contains(got, `"rows":[[2]]`) {
		t.Errorf("got %s, %v, want 2 rows", got, err)
	}
}
