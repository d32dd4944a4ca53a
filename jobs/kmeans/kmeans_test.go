package kmeans

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset"
	"github.com/bellwether-compute/bellwether/jobs/dataset/output"
	"github.com/bellwether-compute/bellwether/jobs/dataset/parquet"
)

var kmeans = jobs.MustNewRounds(Definition)

// irisColumns are the columns of numbers in testdata/iris.csv: Fisher, The use of multiple measurements in taxonomic
// problems, 1936, with the values of R's data set iris.
const irisColumns = "sepal_length,sepal_width,petal_length,petal_width"

// run runs the job in this process. Params are of the form name=value.
func run(t *testing.T, slots int, params ...string) (jobs.LocalResult, error) {
	t.Helper()
	p, err := kmeans.Params(nil, params...)
	if err != nil {
		t.Fatal(err)
	}
	return jobs.Local{Slots: slots, Attempts: 1, Grant: jobs.Grant{Files: []string{"/"}}}.Run(t.Context(), kmeans, p)
}

// decoded returns the result of a run that must succeed.
func decoded(t *testing.T, done jobs.LocalResult, err error) (r Result) {
	t.Helper()
	if err == nil {
		err = json.Unmarshal(done.Result, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// near reports whether two numbers are equal apart from rounding errors.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-12*max(math.Abs(a), math.Abs(b)) }

// TestIris finds the known optimum, which was also computed with fractions from 40 random starts, for each number of
// slots and each block size.
func TestIris(t *testing.T) {
	want := [][]float64{
		{1, 50, 5.006, 3.428, 1.462, 0.246},
		{2, 62, 5.901612903225806, 2.7483870967741937, 4.393548387096774, 1.4338709677419355},
		{3, 38, 6.85, 3.0736842105263156, 5.742105263157895, 2.0710526315789473},
	}
	first := ""
	for _, slots := range []int{1, 2, 3, 8} {
		for _, block := range []int{60, 500, 1000, 1 << 20} {
			done, err := run(t, slots, "input=testdata/iris.csv", "k=3", "columns="+irisColumns, "tolerance=0", fmt.Sprint("block=", block))
			r := decoded(t, done, err)
			if !near(r.Inertia, 78.85144142614601) || !r.Converged || r.RowsRead != 150 {
				t.Errorf("inertia %v, converged %v, %d rows; want 78.85144142614601, true, 150", r.Inertia, r.Converged, r.RowsRead)
			}
			for i, row := range r.Rows {
				for j, x := range row {
					if !near(x.(float64), want[i][j]) {
						t.Errorf("row %d of the table is %v, want %v", i+1, row, want[i])
					}
				}
			}
			if first == "" {
				first = string(done.Result)
			}
			if string(done.Result) != first {
				t.Errorf("%d slots, blocks of %d bytes: the result is %s, want %s", slots, block, done.Result, first)
			}
		}
	}
}

// TestManySeeds finds the optimum with each seed, because the whole data set is the sample.
func TestManySeeds(t *testing.T) {
	for seed := range 20 {
		done, err := run(t, 2, "input=testdata/iris.csv", "k=3", "columns="+irisColumns, fmt.Sprint("seed=", seed))
		if r := decoded(t, done, err); !near(r.Inertia, 78.85144142614601) {
			t.Errorf("seed %d: inertia %v", seed, r.Inertia)
		}
	}
}

func TestChecked(t *testing.T) {
	p, err := kmeans.Params(nil, "input=testdata/iris.csv", "k=5", "columns="+irisColumns, "block=300", "tolerance=0")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (jobs.Check{Slots: 3, Attempts: 1, Grant: jobs.Grant{Files: []string{"/"}}}).Run(t.Context(), kmeans, p); err != nil {
		t.Error(err)
	}
}

// blobs returns random rows around some centres, as texts of three numbers.
func blobs(random *rand.Rand, n, centres int) (lines []string) {
	for range n {
		c := float64(random.IntN(centres))
		lines = append(lines, fmt.Sprintf("%.3f,%.3f,%.3f", 10*c+random.NormFloat64(), -7*c+2*random.NormFloat64(), 1e-3*random.NormFloat64()))
	}
	return lines
}

// save writes a CSV file with the columns a, b and c.
func save(t *testing.T, name string, lines []string) {
	t.Helper()
	if err := os.WriteFile(name, []byte("a,b,c\n"+strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestOrderOfRows puts the same rows into one object and into several, in another order and another format.
func TestOrderOfRows(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	lines := blobs(random, 5000, 6)
	lines = append(lines, lines[:700]...) // rows that are there twice
	dir := t.TempDir()
	save(t, dir+"/one.csv", lines)
	writer, err := parquet.NewWriter([]string{"a", "b", "c"}, []string{"float", "float", "float"})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		var fields [][]byte
		for field := range strings.SplitSeq(line, ",") {
			fields = append(fields, []byte(field))
		}
		if err := writer.Add(fields); err != nil {
			t.Fatal(err)
		}
	}
	content, err := writer.Finish()
	if err == nil {
		err = os.WriteFile(dir+"/one.parquet", content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	random.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	for i, part := range slices.Collect(slices.Chunk(lines, 2000)) {
		save(t, fmt.Sprintf("%s/many-%d.csv", dir, i), part)
	}
	var results []Result
	for _, input := range []string{"one.csv", "many-*.csv", "one.parquet"} {
		done, err := run(t, 3, "input="+filepath.Join(dir, input), "k=7", "seed=5", "block=20000")
		r := decoded(t, done, err)
		r.BytesRead = 0
		results = append(results, r)
	}
	for _, r := range results[1:] {
		if fmt.Sprint(r) != fmt.Sprint(results[0]) {
			t.Errorf("the results differ:\n%v\n%v", r, results[0])
		}
	}
	if results[0].RowsRead != 5700 || len(results[0].Rows) != 7 {
		t.Errorf("%d rows read, %d clusters", results[0].RowsRead, len(results[0].Rows))
	}
}

// TestMovesAreLloyds compares the rounds with an implementation that is as plain as possible.
func TestMovesAreLloyds(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	lines := blobs(random, 3000, 9)
	name := filepath.Join(t.TempDir(), "rows.csv")
	save(t, name, lines)
	var table [][]float64
	for _, line := range lines {
		var row []float64
		for field := range strings.SplitSeq(line, ",") {
			x, err := strconv.ParseFloat(field, 64)
			if err != nil {
				t.Fatal(err)
			}
			row = append(row, x)
		}
		table = append(table, row)
	}
	for rounds := 1; rounds < 6; rounds++ {
		done, err := run(t, 2, "input="+name, "k=9", "tolerance=0", "seed=1", fmt.Sprint("rounds=", rounds))
		r := decoded(t, done, err)
		centres := make([][]float64, len(r.Rows))
		for c, row := range r.Rows {
			for _, x := range row[2:] {
				centres[c] = append(centres[c], x.(float64))
			}
		}
		inertia, sizes, means := lloyd(table, centres)
		if !near(inertia, r.Inertia) {
			t.Errorf("after %d rounds the inertia is %v, want %v", rounds, r.Inertia, inertia)
		}
		for c, n := range sizes {
			if r.Rows[c][1].(float64) != n {
				t.Errorf("after %d rounds cluster %d has %v rows, want %v", rounds, c+1, r.Rows[c][1], n)
			}
		}
		if r.Converged {
			break
		}
		done, err = run(t, 2, "input="+name, "k=9", "tolerance=0", "seed=1", fmt.Sprint("rounds=", rounds+1))
		for c, row := range decoded(t, done, err).Rows {
			for j, x := range row[2:] {
				if got := x.(float64); math.Abs(got-means[c][j]) > 1e-12*(1+math.Abs(got)) {
					t.Errorf("centre %d after %d rounds is %v, want %v", c+1, rounds+1, row[2:], means[c])
				}
			}
		}
	}
}

// lloyd assigns rows to centres, and returns the inertia, the sizes and the means.
func lloyd(table, centres [][]float64) (inertia float64, sizes []float64, means [][]float64) {
	sizes, means = make([]float64, len(centres)), make([][]float64, len(centres))
	for _, row := range table {
		best, least := 0, math.Inf(1)
		for c, centre := range centres {
			d := 0.0
			for j := range row {
				d += (row[j] - centre[j]) * (row[j] - centre[j])
			}
			if d < least {
				best, least = c, d
			}
		}
		inertia += least
		sizes[best]++
		if means[best] == nil {
			means[best] = make([]float64, len(row))
		}
		for j, x := range row {
			means[best][j] += x
		}
	}
	for c, n := range sizes {
		if n == 0 {
			means[c] = centres[c]
			continue
		}
		for j := range means[c] {
			means[c][j] /= n
		}
	}
	return inertia, sizes, means
}

// TestBadRows checks that errors name the object, the row and the column, and that bad rows can be skipped.
func TestBadRows(t *testing.T) {
	name := filepath.Join(t.TempDir(), "bad.csv")
	for field, want := range map[string]string{
		"":      `bad.csv: byte 18: column "b" is "": want a number`,
		"x":     `bad.csv: byte 18: column "b" is "x": want a number`,
		"NaN":   `bad.csv: byte 18: column "b" is NaN: want a number from -1e100 to 1e100`,
		"-inf":  `bad.csv: byte 18: column "b" is -Inf: want a number from -1e100 to 1e100`,
		"1e101": `bad.csv: byte 18: column "b" is 1e+101: want a number from -1e100 to 1e100`,
	} {
		save(t, name, []string{"1,2,3", "4,5,6", "7," + field + ",8", "1,2,4"})
		_, err := run(t, 1, "input="+name, "k=2")
		if err == nil || !strings.Contains(err.Error(), want) || !jobs.IsPermanent(err) {
			t.Errorf("field %q: error %v, want a permanent one with %s", field, err, want)
		}
		done, err := run(t, 1, "input="+name, "k=2", "on-error=skip")
		if r := decoded(t, done, err); r.RowsRead != 3 || r.RowsSkipped != 1 || len(r.Skipped) != 1 || r.Skipped[0].Offset != 18 {
			t.Errorf("field %q: %d rows read, skipped %+v", field, r.RowsRead, r.Skipped)
		}
	}
}

// TestFewRows checks that the job fails if there are fewer different rows than clusters, and takes as many.
func TestFewRows(t *testing.T) {
	name := filepath.Join(t.TempDir(), "few.csv")
	save(t, name, []string{"1,0,3", "1,-0,3", "2,2,2", "0,0,0", "2,2,2.0"})
	_, err := run(t, 1, "input="+name, "k=4")
	if err == nil || !strings.Contains(err.Error(), "k=4: the input has only 3 different rows: want at most as many clusters") {
		t.Errorf("got error %v", err)
	}
	done, err := run(t, 1, "input="+name, "k=3")
	if r := decoded(t, done, err); r.Inertia != 0 || fmt.Sprint(r.Rows) != "[[1 1 0 0 0] [2 2 1 0 3] [3 2 2 2 2]]" {
		t.Errorf("inertia %v, rows %v", r.Inertia, r.Rows)
	}
	save(t, name, nil)
	if _, err = run(t, 1, "input="+name); err == nil || !strings.Contains(err.Error(), "only 0 different rows") {
		t.Errorf("without rows: error %v", err)
	}
}

// TestParameters checks that contradictions are refused before the job is planned.
func TestParameters(t *testing.T) {
	for want, params := range map[string][]string{
		"parameter columns: the column \"a\" is there twice":            {"columns=a,b,a"},
		"parameter keep: want the parameter output too":                 {"columns=a", "keep=b"},
		"parameter keep: want the parameter columns too":                {"output=/tmp/x", "keep=b"},
		"parameter columns: want the members to use":                    {"format=ndjson"},
		"the job adds a column \"cluster\" to the output":               {"output=/tmp/x", "columns=a,cluster"},
		"parameter output: /tmp/*: want the name of a folder without *": {"output=/tmp/*"},
		"parameter k": {"k=0"},
	} {
		if _, err := kmeans.Params(nil, append(params, "input=a.csv")...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %s", params, err, want)
		}
	}
}

// TestOutput writes the rows with their clusters in the order of the input, and refuses the folder of an earlier job.
func TestOutput(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "out")
	params := []string{"input=testdata/iris.csv", "k=3", "columns=" + irisColumns, "keep=species", "output=" + folder, "block=700"}
	done, err := run(t, 3, params...)
	r := decoded(t, done, err)
	if r.Written == nil || r.Written.Rows != 150 || done.Rounds != r.Moves+2 {
		t.Fatalf("output %+v, %d rounds, %d of them with centres", r.Written, done.Rounds, r.Moves)
	}
	var m output.Manifest
	content, err := os.ReadFile(r.Written.Manifest)
	if err == nil {
		err = json.Unmarshal(content, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Objects) != r.Written.Objects || len(m.Objects) < 3 {
		t.Errorf("the manifest has %d objects, the result %d", len(m.Objects), r.Written.Objects)
	}
	var lines []string
	for _, o := range m.Objects {
		content, err := os.ReadFile(o.Name)
		if err != nil {
			t.Fatal(err)
		}
		part := strings.Split(strings.TrimSpace(string(content)), "\n")
		if part[0] != "species,"+irisColumns+",cluster,squared_distance" {
			t.Errorf("header %q", part[0])
		}
		lines = append(lines, part[1:]...)
	}
	input, err := os.ReadFile("testdata/iris.csv")
	if err != nil {
		t.Fatal(err)
	}
	inertia, sizes := 0.0, make([]int, 4)
	for i, line := range strings.Split(strings.TrimSpace(string(input)), "\n")[1:] {
		want, got := strings.Split(line, ","), strings.Split(lines[i], ",")
		if want[4] != got[0] {
			t.Fatalf("row %d is %q, want the row of %q", i+1, lines[i], line)
		}
		c, err := strconv.Atoi(got[5])
		if err != nil {
			t.Fatal(err)
		}
		squared, err := strconv.ParseFloat(got[6], 64)
		if err != nil {
			t.Fatal(err)
		}
		sizes[c]++
		inertia += squared
	}
	if fmt.Sprint(sizes) != "[0 50 62 38]" || !near(inertia, 78.85144142614601) {
		t.Errorf("the output has clusters of %v rows and an inertia of %v", sizes, inertia)
	}
	if _, err := run(t, 1, params...); err == nil || !strings.Contains(err.Error(), "the folder has the output of an earlier job") {
		t.Errorf("a second job with this output: error %v", err)
	}
}

// TestOutputOfFailedJobIsRemoved writes the rows of a partition, and then ends the job as after a failure.
func TestOutputOfFailedJobIsRemoved(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "out")
	ctx, release := jobs.WithGrant(t.Context(), jobs.Grant{Files: []string{"/"}})
	defer release()
	p := Definition.Defaults
	p.Source, p.K, p.Columns, p.Output = "testdata/iris.csv", 2, irisColumns, folder
	plan, err := Definition.Plan(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	rounder, err := Definition.Open(ctx, p, plan)
	if err != nil {
		t.Fatal(err)
	}
	s := dataset.RoundState[state]{State: state{Phase: writing, Centres: []float64{1, 1, 1, 1, 2, 2, 2, 2}, Scales: make([]scale, 4)}}
	mapper, err := rounder.Round(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	total, err := mapper.Map(ctx, 0)
	if err != nil || len(total.Value.Parts) != 1 || total.Value.Parts[0].Rows != 150 {
		t.Fatalf("parts %+v, error %v", total.Value.Parts, err)
	}
	if _, err := os.Stat(total.Value.Parts[0].Name); err != nil {
		t.Fatal(err)
	}
	if err := rounder.(io.Closer).Close(); err != nil {
		t.Error(err)
	}
	if err := rounder.(jobs.Cleaner).CleanUp(ctx); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("the folder contains %v, error %v, want nothing", left, err)
	}
}
