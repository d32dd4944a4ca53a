package scan

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/dataset"
	"github.com/bellwether-compute/bellwether/jobs/dataset/output"
	"github.com/bellwether-compute/bellwether/jobs/dataset/parquet"
)

// wantSchema checks the columns of the manifest, and those of each Parquet object.
func wantSchema(t *testing.T, folder, want string) {
	t.Helper()
	_, m := rowsOf(t, folder)
	var list []string
	for _, c := range m.Columns {
		list = append(list, c.Name+":"+c.Type)
	}
	if got := strings.Join(list, " "); got != want {
		t.Errorf("the manifest has %s, want %s", got, want)
	}
	for _, p := range m.Objects {
		content, err := output.Content(granted(t), dataset.Open(granted(t)), p)
		if err != nil || m.Format != output.Parquet {
			return
		}
		f, err := parquet.Open(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			t.Fatal(err)
		}
		for i, typ := range f.Typed() {
			list[i] = f.Columns()[i] + ":" + typ.String()
		}
		if got := strings.Join(list, " "); got != strings.ReplaceAll(want+" ", ":decimal ", ":float ")[:len(got)] {
			t.Errorf("%s has %s, want %s", p.Name, got, want)
		}
	}
}

// typedRows are values of all types that Parquet and JSON keep, at their limits too.
var typedTypes = []string{"integer", "decimal(9,2)", "decimal(18,6)", "decimal(38,10)", "float", "boolean", "date", "timestamp", "timestamp(ns)", "text"}

var typedRows = [][]string{
	{"9223372036854775807", "-1234567.89", "123456789012.345678", "-1234567890123456789012345678.0123456789", "0.1", "true", "2026-11-22", "2026-11-22T21:04:00.000001Z", "2026-11-22T21:04:00.000000001Z", "007"},
	{"-9223372036854775808", "0.01", "-0.000001", "99999999999999999999.0000000001", "NaN", "false", "1901-01-01", "0001-01-01T00:00:00Z", "1901-01-01T00:00:00Z", "a \"b\"\n"},
	{"", "", "", "", "", "", "", "", "", ""},
	{"9007199254740993", "1.00", "1.000000", "1.0000000000", "-Inf", "true", "1969-12-31", "9999-12-31T23:59:59.999999Z", "2262-01-01T00:00:00Z", "x"},
}

func writeTyped(t *testing.T) (name, types string) {
	t.Helper()
	names := strings.Split("i d9 d18 d38 f b day at ns t", " ")
	w, err := parquet.NewWriter(names, typedTypes)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range typedRows {
		fields := make([][]byte, len(row))
		for i, field := range row {
			fields[i] = []byte(field)
		}
		if err := w.Add(fields); err != nil {
			t.Fatal(err)
		}
	}
	content, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	name = filepath.Join(t.TempDir(), "typed.parquet")
	if err := os.WriteFile(name, content, 0o666); err != nil {
		t.Fatal(err)
	}
	var list []string
	for i, name := range names {
		list = append(list, name+":"+typedTypes[i])
	}
	return name, strings.Join(list, " ")
}

// TestTypesOfParquet checks that the rows of a Parquet object keep their types and all their digits.
func TestTypesOfParquet(t *testing.T) {
	input, types := writeTyped(t)
	for _, order := range []string{"", "i"} {
		folder := filepath.Join(t.TempDir(), "out")
		args := []string{"input=" + input, "output=" + folder, "output-format=parquet"}
		if order != "" {
			args = append(args, "order="+order, "limit=4")
		}
		if _, err := scan(t, args...); err != nil {
			t.Fatal(err)
		}
		wantSchema(t, folder, types)
		before, err := scan(t, "input="+input, "order=i")
		if err != nil {
			t.Fatal(err)
		}
		after, err := scan(t, "input="+folder+"/*.parquet", "order=i")
		if err != nil || after[:strings.Index(after, `"rows_read"`)] != before[:strings.Index(before, `"rows_read"`)] {
			t.Errorf("got %s, %v, want %s", after, err, before)
		}
	}
	folder := filepath.Join(t.TempDir(), "out")
	if _, err := scan(t, "input="+input, "output="+folder, "output-format=ndjson"); err != nil {
		t.Fatal(err)
	}
	wantSchema(t, folder, types)
	want := []string{
		`{"i":9223372036854775807,"d9":-1234567.89,"d18":123456789012.345678,"d38":-1234567890123456789012345678.0123456789,"f":0.1,"b":true,"day":"2026-11-22","at":"2026-11-22T21:04:00.000001Z","ns":"2026-11-22T21:04:00.000000001Z","t":"007"}` + "\n",
		`{"i":-9223372036854775808,"d9":0.01,"d18":-0.000001,"d38":99999999999999999999.0000000001,"f":"NaN","b":false,"day":"1901-01-01","at":"0001-01-01T00:00:00Z","ns":"1901-01-01T00:00:00Z","t":"a \"b\"\n"}` + "\n",
		`{"i":null,"d9":null,"d18":null,"d38":null,"f":null,"b":null,"day":null,"at":null,"ns":null,"t":null}` + "\n",
		`{"i":9007199254740993,"d9":1.00,"d18":1.000000,"d38":1.0000000000,"f":"-Inf","b":true,"day":"1969-12-31","at":"9999-12-31T23:59:59.999999Z","ns":"2262-01-01T00:00:00Z","t":"x"}` + "\n",
	}
	if rows, _ := rowsOf(t, folder); !slices.Equal(rows, want) {
		t.Errorf("got %q, want %q", rows, want)
	}
}

