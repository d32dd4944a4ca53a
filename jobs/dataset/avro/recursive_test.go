package avro

import (
	"fmt"
	"strings"
	"testing"
)

// A record that is named in its own declaration has all of its fields there.
func TestRecordInItself(t *testing.T) {
	schema, err := parseSchema([]byte(`{"type":"record","name":"R","fields":[{"name":"next","type":["null",{"type":"R"}]},{"name":"v","type":"int"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if next := schema.fields[0].typ.union[1]; next != schema {
		t.Errorf("the record has another type in itself, with %d fields", len(next.fields))
	}
	for _, twice := range []string{`["R","R"]`, `["int",{"type":"int","logicalType":"date"}]`, `[{"type":"map","values":"int"},{"type":"map","values":"long"}]`} {
		_, err := parseSchema([]byte(`{"type":"record","name":"R","fields":[{"name":"a","type":` + twice + `}]}`))
		if err == nil || !strings.Contains(err.Error(), "the same type twice") {
			t.Errorf("%s: got %v, want an error", twice, err)
		}
	}
}

// The plan of a path through records that contain one another is made once for each type and member.
func TestPathThroughRecursiveSchema(t *testing.T) {
	var union []string
	for i := range 30 {
		union = append(union, fmt.Sprintf(`{"type":"record","name":"R%d","fields":[{"name":"a","type":"Root"}]}`, i))
	}
	schema, err := parseSchema([]byte(`{"type":"record","name":"Root","fields":[{"name":"a","type":[` + strings.Join(union, ",") + `]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	path := "a" + strings.Repeat(".a", 19)
	if _, missing := (&File{schema: schema}).Select([]string{path, path + ".b"}); len(missing) != 1 {
		t.Errorf("missing are %q, want one name", missing)
	}
}
