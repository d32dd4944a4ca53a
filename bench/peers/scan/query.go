package scan

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bellwether-compute/bellwether/bench/internal/manykeys"
)

// query is a query that both systems answer.
type query struct {
	name       string
	input      string   // file that the job scan reads
	parameters []string // other parameters of the job
	view, sql  string   // statements for DuckDB; the time of the first one is not measured
	compared   []int    // columns, from 1 on, that must have the same values
	folder     string   // folder with the CSV files to which both systems write the result; empty: they print it
}

func (q query) String() string { return q.name }

//go:embed programs/clickbench.txt
var clickBench string

// hitsQueries returns the queries of ClickBench on a file.
func hitsQueries(file string) (list []query, err error) {
	_, text, _ := strings.Cut(clickBench, "\n\n") // the comment
	for part := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		lines := strings.Split(part, "\n")
		q := query{
			name: "query " + strconv.Itoa(len(list)), input: file, parameters: lines[min(len(lines), 2):],
			view: fmt.Sprintf("CREATE VIEW hits AS SELECT * FROM read_csv('%s', header=true)", file),
		}
		sql, isSQL := strings.CutPrefix(lines[0], "sql ")
		if !isSQL || len(q.parameters) == 0 {
			return nil, fmt.Errorf("%s: want lines for the SQL, the compared columns and the parameters", q.name)
		}
		q.sql = sql
		for _, word := range strings.Fields(strings.TrimPrefix(lines[1], "compare")) {
			column, err := strconv.Atoi(word)
			if err != nil || column < 1 {
				return nil, fmt.Errorf("%s: compared columns are %q: want numbers from 1 on", q.name, lines[1])
			}
			q.compared = append(q.compared, column)
		}
		list = append(list, q)
	}
	return list, nil
}

// keyQuery returns the minimum, mean and maximum by keys of a file, which DuckDB reads by the given function.
func keyQuery(name, file, read string) query {
	return query{
		name: name, input: file, compared: []int{1, 2, 3, 4},
		parameters: []string{"delimiter=;", "by=station", "aggregate=min(temperature),mean(temperature),max(temperature)"},
		sql:        "SELECT station, min(temperature), avg(temperature), max(temperature) FROM " + read + " GROUP BY station",
	}
}

// groupQuery returns the count and the sum by key of a file of manykeys.Write, which are written to CSV files in a folder.
func groupQuery(input, folder string) query {
	return query{
		name: filepath.Base(input), input: input, folder: folder, parameters: []string{"by=key", "aggregate=count,sum(n)"},
		view: fmt.Sprintf("SET memory_limit = '2GB'; SET temp_directory = '%s.tmp'", folder),
		sql: fmt.Sprintf("COPY (SELECT key, count(*) AS count, sum(n) FROM read_csv('%s') GROUP BY key) TO '%s' (HEADER)",
			input, filepath.Join(folder, "groups.csv")),
	}
}

// begin makes an empty folder for the result.
func (q query) begin() error {
	if q.folder == "" {
		return nil
	}
	return errors.Join(os.RemoveAll(q.folder), os.Mkdir(q.folder, 0o700))
}

// answer is the compared columns of each row of a result, sorted, because the order of equal rows may differ.
type answer [][]string

// answerOf returns the answer of a query whose result has these rows. If the result is in files, the answer describes their lines.
func (q query) answerOf(rows [][]any) (a answer, err error) {
	if q.folder != "" {
		lines, err := manykeys.Read(q.folder)
		return answer{{fmt.Sprintf("%+v", lines)}}, err
	}
	for _, row := range rows {
		var fields []string
		for _, column := range q.compared {
			if column > len(row) {
				return nil, fmt.Errorf("a row has %d columns: want at least %d", len(row), column)
			}
			fields = append(fields, fmt.Sprint(row[column-1]))
		}
		a = append(a, fields)
	}
	slices.SortFunc(a, func(x, y []string) int { return slices.CompareFunc(x, y, compareFields) })
	return a, nil
}

// compareFields compares two numbers or two texts. Means that differ only in their last digits are equal, because those of
// DuckDB depend on the order in which it adds floats.
func compareFields(x, y string) int {
	f, xErr := strconv.ParseFloat(x, 64)
	g, yErr := strconv.ParseFloat(y, 64)
	switch {
	case xErr != nil || yErr != nil:
		return strings.Compare(x, y)
	case math.Abs(f-g) <= 1e-9*math.Abs(f):
		return 0
	}
	return cmp.Compare(f, g)
}

// equal returns an error if two answers differ.
func (a answer) equal(want answer) error {
	if len(a) != len(want) {
		return fmt.Errorf("the result has %d rows, another one %d", len(a), len(want))
	}
	for i := range a {
		if slices.CompareFunc(a[i], want[i], compareFields) != 0 {
			return fmt.Errorf("the result has the row %q, another one %q", a[i], want[i])
		}
	}
	if len(a) == 0 {
		return errors.New("the results have no rows")
	}
	return nil
}