// TestTypesOfResults checks the types of aggregates and of derived columns, and that sums of the output are those of the input.
func TestTypesOfResults(t *testing.T) {
	input, _ := writeTyped(t)
	for _, c := range []struct{ query, want string }{
		{
			"by=b,day aggregate=count,sum(i),sum(d9),sum(d38),min(day),max(at),max(d18),mean(i),distinct(t),top(t,1) where=f==f",
			"b:boolean day:date count:integer sum(i):decimal(38,0) sum(d9):decimal(38,2) sum(d38):decimal(38,10) min(day):date max(at):timestamp max(d18):decimal(18,6) mean(i):float distinct(t):integer top(t,1):text",
		},
		{
			"columns=p,q,r,s,u,v,w,x let=p=i*d9;q=i>0;r=year(day);s=date_trunc('day',at);u=d9/3;v=t+'!';w=f*2;x=i>0?d9:d18",
			"p:decimal(38,2) q:boolean r:integer s:timestamp u:float v:text w:decimal x:decimal(38,6)",
		},
		{"aggregate=sum(i),max(b),count types=sum(i):decimal(30,3),max(b):text,count:float", "sum(i):decimal(30,3) max(b):text count:float"},
	} {
		for _, format := range []string{"parquet", "ndjson"} {
			folder := filepath.Join(t.TempDir(), "out")
			args := append(strings.Split(c.query, " "), "input="+input, "output="+folder, "output-format="+format)
			if _, err := scan(t, args...); err != nil {
				t.Errorf("%s: %v", c.query, err)
				continue
			}
			wantSchema(t, folder, c.want)
		}
	}
}

// TestTypesOfText checks that columns of text stay text, unless the parameter types says what they are.
func TestTypesOfText(t *testing.T) {
	input := write(t, "a.csv", "id,amount,at\n1,10.50,2026-11-22 21:04:00\n02,0.1,\n3,+7,2026-11-23\n")
	for _, c := range []struct{ types, format, schema, first string }{
		{"", "ndjson", "id:text amount:text at:text", `{"id":"1","amount":"10.50","at":"2026-11-22 21:04:00"}`},
		{"id:integer, amount:decimal(9,2),at:timestamp", "ndjson", "id:integer amount:decimal(9,2) at:timestamp", `{"id":1,"amount":10.50,"at":"2026-11-22T21:04:00Z"}`},
		{"id:integer, amount:decimal(9,2),at:timestamp", "parquet", "id:integer amount:decimal(9,2) at:timestamp", ""},
		{"amount:decimal", "parquet", "id:text amount:decimal at:text", ""},
	} {
		folder := filepath.Join(t.TempDir(), "out")
		if _, err := scan(t, "input="+input, "output="+folder, "output-format="+c.format, "types="+c.types, "block=20"); err != nil {
			t.Errorf("%s: %v", c.types, err)
			continue
		}
		wantSchema(t, folder, c.schema)
		if rows, _ := rowsOf(t, folder); c.first != "" && rows[0] != c.first+"\n" {
			t.Errorf("%s: got %s, want %s", c.types, rows[0], c.first)
		}
		got, err := scan(t, "input="+folder+"/", "aggregate=sum(amount),count(at)")
		if err != nil || !strings.Contains(got, `"rows":[["17.60",2]]`) && !strings.Contains(got, `"rows":[["17.6",2]]`) {
			t.Errorf("%s: got %s, %v", c.types, got, err)
		}
	}
}

