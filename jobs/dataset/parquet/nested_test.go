package parquet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	library "github.com/parquet-go/parquet-go"
)

// TestNestedDuckDB compares lists, maps and groups in them with the values that DuckDB 1.5.6, which has written them, gives as
// JSON. DuckDB has other forms of numbers, so the values are compared.
func TestNestedDuckDB(t *testing.T) {
	text, err := os.ReadFile("testdata/nested-duckdb.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	want := bytes.Split(bytes.TrimSpace(text), []byte{'\n'})
	for _, name := range []string{"testdata/nested-duckdb-V1.parquet", "testdata/nested-duckdb-V2.parquet"} {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got := readAll(t, content)
		if len(got) != len(want) || len(got) != 60 {
			t.Fatalf("%s: got %d rows, want %d", name, len(got), len(want))
		}
		for i := range got {
			var fields []*string
			if err := json.Unmarshal(want[i], &fields); err != nil {
				t.Fatal(err)
			}
			for column, field := range strings.Split(strings.TrimSuffix(got[i], "|"), "|") {
				if one := fields[column]; one == nil && field != "-" || one != nil && !equalJSON(t, field, *one) {
					t.Errorf("%s, row %d, column %d: got %s, want %v", name, i, column, field, *one)
				}
			}
		}
	}
}

func equalJSON(t *testing.T, got, want string) bool {
	t.Helper()
	var a, b any
	if err := json.Unmarshal([]byte(got), &a); err != nil {
		t.Error(got, err)
	}
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		t.Error(want, err)
	}
	return reflect.DeepEqual(a, b)
}

type point struct {
	X     float64 `parquet:"x" json:"x"`
	Name  *string `parquet:"name,optional" json:"name"`
	Marks []int32 `parquet:"marks,list" json:"marks"`
}

type texts struct {
	S []string `parquet:"s,list" json:"s"`
}

type nestedRow struct {
	ID     int64            `parquet:"id" json:"-"`
	Bare   []int64          `parquet:"bare" json:"bare"`
	Texts  []string         `parquet:"texts,list,dict" json:"texts"`
	Points []point          `parquet:"points,list" json:"points"`
	Groups []point          `parquet:"groups" json:"groups"`
	Counts map[string]int64 `parquet:"counts" json:"counts"`
	Deep   map[string]point `parquet:"deep" json:"deep"`
	In     struct {
		Lists []texts `parquet:"lists,list" json:"lists"`
		N     int64   `parquet:"n" json:"n"`
	} `parquet:"in" json:"in"`
}

func randomPoint(random *rand.Rand) point {
	p := point{X: float64(random.IntN(100)) / 4, Marks: make([]int32, random.IntN(3))}
	if random.IntN(3) > 0 {
		name := fmt.Sprint("name \"", random.IntN(5))
		p.Name = &name
	}
	for i := range p.Marks {
		p.Marks[i] = random.Int32() - 1<<30
	}
	return p
}

func randomNested(random *rand.Rand, id int) nestedRow {
	r := nestedRow{
		ID: int64(id), Bare: make([]int64, random.IntN(4)), Texts: make([]string, random.IntN(30)), Points: make([]point, random.IntN(4)),
		Groups: make([]point, random.IntN(3)), Counts: map[string]int64{}, Deep: map[string]point{},
	}
	for i := range r.Bare {
		r.Bare[i] = random.Int64() - 1<<62
	}
	for i := range r.Texts {
		r.Texts[i] = fmt.Sprint("text ", random.IntN(9), "\n")
	}
	for i := range r.Points {
		r.Points[i] = randomPoint(random)
	}
	for i := range r.Groups {
		r.Groups[i] = randomPoint(random)
	}
	for range random.IntN(5) {
		r.Counts[fmt.Sprint("key ", random.IntN(9))] = random.Int64N(1000)
		r.Deep[fmt.Sprint(random.IntN(9))] = randomPoint(random)
	}
	r.In.N, r.In.Lists = int64(id), make([]texts, random.IntN(3))
	for i := range r.In.Lists {
		r.In.Lists[i].S = make([]string, random.IntN(3))
	}
	return r
}

