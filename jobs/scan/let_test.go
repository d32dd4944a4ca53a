package scan

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	library "github.com/parquet-go/parquet-go"
)

const sales = "ts,item,price,amount\n" +
	"2026-11-22 10:00:01,007,19.99,3\n" +
	"2026-11-22 10:00:59,Ab,0.1,0.2\n" +
	"2026-11-22 11:30:00,,5,\n" +
	"2026-12-01 00:00:00,cd,123456789012345678901.5,-2\n"

func TestLet(t *testing.T) {
	checkRows(t, write(t, "sales.csv", sales), map[string]string{
		"let=total = price * amount;columns=total":                                  `[["59.97"],["0.02"],[""],["-246913578024691357803"]]`,
		"let=total = price * amount;aggregate=sum(total),count(total),max(total)":   `[["-246913578024691357743.01",3,"59.97"]]`,
		"let=total = price * amount;where=total > 0.02;aggregate=count":             `[[1]]`,
		"let=more = amount + 0.8 - -1;columns=more":                                 `[["4.8"],["2"],[""],["-0.2"]]`,
		"let=month = ts[0:7];by=month;aggregate=count;having=count > 1":             `[["2026-11",3]]`,
		"let=ts = date_trunc(\"hour\", ts);by=ts;aggregate=count;order=-ts;limit=2": `[["2026-12-01T00:00:00Z",1],["2026-11-22T11:00:00Z",1]]`,
		"let=m = minute(ts);by=m;aggregate=count,sum(m)":                            `[["0",3,"0"],["30",1,"30"]]`,
		"let=half = price / 2;columns=half;limit=3":                                 `[["9.995"],["0.05"],["2.5"]]`,
		"let=ratio = price / (amount - 3);columns=ratio;limit=3":                    `[[""],["-0.03571428571428572"],[""]]`,
		"let=chosen = amount > 1 ? item : 'none';columns=chosen":                    `[["007"],["none"],["none"],["none"]]`,
		"let=first = coalesce(item, amount, 'x');columns=first":                     `[["007"],["Ab"],["x"],["cd"]]`,
		"let=key = item + '-' + amount;columns=key":                                 `[["007-3"],["Ab-0.2"],["-"],["cd--2"]]`,
		"let=big = price > 10;by=big;aggregate=count":                               `[["false",2],["true",2]]`,
		"let=one = 1;by=one;aggregate=count":                                        `[["1",4]]`,
		"let=word = 'a=b';columns=word;limit=1":                                     `[["a=b"]]`,
		"let=n = len(item);aggregate=sum(n),mean(n)":                                `[["7",1.75]]`,
		"let=up = upper(item);where=ts < '2026-11-22 10:30:00'":                     `[["2026-11-22 10:00:01","007","19.99","3","007"],["2026-11-22 10:00:59","Ab","0.1","0.2","AB"]]`,
		"let=item = upper(item);columns=item,price;limit=2":                         `[["007","19.99"],["AB","0.1"]]`,
		"let=price = price * 2;limit=1":                                             `[["2026-11-22 10:00:01","007","39.98","3"]]`,
		"let=bad = price * item;where=item == '007' and bad > 1;columns=bad":        `[["139.93"]]`,
		"let=long = amount * 1000000;columns=long;limit=1":                          `[["3000000"]]`,
	})
}

