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
		"{\"a\":1}\n" + strings.Repeat("{}\n", 30_000) + "{\"a\":2,\"late\":3}\n": `the member "late" is not in the first records of the input: give the members to read`,
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
{"a":{"c":{"d":null},"b":"\u00e9"},"a.b":3}
{"a":[{"b":1}],"e":"{"}
`)
	got, err := scan(t, "input="+name, "columns=a.b,a.c.d,e,a.c", "where=e != 'q'")
	if want := `"rows":[["1","x\ty","2","{\"d\":\"x\\ty\"}"],["3","","","{\"d\":null}"],["","","{",""]]`; err != nil || !strings.Contains(got, want) {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}