// TestNestedRandom compares random values with their JSON in Go. Small pages end within rows.
func TestNestedRandom(t *testing.T) {
	for version := 1; version <= 2; version++ {
		random := rand.New(rand.NewPCG(1, uint64(version)))
		var out bytes.Buffer
		w := library.NewGenericWriter[nestedRow](&out, library.DataPageVersion(version), library.PageBufferSize(100), library.MaxRowsPerRowGroup(170))
		var want []nestedRow
		for i := range 500 {
			want = append(want, randomNested(random, i))
		}
		if _, err := w.Write(want); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		r := bytes.NewReader(out.Bytes())
		f, err := Open(r, r.Size())
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(f.Columns(), f.Omitted()); got != "[id bare texts points groups counts deep in.lists in.n] []" {
			t.Fatalf("got the columns %s", got)
		}
		got := readAll(t, out.Bytes())
		if len(got) != len(want) {
			t.Fatalf("got %d rows, want %d", len(got), len(want))
		}
		for i, row := range want {
			line := fmt.Sprint(row.ID)
			for _, v := range []any{row.Bare, row.Texts, row.Points, row.Groups, row.Counts, row.Deep, row.In.Lists, row.In.N} {
				line += "|" + jsonOf(t, v)
			}
			if got[i] != line+"|" {
				t.Fatalf("version %d, row %d:\ngot  %s\nwant %s", version, i, got[i], line)
			}
		}
	}
}

// TestNestedValues writes values whose JSON is a string.
func TestNestedValues(t *testing.T) {
	type row struct {
		Floats []float64  `parquet:"floats,list"`
		Small  []float32  `parquet:"small,list"`
		Bytes  [][16]byte `parquet:"bytes,list"`
		Money  []int64    `parquet:"money,list" parquet-element:",decimal(2:9)"`
		Days   []int32    `parquet:"days,list" parquet-element:",date"`
		Yes    []bool     `parquet:"yes,list"`
		Ages   map[int32]*int64
	}
	age := int64(7)
	var out bytes.Buffer
	err := library.Write(&out, []row{{
		[]float64{math.NaN(), math.Inf(-1), 1e300, 0.1},
		[]float32{0.1},
		[][16]byte{{1, 2}},
		[]int64{-5},
		[]int32{-1},
		[]bool{true, false},
		map[int32]*int64{10: &age, 9: nil},
	}})
	if err != nil {
		t.Fatal(err)
	}
	got := readAll(t, out.Bytes())
	const want = `["NaN","-Inf",1e+300,0.1]|[0.1]|["01020000000000000000000000000000"]|[-0.05]|["1969-12-31"]|[true,false]|{"10":7,"9":null}|`
	if len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want %s", got, want)
	}
}

// TestListInNullGroup reads a list that is required, in a group that is null.
func TestListInNullGroup(t *testing.T) {
	type group struct {
		Texts []string `parquet:"texts,list"`
	}
	type row struct {
		In *group `parquet:"in,optional"`
	}
	var out bytes.Buffer
	if err := library.Write(&out, []row{{nil}, {&group{}}, {&group{[]string{"a"}}}}); err != nil {
		t.Fatal(err)
	}
	if got, want := readAll(t, out.Bytes()), []string{"-|", "[]|", `["a"]|`}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestNestedLimit refuses a list whose text is much larger than the object, because its items are one text of a dictionary.
func TestNestedLimit(t *testing.T) {
	type row struct {
		Texts []string `parquet:"texts,list,dict"`
	}
	for items, want := range map[int]bool{10_000: true, 70_000: false} {
		var out bytes.Buffer
		if err := library.Write(&out, []row{{slices.Repeat([]string{strings.Repeat("x", 1000)}, items)}}); err != nil {
			t.Fatal(err)
		}
		if got := readsAll(out.Bytes()); got != want {
			t.Errorf("%d items in %d bytes: read: %v, want %v", items, out.Len(), got, want)
		}
	}
}

// TestNestedDamage changes bytes of objects. Reading may fail, but must not panic, and must end.
func TestNestedDamage(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 9))
	for version := 1; version <= 2; version++ {
		var out bytes.Buffer
		w := library.NewGenericWriter[nestedRow](&out, library.DataPageVersion(version), library.PageBufferSize(100))
		for i := range 3 {
			if _, err := w.Write([]nestedRow{randomNested(random, i)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		refused := 0
		for i := 0; i < out.Len(); i += 11 {
			changed := bytes.Clone(out.Bytes())
			changed[i] += byte(1 + random.IntN(255))
			if !readsAll(changed) {
				refused++
			}
		}
		if refused == 0 {
			t.Errorf("version %d: no change was refused", version)
		}
	}
}

// readsAll reports whether all rows of an object can be read.
func readsAll(content []byte) bool {
	r := bytes.NewReader(content)
	f, err := Open(r, r.Size())
	if err != nil {
		return false
	}
	var columns []int
	for i := range f.Columns() {
		columns = append(columns, i)
	}
	for group := range f.Groups() {
		rows, err := openRows(f, group, columns, content)
		for ok := err == nil; ok && err == nil; {
			if ok, err = rows.Next(); ok && err == nil {
				for i := range columns {
					rows.Field(i, nil)
				}
			}
		}
		if err != nil {
			return false
		}
	}
	return true
}
