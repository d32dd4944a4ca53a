package glm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset"
)

// run runs the job and returns its result as JSON.
func run(t *testing.T, pairs ...string) (string, error) {
	t.Helper()
	job := jobs.MustNewRounds(Definition)
	params, err := job.Params(nil, pairs...)
	if err != nil {
		return "", err
	}
	done, err := jobs.Local{Grant: jobs.Grant{Files: []string{"/"}}, Slots: 2}.Run(t.Context(), job, params)
	return string(done.Result), err
}

// write writes a file into a folder and returns its name.
func write(t *testing.T, folder, name, content string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// trial is the model of Dobson's trial.
var trial = []string{"family=poisson", "target=counts", "columns=outcome2,outcome3,treatment2,treatment3"}

// TestFormatsAndBlocks fits the same rows from one file and from several, in CSV, JSON and Parquet, cut into blocks
// of some sizes. The result has the same bytes.
func TestFormatsAndBlocks(t *testing.T) {
	type record struct {
		Counts     int64   `parquet:"counts"`
		Outcome2   float64 `parquet:"outcome2"`
		Outcome3   int32   `parquet:"outcome3"`
		Treatment2 float32 `parquet:"treatment2"`
		Treatment3 float64 `parquet:"treatment3"`
	}
	text, err := os.ReadFile("testdata/dobson.csv")
	if err != nil {
		t.Fatal(err)
	}
	header, lines, _ := strings.Cut(string(text), "\n")
	dir, several := t.TempDir(), t.TempDir()
	var objects strings.Builder
	var rows []record
	for i, line := range strings.Fields(lines) {
		var r record
		if _, err := fmt.Sscanf(line, "%d,%f,%d,%f,%f", &r.Counts, &r.Outcome2, &r.Outcome3, &r.Treatment2, &r.Treatment3); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
		fmt.Fprintf(&objects, `{"treatment3":%v,"counts":%d,"outcome2":"%v","outcome3":%d,"treatment2":%v}`+"\n", r.Treatment3, r.Counts, r.Outcome2, r.Outcome3, r.Treatment2)
		write(t, several, fmt.Sprint(9-i, ".csv"), header+"\n"+line+"\n")
	}
	columnar := filepath.Join(dir, "a.parquet")
	if err := parquet.WriteFile(columnar, rows); err != nil {
		t.Fatal(err)
	}
	want, err := run(t, append(trial, "input=testdata/dobson.csv")...)
	if err != nil {
		t.Fatal(err)
	}
	for _, input := range []string{"testdata/dobson.csv", several, write(t, dir, "a.ndjson", objects.String()), columnar} {
		for _, block := range []int{1, 20, 77, 1000} {
			got, err := run(t, append(trial, "input="+input, fmt.Sprint("block=", block))...)
			if err != nil || got != want {
				t.Errorf("%s, block %d: got %s, error %v, want %s", input, block, got, err, want)
			}
		}
	}
}

// TestCheck checks that partials, states and results are the same in runs with other slots and cuts.
func TestCheck(t *testing.T) {
	job := jobs.MustNewRounds(Definition)
	params, err := job.Params(nil, "input=testdata/mtcars.csv", "family=logistic", "target=am", "columns=wt,hp", "block=40")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (jobs.Check{Slots: 4, Grant: jobs.Grant{Files: []string{"/"}}}).Run(t.Context(), job, params); err != nil {
		t.Error(err)
	}
}

// TestBadRows checks that errors name the object, the row and the column, and that on-error=skip leaves such rows out.
func TestBadRows(t *testing.T) {
	good := "1,0\n2,1\n3,0\n4,1\n5,1\n"
	for _, c := range []struct{ family, row, want string }{
		{"linear", "NaN,1", `x,y.csv: byte 24: column "x" is "NaN": want a number from -1e+100 to 1e+100`},
		{"linear", "1,-Inf", `column "y" is "-Inf": want a number from -1e+100 to 1e+100`},
		{"linear", "1e200,1", `column "x" is "1e200": want a number from -1e+100 to 1e+100`},
		{"linear", "1,2e400", `column "y" is "2e400": want a number`},
		{"linear", ",1", `column "x" is "": want a number`},
		{"linear", "1,", `column "y" is "": want a number`},
		{"linear", "red,1", `column "x" is "red": want a number`},
		{"logistic", "1,2", `column "y" is "2": want 0 or 1`},
		{"logistic", "1,0.5", `column "y" is "0.5": want 0 or 1`},
		{"poisson", "1,-1", `column "y" is "-1": want a count: a whole number from 0 to 2^53`},
		{"poisson", "1,1.5", `column "y" is "1.5": want a count: a whole number from 0 to 2^53`},
	} {
		name := write(t, t.TempDir(), "x,y.csv", "x,y\n"+good+c.row+"\n7,1\n")
		pairs := []string{"input=" + strings.ReplaceAll(name, ",", "?"), "family=" + c.family, "target=y", "columns=x"}
		if got, err := run(t, pairs...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %s: got %s, error %v, want %s", c.family, c.row, got, err, c.want)
		}
		clean := write(t, t.TempDir(), "clean.csv", "x,y\n"+good+"7,1\n")
		want, err := run(t, append(pairs, "input="+clean)...)
		if err != nil {
			t.Fatal(err)
		}
		want = strings.ReplaceAll(want, `"rows_skipped":0`, `"rows_skipped":1`)
		if got, err := run(t, append(pairs, "on-error=skip")...); err != nil || got != want {
			t.Errorf("%s: %s is skipped: got %s, error %v, want %s", c.family, c.row, got, err, want)
		}
	}
}

// TestBadParquet checks the values that text does not have.
func TestBadParquet(t *testing.T) {
	type record struct {
		X *float64 `parquet:"x,optional"`
		Y float64  `parquet:"y"`
	}
	number := func(v float64) *float64 { return &v }
	for _, bad := range []*float64{nil, number(math.NaN()), number(math.Inf(1))} {
		name := filepath.Join(t.TempDir(), "a.parquet")
		if err := parquet.WriteFile(name, []record{{number(1), 0}, {bad, 1}, {number(3), 0}}); err != nil {
			t.Fatal(err)
		}
		_, err := run(t, "input="+name, "target=y", "columns=x")
		if err == nil || !strings.Contains(err.Error(), "a.parquet") || !strings.Contains(err.Error(), "row 2 of the row group") || !strings.Contains(err.Error(), `column "x"`) {
			t.Errorf("got error %v", err)
		}
	}
}

func TestBadParameters(t *testing.T) {
	for pairs, want := range map[string]string{
		"target=y;columns=":                                          "parameter columns",
		"target=y;columns=x,y":                                       `parameter columns: "y" is the target, which cannot explain itself`,
		"target=y;columns=x,z, x":                                    `parameter columns: "x" is there twice`,
		"target=y;columns=x,,z":                                      "takes names that are separated by commas",
		"target=y;columns=price":                                     `no column "price"`,
		"target=price;columns=x":                                     `no column "price"`,
		"target=y;columns=x;ridge=-1":                                "ridge",
		"target=y;columns=x;rounds=1":                                "rounds",
		"target=y;columns=x;family=id":                               "family",
		"target=y;columns=" + strings.Repeat("x,", maxColumns) + "z": "takes at most 256",
	} {
		name := write(t, t.TempDir(), "a.csv", "x,y,z\n1,2,3\n")
		if _, err := run(t, append(strings.Split(pairs, ";"), "input="+name)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %s", pairs, err, want)
		}
	}
	empty := write(t, t.TempDir(), "a.csv", "x,y\n")
	if _, err := run(t, "input="+empty, "target=y", "columns=x"); err == nil || !strings.Contains(err.Error(), "the input has 0 rows for 2 coefficients") {
		t.Errorf("without rows: got error %v", err)
	}
}

// TestCancelled checks that a partition ends with its context.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := compute(ctx, params("linear", "y", "x"), state{}, dataset.Place{}, []float64{1, 2}); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v", err)
	}
}
