package scan

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestUnionByName checks that groups of objects with different columns are the same in CSV and in Parquet, in each block size.
func TestUnionByName(t *testing.T) {
	folder := t.TempDir()
	var first, second strings.Builder
	first.WriteString("host,ms\n")
	second.WriteString("ms,status,host\n")
	for i := range 300 {
		fmt.Fprintf(&first, "h%d,%d\n", i%3, i)
		fmt.Fprintf(&second, "%d,%d,h%d\n", i, 200+i%2, i%2)
	}
	for name, text := range map[string]string{"a.csv": first.String(), "b.csv": second.String(), "c.csv": "status\n404\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	typed := filepath.Join(t.TempDir(), "typed")
	for i, name := range []string{"a", "b", "c"} {
		args := []string{"input=" + filepath.Join(folder, name+".csv"), "output=" + filepath.Join(typed, fmt.Sprint(i)), "output-format=parquet", "types=" + []string{"ms:integer", "ms:decimal(6,1),status:integer", "status:integer"}[i]}
		if _, err := scan(t, args...); err != nil {
			t.Fatal(err)
		}
	}
	for _, query := range []struct{ args, want string }{
		{"by=host aggregate=count,sum(ms),max(ms)", `"rows":[["",1,null,null],["h0",250,"37200","298"],["h1",250,"37450","299"],["h2",100,"15050","299"]]`},
		{"by=host aggregate=count,sum(ms),count(status)", `"rows":[["",1,null,1],["h0",250,"37200",150],["h1",250,"37450",150],["h2",100,"15050",0]]`},
		{"by=status aggregate=count where=ms>=298", `"rows":[["",2],["200",1],["201",1]]`},
		{"where=status==404", `"rows":[["","","404"]]`},
	} {
		for _, source := range []string{folder + "/*.csv", typed + "/*/*.parquet"} {
			for _, block := range []string{"50", "1000", "100000"} {
				got, err := scan(t, append(strings.Split(query.args, " "), "input="+source, "union=by-name", "block="+block)...)
				if got = strings.ReplaceAll(got, `.0"`, `"`); err != nil || !strings.Contains(got, query.want) {
					t.Errorf("%s of %s, blocks of %s bytes: got %s, %v, want %s", query.args, source, block, got, err, query.want)
				}
			}
		}
	}
	out := filepath.Join(t.TempDir(), "out")
	if _, err := scan(t, "input="+typed+"/*/*.parquet", "union=by-name", "output="+out, "output-format=parquet"); err != nil {
		t.Fatal(err)
	}
	wantSchema(t, out, "host:text ms:decimal status:integer")
	if _, err := scan(t, "input="+folder+"/*.csv", "aggregate=count"); err == nil || !strings.Contains(err.Error(), "header differs") {
		t.Errorf("without union: got %v, want an error", err)
	}
}