func TestLetErrors(t *testing.T) {
	name := write(t, "sales.csv", sales)
	for query, want := range map[string]string{
		"let=total":                                 `parameter let: "total": want a name and an expression`,
		"let=total == 3":                            `want a name and an expression`,
		"let=a b = 3":                               `want a name and an expression`,
		"let=not = 3":                               `want a name and an expression`,
		"let=a = 1; a = 2":                          "parameter let: a is defined twice",
		"let=a = price +":                           "parameter let: a: ",
		"let=a = 'x":                                "parameter let: ",
		"let=a = cost * 2":                          `there is no column "cost": the columns are ts, item, price, amount`,
		"let=a = cost * 2;columns=item":             `there is no column "cost": the columns are ts, item, price, amount`,
		"let=a = b; b = price":                      `there is no column "b"`,
		"let=a = item * 2;columns=a":                `sales.csv: byte 53: parameter let: a: cannot compute text * number`,
		"let=a = item * 2;where=a > 3":              "byte 53: parameter let: a: cannot compute text * number",
		"let=a = item * 2;by=a;aggregate=count":     "byte 53: parameter let: a: cannot compute text * number",
		"let=a = item * 2;by=ts;aggregate=sum(a)":   "byte 53: parameter let: a: cannot compute text * number",
		"let=a = upper(item);aggregate=sum(a)":      `byte 53: column "a" is "AB": want a number`,
		"let=a = split(item, 'b');columns=a":        "parameter let: a: the value is a list or a map",
		"let=a = int(item) > 1 ? 1 : 2;columns=a":   "parameter let: a: ",
		"let=a = shell(item)":                       "the function shell is not allowed here: want one of abs, all",
		"let=a = now()":                             "the function now is not allowed here",
		"let=a = like(item)":                        "like has 1 arguments: want like(x, pattern)",
		"let=a = like(item, 3);columns=a":           "argument 2 of like(x, pattern) is 3: want a text",
		"let=a = regexp_replace(item, '(', 'x')":    "regexp_replace(x, pattern, by): error parsing regexp",
		"let=a = date_trunc('era', ts)":             `"era" is no unit: want year, month, week`,
		"let=a = date_trunc(item, ts);columns=a":    `"007" is no unit`,
		"let=a = hour(item);columns=a":              `"007" is no time: want a text such as`,
		"let=a = upper(item);columns=b":             `there is no column "b"`,
		"let=a = json(item, 'a');columns=a":         `parameter let: a: "007" is not JSON: want a JSON object`,
		"let=a = json('{\"a\":1,\"a\":2}', 'a')":    `two members of the record are named "a"`,
		"let=a = json(item)":                        "json has 1 arguments: want json(x, path)",
		"let=a = repeat(item, 100000000);columns=a": "texts and lists of more than 268435456 bytes",

		"let=a = int(price * 1e300);columns=a": "want a number from -2^63 to 2^63-1",

		"let=a = price * 1e300 * 1e300 * 1e300 * 1e300;columns=a": "parameter let: a: the result of +, - or * has more than 1000 digits",
	} {
		pairs := append([]string{"input=" + name}, strings.Split(query, ";")...)
		if strings.HasPrefix(query, "let=a = b; b") || strings.HasPrefix(query, "let=a = 1; a") {
			pairs = []string{"input=" + name, query}
		}
		if got, err := scan(t, pairs...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %s, %v, want %q", query, got, err, want)
		}
	}
}

// TestLetSkips skips the records whose derived column cannot be computed, if the query needs the column.
func TestLetSkips(t *testing.T) {
	name := write(t, "sales.csv", sales)
	for query, want := range map[string]string{
		"columns=a;limit=1":                   `"rows":[["14"]],"rows_read":2,`,
		"aggregate=count,sum(a)":              `"rows":[[2,"14"]],"rows_read":2,`,
		"columns=ts,a":                        `"rows":[["2026-11-22 10:00:01","14"],["2026-11-22 11:30:00",""]],"rows_read":2,`,
		"columns=a;where=item startsWith '0'": `"rows":[["14"]],"rows_read":4,`,
		"columns=price;limit=1":               `"rows":[["19.99"]],"rows_read":4,`,
	} {
		for _, block := range []string{"9", "1000"} {
			got, err := scan(t, append(strings.Split(query, ";"), "input="+name, "let=a = item * 2", "on-error=skip", "block="+block)...)
			if err != nil || !strings.Contains(got, want) {
				t.Errorf("%s: got %s, %v, want %s", query, got, err, want)
			}
		}
	}
}

