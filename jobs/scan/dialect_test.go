package scan

import (
	"strings"
	"testing"
)

// TestDialectOfQueries runs queries that a kernel computes without the parameters of the dialect.
func TestDialectOfQueries(t *testing.T) {
	rows := strings.Repeat("Oslo, 1.5\n# a comment, 7\n-,2\nRome ,NA\n", 500)
	name := write(t, "a.csv", "# exported\ncity ,fare\n"+rows)
	for query, want := range map[string]string{
		"by=city;aggregate=count,count(fare),sum(fare)": `"rows":[["",500,500,"1000"],["Oslo",500,500,"750.0"],["Rome",500,0,null]],"rows_read":1500,`,
		"aggregate=count;where=city == ''":              `"rows":[[500]]`,
		"aggregate=count,min(city);where=fare > 1":      `"rows":[[1000,"Oslo"]]`,
		"columns=city,fare;limit=3":                     `"rows":[["Oslo","1.5"],["","2"],["Rome",""]]`,
	} {
		for _, block := range []string{"50", "1000", "1000000"} {
			got, err := scan(t, append(strings.Split(query, ";"), "input="+name, "block="+block, "comment=#", "trim=true", "null=NA,-")...)
			if err != nil || !strings.Contains(got, want) {
				t.Errorf("%s, blocks of %s bytes: got %.300s, %v, want %s", query, block, got, err, want)
			}
		}
	}
}

// TestNotationOfQueries runs queries over numbers with decimal commas and groups of digits.
func TestNotationOfQueries(t *testing.T) {
	name := write(t, "a.csv", "city;fare;day\n"+strings.Repeat("Oslo;1.234,5;01.02.2026\nRome;-2,25;1.234\nOslo;;02.02.2026\n", 300))
	for query, want := range map[string]string{
		"by=city;aggregate=count(fare),sum(fare),max(fare)": `"rows":[["Oslo",300,"370350.0","1234.5"],["Rome",300,"-675.00","-2.25"]]`,
		"aggregate=count;where=fare > 1234.25":              `"rows":[[300]]`,
		"aggregate=count;where=fare * 2 == -4.5":            `"rows":[[300]]`,
		"columns=fare,day;limit=2;order=fare":               `"rows":[["","02.02.2026"],["","02.02.2026"]]`,
		"columns=fare,day;limit=2":                          `"rows":[["1234.5","01.02.2026"],["-2.25","1234"]]`,
		"aggregate=distinct(fare)":                          `"rows":[[2]]`,
	} {
		for _, block := range []string{"10", "1000", "1000000"} {
			got, err := scan(t, append(strings.Split(query, ";"), "input="+name, "block="+block, "delimiter=;", "decimal=,", "thousands=.")...)
			if err != nil || !strings.Contains(got, want) {
				t.Errorf("%s, blocks of %s bytes: got %.300s, %v, want %s", query, block, got, err, want)
			}
		}
	}
	_, err := scan(t, "input="+name, "delimiter=;", "decimal=,", "aggregate=sum(fare)")
	if want := `column "fare" is "1.234,5": want a number such as 1234,5, by the parameter decimal`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("without the parameter thousands: got %v, want %s", err, want)
	}
	_, err = scan(t, "input="+name, "delimiter=;", "decimal=,", "aggregate=sum(day)", "where=city == 'Rome'")
	if want := `column "day" is "1.234": want a number such as 1234,5`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a number in another notation: got %v, want %s", err, want)
	}
}

// TestEncodingOfQueries runs a query that a kernel computes for UTF-8. The bytes of é in UTF-8 are two characters in latin-1.
func TestEncodingOfQueries(t *testing.T) {
	name := write(t, "a.csv", "city,fare\n"+strings.Repeat("Orl\xe9ans,1\n\xc3\xa9,2\nRome,3\n", 500))
	for _, block := range []string{"50", "1000", "1000000"} {
		got, err := scan(t, "input="+name, "block="+block, "encoding=latin-1", "by=city", "aggregate=sum(fare)")
		if want := `"rows":[["Orléans","500"],["Rome","1500"],["Ã©","1000"]]`; err != nil || !strings.Contains(got, want) {
			t.Errorf("blocks of %s bytes: got %.300s, %v, want %s", block, got, err, want)
		}
	}
}

// TestNotationOfLet computes columns from numbers with decimal commas.
func TestNotationOfLet(t *testing.T) {
	name := write(t, "a.csv", "city;unit price;rate\nOslo;1.234,5;1,5\nRome;2;1.5\n")
	for query, want := range map[string]string{
		`let=total = $env["unit price"] * 2;aggregate=sum(total),max(total)`: `"rows":[["2473","2469"]]`,
		`let=same = coalesce($env["unit price"], 0);aggregate=sum(same)`:     `"rows":[["1236.5"]]`,
		`let=same = rate;aggregate=sum(same);where=city == 'Oslo'`:           `"rows":[["1.5"]]`,
		`let=same = rate;aggregate=sum(same)`:                                `parameter let: same: column "rate" is "1.5": want a number such as 1.234,5`,
		`let=more = $env["unit cost"] + 1;columns=more`:                      `there is no column "unit cost"`,
		`let=$env["x"] = 1;columns=x`:                                        `want a name and an expression`,
	} {
		got, err := scan(t, append(strings.Split(query, ";"), "input="+name, "delimiter=;", "decimal=,", "thousands=.")...)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", query, got, want)
		}
	}
}
