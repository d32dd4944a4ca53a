package dataset

import (
	"context"
	"fmt"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/memory"
)

func TestPreview(t *testing.T) {
	events, _ := capture("snappy", 10, 20)
	typed, _ := parquetObject(t, 3)
	for _, c := range []struct{ name, content, want string }{
		{"a.csv", "id,price,city,none\n1,2.50,Oslo,\n-7,3,Rome,\n", "id integer price decimal city text none text"},
		{"a.csv", "id,price\n", "id text price text"},
		{"a.csv", "id\n1\nx,y\n2\n", "id integer"},
		{"a.csv", "", ""},
		{"a.csv", "id,text\n7,\"a\nb", "id text text text"},
		{"a.ndjson", `{"a":1,"b":"x","c":1e9}` + "\n" + `{"a":2,"d":null}`, "a integer c decimal d text"},
		{"a.txt", "12\n", "line integer"},
		{"a.avro", string(events), "SequenceNumber integer Offset text EnqueuedTimeUtc text SystemProperties text Properties text Body text"},
		{"a.avro", "", ""},
		{"a.parquet", string(typed), "id integer text text float float maybe float money decimal day text at text small float list text yes text"},
	} {
		files := new(memory.Driver)
		files.Put(c.name, []byte(c.content))
		j := Job[Input, int, int]{
			Name: "j", Version: "1", Defaults: Defaults(),
			Fold:   func(*int, *Record) error { return nil },
			Merge:  func(left, right int) (int, error) { return left + right, nil },
			Finish: func(context.Context, Input, int, Totals) (int, error) { return 0, nil },
		}
		if c.name == "a.ndjson" {
			j.Columns = func(Input) []string { return []string{"a", "c", "d"} }
		}
		job := jobs.MustNew(defineOn(j, files))
		params, err := job.Params(nil, "input="+c.name)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := job.Plan(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		got, err := job.Preview(t.Context(), params, plan)
		text := ""
		for i, column := range got.Columns {
			if i > 0 {
				text += " "
			}
			text += fmt.Sprint(column.Name, " ", column.Type)
		}
		if err != nil || text != c.want || got.Objects != 1 || got.Bytes != int64(len(c.content)) {
			t.Errorf("%q: got %q, %d objects, %d bytes, %v, want %q", c.content, text, got.Objects, got.Bytes, err, c.want)
		}
	}
}