// TestLetOfFormats computes columns of Parquet objects, JSON lines and paths, and writes them to an output.
func TestLetOfFormats(t *testing.T) {
	root := writeDays(t, "csv", "tsv", "ndjson", "parquet")
	for _, ending := range []string{"csv", "tsv", "ndjson", "parquet"} {
		for query, want := range map[string]string{
			"by=day,twice;aggregate=sum(ms),max(twice);order=-twice;limit=2": `[["2026-11","44","22","44"],["2026-10","40","20","40"]]`,
			"columns=host,twice;where=twice == 36":                           `[["b","36"]]`,
			"aggregate=count;where=day == '2026-09' or d == 'x'":             `[[2]]`,
			"by=host;aggregate=sum(twice);where=d != 10":                     `[["a","40"],["b","80"]]`,
		} {
			got, err := scan(t, append(strings.Split(query, ";"), "input="+root+"/y=2026/*/*/x."+ending, "block=7", "let=day = y + '-' + d; twice = 2 * ms")...)
			if _, rows, _ := strings.Cut(got, `"rows":`); err != nil || !strings.HasPrefix(rows, want) {
				t.Errorf("%s of %s: got %s, %v, want %s", query, ending, got, err, want)
			}
		}
	}
	folder := filepath.Join(t.TempDir(), "out")
	if _, err := scan(t, "input="+root+"/y=2026/*/*/x.csv", "let=up = upper(host); d = 'day ' + d", "output="+folder, "columns=up,d", "where=ms > 10", "block=7"); err != nil {
		t.Fatal(err)
	}
	if rows, _ := rowsOf(t, folder); !slices.Equal(rows, []string{"B,day 09\n", "B,day 10\n", "A,day 11\n", "B,day 11\n"}) {
		t.Errorf("got %q", rows)
	}
}

// TestLetHidesPaths does not leave out objects because of a derived column with the name of a path's column.
func TestLetHidesPaths(t *testing.T) {
	root := writeDays(t, "csv")
	got, err := scan(t, "input="+root+"/", "let=d = ms", "where=d == 18", "columns=host,d")
	if err != nil || !strings.Contains(got, `"rows":[["b","18"]]`) {
		t.Errorf("got %s, %v", got, err)
	}
}

// TestLetHidesTimes compares a derived column with texts, although a column of times has its name.
func TestLetHidesTimes(t *testing.T) {
	var out bytes.Buffer
	if err := library.Write(&out, []struct {
		Day int32 `parquet:"day,date"`
	}{{19724}, {19725}}); err != nil {
		t.Fatal(err)
	}
	name := write(t, "days.parquet", out.String())
	for query, want := range map[string]string{
		"let=day = day[8:10];where=day == '02';columns=day":     `"rows":[["02"]]`,
		"let=m = month(day);by=m;aggregate=count,max(day)":      `"rows":[["1",2,"2024-01-03"]]`,
		"let=w = date_trunc('week', day);by=w;aggregate=count":  `"rows":[["2024-01-01",2]]`,
		"let=d = date_diff('day', day, '2024-03-01');columns=d": `"rows":[["59"],["58"]]`,
		"let=late = day > '2024-01-02 12:00:00';columns=late":   `"rows":[["false"],["true"]]`,
	} {
		if got, err := scan(t, append(strings.Split(query, ";"), "input="+name)...); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: got %s, %v, want %s", query, got, err, want)
		}
	}
}