// TestSumsOfText checks that sums of columns of text in Parquet have the values and types of those in CSV.
func TestSumsOfText(t *testing.T) {
	input := write(t, "a.csv", "a,b\n1,2\n10,0.50\n,3\n+7,1e3\n")
	copied := filepath.Join(t.TempDir(), "copy")
	if _, err := scan(t, "input="+input, "output="+copied, "output-format=parquet"); err != nil {
		t.Fatal(err)
	}
	wantSchema(t, copied, "a:text b:text")
	want := []string{
		`{"a":"1","s":3,"p":2,"m":-1,"j":"12"}`, `{"a":"10","s":10.5,"p":5,"m":-10,"j":"100.50"}`,
		`{"a":null,"s":null,"p":null,"m":null,"j":"3"}`, `{"a":"+7","s":1007,"p":7000,"m":-7,"j":"+71e3"}`,
	}
	for _, in := range []string{input, copied + "/"} {
		folder := filepath.Join(t.TempDir(), "out")
		if _, err := scan(t, "input="+in, "output="+folder, "output-format=ndjson", "let=s=a+b;p=a*b;m=-a;j=\"\"+a+b", "columns=a,s,p,m,j"); err != nil {
			t.Fatal(err)
		}
		wantSchema(t, folder, "a:text s:decimal p:decimal m:decimal j:text")
		if rows, _ := rowsOf(t, folder); strings.Join(rows, "") != strings.Join(want, "\n")+"\n" {
			t.Errorf("%s: got  %q\nwant %q", in, rows, want)
		}
	}
}

func TestTypesThatAreRefused(t *testing.T) {
	input := write(t, "a.csv", "id,t\n1,x\n2,y\nz,1\n")
	for _, c := range []struct{ args, want string }{
		{"types=id:number output-format=ndjson", `column "id": there is no type "number"`},
		{"types=id:decimal(39,2) output-format=ndjson", "at most 38"},
		{"types=id output-format=ndjson", "want a column and a type"},
		{"types=id:text,id:float output-format=ndjson", `column "id" has two types`},
		{"types=ID:integer output-format=ndjson", `no column "ID"`},
		{"types=id:integer", "output-format=parquet or ndjson"},
		{"types=id:integer output-format=ndjson", `a.csv: byte 13: column "id" of the output: "z" is no integer`},
		{"types=id:integer output-format=parquet order=t limit=1", `"z" is no integer`},
		{"by=id aggregate=count types=id:integer output-format=parquet", `"z" is no integer: give another type with the parameter types, such as types=id:text`},
	} {
		args := append(strings.Split(c.args, " "), "input="+input, "output="+filepath.Join(t.TempDir(), "out"))
		if _, err := scan(t, args...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.args, err, c.want)
		}
	}
	folder := filepath.Join(t.TempDir(), "out")
	got, err := scan(t, "types=id:integer", "output-format=ndjson", "on-error=skip", "input="+input, "output="+folder)
	if rows, m := rowsOf(t, folder); err != nil || m.Rows != 2 || rows[1] != "{\"id\":2,\"t\":\"y\"}\n" || !strings.Contains(got, `"rows_skipped":1`) {
		t.Errorf("skip: got %q, %s, %v", rows, got, err)
	}
}

// TestTypesOfJSON checks that the values of JSON objects stay as they are in NDJSON, in each order of the rows.
func TestTypesOfJSON(t *testing.T) {
	lines := []string{
		`{"k":3,"s":"3","big":9223372036854775808123,"deep":{"a":[1, 2]},"ok":true,"none":null,"e":""}`,
		`{"k":1,"s":"a\"\u00e9\n","big":1.50,"ok":false,"deep":{"a":"x"}}`,
		`{"s":"b","k":"1","big":1e400}`,
	}
	want := []string{
		`{"k":3,"s":"3","big":9223372036854775808123,"deep.a":[1, 2],"ok":true,"none":null,"e":"","d":6}` + "\n",
		`{"k":1,"s":"a\"é\n","big":1.50,"deep.a":"x","ok":false,"none":null,"e":null,"d":2}` + "\n",
		`{"k":"1","s":"b","big":1e400,"deep.a":null,"ok":null,"none":null,"e":null,"d":2}` + "\n",
	}
	input := write(t, "a.ndjson", strings.Join(lines, "\n")+"\n")
	for _, block := range []string{"10", "1000"} {
		for _, order := range []string{"", "s"} {
			folder := filepath.Join(t.TempDir(), "out")
			args := []string{"input=" + input, "output=" + folder, "output-format=ndjson", "columns=k,s,big,deep.a,ok,none,e,d", "let=d=k*2", "block=" + block}
			if order != "" {
				args = append(args, "order="+order, "limit=10")
			}
			if _, err := scan(t, args...); err != nil {
				t.Fatal(err)
			}
			if rows, _ := rowsOf(t, folder); !slices.Equal(rows, want) {
				t.Errorf("order %q: got  %q\nwant %q", order, rows, want)
			}
		}
	}
}
