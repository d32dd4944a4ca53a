package dataset

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset/exact"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/memory"
)

// numbers is a job that returns each field with what Float and Number say about it.
var numbers = func() Job[Input, []string, []string] {
	j := collect
	j.Open = func(_ Input, columns []string) (func(acc *[]string, r *Record) error, error) {
		return func(acc *[]string, r *Record) error {
			for i := range columns {
				text := string(r.Field(i))
				var n exact.Number
				f, err := r.Float(i)
				isNumber := r.Number(i, &n)
				if isNumber != (err == nil) || isNumber && n.Float() != f {
					return fmt.Errorf("%q: Number returns %v and Float %v", text, isNumber, err)
				}
				if !isNumber {
					text = fmt.Sprintf("%q", text)
				}
				*acc = append(*acc, text)
			}
			return nil
		}, nil
	}
	return j
}()

// TestNotations reads numbers in several notations. Fields in quotes in the results are no numbers.
func TestNotations(t *testing.T) {
	for notation, fields := range map[string]map[string]string{
		"decimal=,": {
			"1,5": "1.5", "-0,25": "-0.25", "+7": "+7", ",5": ".5", "3,": "3.", "1,5e-3": "1.5e-3", "12": "12", "1.5": `"1.5"`, "1.234,5": `"1.234,5"`,
			"1,2,3": `"1,2,3"`, "": `""`, ",": `","`, "-": `"-"`, "1,5e": `"1,5e"`, "e5": `"e5"`, "x": `"x"`, "1 5": `"1 5"`, "1,5x": `"1,5x"`, "2026,e": `"2026,e"`,
		},
		"decimal=,;thousands=.": {
			"1.234,5": "1234.5", "12.345.678": "12345678", "-123.456": "-123456", "1234,5": "1234.5", "1.234e3": "1234e3", "1.5": `"1.5"`, "1234.567": `"1234.567"`, "1.23.456": `"1.23.456"`,
			".123": `".123"`, "1.": `"1."`, "1.234.": `"1.234."`, "1..234": `"1..234"`, "01.02.2026": `"01.02.2026"`, "1,234.5": `"1,234.5"`, "1.2345": `"1.2345"`, "1.234.5": `"1.234.5"`,
		},
		"thousands=,":           {"1,234.5": "1234.5", "1234.5": "1234.5", "1,23": `"1,23"`, "1,234,567": "1234567", "0.1,234": `"0.1,234"`},
		"thousands='":           {"1'234.5": "1234.5", "1,5": `"1,5"`},
		"decimal=,;thousands= ": {"1 234,5": "1234.5", "1  234": `"1  234"`},
		"decimal=,;thousands=\u202f": {
			"1\u202f234,5": "1234.5", "1\u202f23": "\"1\u202f23\"",
		},
	} {
		var rows, want []string
		for field, result := range fields {
			rows, want = append(rows, `"`+field+`"`), append(want, strings.ReplaceAll(result, "\u202f", `\u202f`))
		}
		from := new(memory.Driver)
		from.Put("mem://a.csv", []byte("x\n"+strings.Join(rows, "\n")+"\n"))
		from.Put("mem://b.csv", []byte("x\n"+strings.ReplaceAll(strings.Join(rows, "\n"), `"`, "")+"\n"))
		in := Defaults()
		in.Source = "mem://*"
		for pair := range strings.SplitSeq(notation, ";") {
			name, value, _ := strings.Cut(pair, "=")
			if name == "decimal" {
				in.Decimal = value
			} else {
				in.Thousands = value
			}
		}
		in.Delimiter = ";"
		for _, block := range []int64{1, 5, 1000} {
			in.Block = block
			got, err := merged(t, numbers, from, in, rand.New(rand.NewPCG(1, uint64(block))))
			if err != nil || !slices.Equal(got, append(slices.Clone(want), want...)) {
				t.Errorf("%s, blocks of %d bytes: got\n%q, %v, want twice\n%q", notation, block, got, err, want)
			}
		}
	}
}

// TestNotationsRefused refuses notations in which no number can be read.
func TestNotationsRefused(t *testing.T) {
	job := jobs.MustNew(Define(collect))
	for pairs, want := range map[string]string{
		"decimal=;":                    `parameter decimal: got ";", takes a point or a comma`,
		"thousands=ab":                 `parameter thousands: got "ab", takes one character`,
		"thousands=1":                  `parameter thousands: got "1", takes one character that is no letter, digit or sign`,
		"thousands=.":                  `parameters decimal and thousands are both "."`,
		"thousands=,|decimal=,":        `parameters decimal and thousands are both ","`,
		"decimal=,|format=parquet":     "parameter decimal: takes csv or tsv, and the format of the input is parquet",
		"thousands=.|format=ndjson":    "parameter",
		"thousands=\n|decimal=,":       "parameter thousands",
		"thousands=-|decimal=,":        "parameter thousands",
		"thousands=x|decimal=,":        "parameter thousands",
		"thousands='|format=lines":     "parameter thousands: takes csv or tsv, and the format of the input is lines",
		"decimal=,|thousands=\u00e9":   "parameter thousands",
		"decimal=,|thousands=\u0661":   "parameter thousands",
		"decimal=,|thousands=\u202f\n": "parameter thousands",
	} {
		if _, err := job.Params(nil, append(strings.Split(pairs, "|"), "input=a.csv")...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", pairs, err, want)
		}
	}
}