func TestScalars(t *testing.T) {
	name := write(t, "a.csv", "ts,day,url,empty\n2024-02-29T23:59:58.75+01:00,2024-02-29,https://www.example.com/a/b?c=d%20_,\n")
	for expression, want := range map[string]string{
		"year(ts)":                                      "2024",
		"month(day)":                                    "2",
		"day(day)":                                      "29",
		"hour(ts)":                                      "22",
		"minute(ts)":                                    "59",
		"second(ts)":                                    "58",
		"hour(day)":                                     "0",
		"hour(empty)":                                   "",
		"date_trunc('second', ts)":                      "2024-02-29T22:59:58Z",
		"date_trunc('minute', ts)":                      "2024-02-29T22:59:00Z",
		"date_trunc('hour', ts)":                        "2024-02-29T22:00:00Z",
		"date_trunc('day', ts)":                         "2024-02-29T00:00:00Z",
		"date_trunc('week', ts)":                        "2024-02-26T00:00:00Z",
		"date_trunc('month', ts)":                       "2024-02-01T00:00:00Z",
		"date_trunc('year', day)":                       "2024-01-01",
		"date_trunc('week', '2024-03-03')":              "2024-02-26",
		"date_trunc('week', '2024-03-04')":              "2024-03-04",
		"date_diff('day', day, '2024-03-01')":           "1",
		"date_diff('month', '2023-12-31', day)":         "2",
		"date_diff('year', day, '2020-12-31')":          "-4",
		"date_diff('week', '2024-03-03', '2024-03-04')": "1",
		"date_diff('hour', ts, '2024-02-29 23:00:00')":  "1",
		"date_diff('minute', '2024-01-01 00:00:59', '2024-01-01 00:01:00')": "1",
		"date_diff('second', '2024-01-01 00:00:59', '2024-01-01')":          "-59",
		"like(url, 'https://%')":   "true",
		"like(url, '%.example.%')": "true",
		"like(url, '%.example.')":  "false",
		"like(url, '%a/b_c=%_')":   "true",
		"like(url, '')":            "false",
		"like(empty, '')":          "true",
		"like(empty, '%')":         "true",
		"like(empty, '_')":         "false",
		"like('aXbXc', '%X_')":     "true",
		"like('äöü', '__ü')":       "true",
		`regexp_replace(url, '^https?://(?:www\\.)?([^/]+)/.*$', '$1')`: "example.com",
		"regexp_replace(url, '[aeiou]', '')":                            "https://www.xmpl.cm//b?c=d%20_",
		"regexp_replace('abc', 'x*', '-')":                              "-a-b-c-",
		"regexp_replace('abc', 'b|c', '[${0}]')":                        "a[b][c]",
		"regexp_replace(empty, '^$', 'none')":                           "none",
		"coalesce(empty, day)":                                          "2024-02-29",
		"upper(coalesce(empty, 'x'))":                                   "X",
		"url in ['a', 'b'] ? 1 : 2":                                     "2",
		"len(url) > 5 and url matches 'b.c'":                            "true",
		"round(2.5) + abs(-1.5)":                                        "4.5",
		`json('{"a":{"b":"x\\ty"}}', 'a.b')`:                            `x	y`,
		`json('{"a":{"b":1.50}}', 'a.b')`:                               "1.50",
		`json(' {"a":{"b":[1, {}]}}', 'a.b')`:                           "[1, {}]",
		`json('{"a":null,"b":"n"}', 'a')`:                               "",
		`json('{"a":[{"b":1}]}', 'a.b')`:                                "",
		`json('[1]', 'a')`:                                              "",
		`json('{"a":1}', 'b')`:                                          "",
		`json(empty, 'b')`:                                              "",
		`json('{"a":1}', 'a') + json('{"b":2}', 'b')`:                   "12",
	} {
		got, err := scan(t, "input="+name, "let=x = "+expression, "columns=x")
		if err != nil || !strings.Contains(got, fmt.Sprintf(`"rows":[[%q]]`, want)) {
			t.Errorf("%s: got %s, %v, want %s", expression, got, err, want)
		}
	}
}

// TestScalarsAreListed checks that the documentation of the package lists the functions of the table.
func TestScalarsAreListed(t *testing.T) {
	var lines strings.Builder
	for _, f := range scalars {
		fmt.Fprintf(&lines, "//\t%-32s%s\n", f.form, f.help)
		if f.least < 1 || f.most < f.least || (f.call == nil) == (f.part == nil) || strings.Contains(strings.Join(builtins, " ")+" ", f.name+" ") {
			t.Errorf("%s: the function is not complete, or package expr has it", f.name)
		}
	}
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(doc), "//\n"+lines.String()+"//\n") {
		t.Errorf("want in doc.go:\n%s", lines.String())
	}
}
