package console

import (
	"encoding/csv"
	"reflect"
	"strings"
	"testing"
)

// TestCSVWriterWritesEmptyFields checks that a reader gets back records of one empty field.
func TestCSVWriterWritesEmptyFields(t *testing.T) {
	records := [][]string{{"name"}, {""}, {"a,b"}, {""}}
	var out strings.Builder
	w := NewCSVWriter(&out)
	for _, r := range records {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "name\n\"\"\n\"a,b\"\n\"\"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	got, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
	if err != nil || !reflect.DeepEqual(got, records) {
		t.Errorf("read back %q, %v, want %q", got, err, records)
	}
}

type inner struct {
	Both  int `json:"both"`
	Lists []int
}

type item struct {
	inner
	Both    string `json:"both"`
	Hidden  int    `json:"-"`
	Missing string `json:"missing,omitempty"`
}

// TestShowCSV checks that each member of a JSON has a column, also if the first item does not have it.
func TestShowCSV(t *testing.T) {
	for _, tt := range []struct {
		value any
		want  string
	}{
		{[]item{}, "Lists,both,missing\n"},
		{[]item{{}, {inner: inner{Lists: []int{1, 2}}, Both: "x", Missing: "y"}}, "Lists,both,missing\n,,\n\"[1,2]\",x,y\n"},
		{&item{Both: "x"}, "Lists,both,missing\n,x,\n"},
	} {
		var out strings.Builder
		a := &App{Output: OutputCSV}
		a.Out = &out
		if err := a.Show(tt.value, nil); err != nil {
			t.Fatal(err)
		}
		if out.String() != tt.want {
			t.Errorf("got %q, want %q", out.String(), tt.want)
		}
	}
}
