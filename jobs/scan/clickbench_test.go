package scan

import (
	"encoding/csv"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// clickBench returns the parameters of the queries of ClickBench that the comparison with DuckDB measures. An order by a
// column that is not in the result of a query needs the column in the result.
func clickBench(t *testing.T) (queries [][]string) {
	text, err := os.ReadFile("../../bench/peers/scan/programs/clickbench.txt")
	if err != nil {
		t.Fatal(err)
	}
	for block := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		if lines := strings.Split(block, "\n"); strings.HasPrefix(lines[0], "sql ") {
			queries = append(queries, lines[2:])
		}
	}
	if len(queries) != 43 {
		t.Fatalf("there are %d queries, want 43", len(queries))
	}
	return queries
}

// hits returns a table with the columns that the queries of ClickBench use, and with values of their kinds.
func hits(t *testing.T, n int) string {
	random := rand.New(rand.NewPCG(5, 6))
	one := func(list ...string) string { return list[random.IntN(len(list))] }
	number := func(n int) string { return strconv.Itoa(random.IntN(n)) }
	sites := []string{"", "http://google.com/a", "https://www.google.ru/search?q=1", "http://example.com/", "https://www.Example.com/a/b", "about:blank", "http://yandex.ru/ü/%20?x=y"}
	var b strings.Builder
	w := csv.NewWriter(&b)
	rows := [][]string{strings.Split("WatchID,UserID,CounterID,RegionID,AdvEngineID,ResolutionWidth,SearchPhrase,EventDate,EventTime,MobilePhone,MobilePhoneModel,"+
		"SearchEngineID,URL,Title,Referer,ClientIP,IsRefresh,IsLink,IsDownload,TraficSourceID,RefererHash,URLHash,DontCountHits,WindowClientWidth,WindowClientHeight", ",")}
	for range n {
		at := time.Date(2013, 7, 1+random.IntN(35), random.IntN(2), random.IntN(60), random.IntN(60), 0, time.UTC)
		rows = append(rows, []string{
			"9110818468285196" + strconv.Itoa(100+random.IntN(400)), one("435090932899640449", "435090932899640450", "2"+number(50), "3"+number(300)),
			one("62", "62", "62", "7", "8"), number(12), one("0", "0", "0", "2", "13"), one("1024", "1366", "1638", "1920"),
			one("", "", "cat", "dog food", "how to, \"quote\"", "ünï", "karelia"), at.Format(time.DateOnly), at.Format(time.DateTime), number(3), one("", "", "iPad", "N8"),
			one("0", "0", "2", "3"), one(sites[1:]...) + number(5), one("", "Google news", "cats", "News of Google"), one(sites...), "-" + number(40),
			one("0", "0", "0", "1"), one("0", "1"), one("0", "0", "1"), one("-1", "0", "6"), one("3594120000172545465", "7"), one("2868770270353813622", "8"),
			one("0", "0", "1"), number(20), number(20),
		})
	}
	if err := w.WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestClickBench runs the queries with two block sizes, and checks that each returns rows.
func TestClickBench(t *testing.T) {
	name := write(t, "hits.csv", hits(t, 2000))
	for i, query := range clickBench(t) {
		first := ""
		for _, block := range []string{"1000000", "9000"} {
			got, err := scan(t, append(slices.Clone(query), "input="+name, "block="+block)...)
			if err != nil || strings.Contains(got, `"rows":[]`) || first != "" && got != first {
				t.Errorf("query %d, %s, blocks of %s bytes: got %.500s, %v", i, query, block, got, err)
			}
			first = got
		}
		if !strings.Contains(strings.Join(query, " "), "exact_distinct") {
			continue
		}
		_, want, _ := strings.Cut(first, `"rows":`) // distinct is exact for so few values
		about := strings.Split(strings.ReplaceAll(strings.Join(query, "\n"), "exact_distinct", "distinct"), "\n")
		estimate, err := scan(t, append(about, "input="+name, "block=9000")...)
		if _, got, _ := strings.Cut(estimate, `"rows":`); err != nil || got != want {
			t.Errorf("query %d with distinct: got %.500s, %v, want %.500s", i, got, err, want)
		}
	}
}
