package scan

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// checkRows runs queries, whose parameters semicolons separate, with several block sizes.
func checkRows(t *testing.T, input string, queries map[string]string) {
	t.Helper()
	blocks := []string{"1", "7", "1000"}
	if strings.HasSuffix(input, ".parquet") { // each partition reads the footer
		blocks = []string{"100", "700", "100000"}
	}
	for query, want := range queries {
		first := ""
		for _, block := range blocks {
			got, err := scan(t, append(strings.Split(query, ";"), "input="+input, "block="+block)...)
			if err != nil || !strings.Contains(got, `"rows":`+want+`,"rows_read"`) {
				t.Errorf("%s, blocks of %s bytes: got %s, %v, want %s", query, block, got, err, want)
				continue
			}
			if first == "" {
				first = got
			}
			if got != first {
				t.Errorf("%s, blocks of %s bytes: got %s, want %s", query, block, got, first)
			}
		}
	}
}

func TestHaving(t *testing.T) {
	checkRows(t, write(t, "trips.csv", trips), map[string]string{
		"by=city;aggregate=count;having=count > 1":                                                    `[["Oslo",3],["Rome",2]]`,
		"by=city;aggregate=count,count(fare);having=count(fare) == 2 and count == 2":                  `[["Rome",2,2]]`,
		"by=vendor;aggregate=count,sum(fare);having=17.625<=sum(fare);where=vendor != 'C'":            `[["A",3,"17.625"],["B",2,"103.25"]]`,
		"by=vendor;aggregate=sum(fare);having=sum(fare) > 17.625000000000000001;where=city != 'Oslo'": `[["B","103.25"]]`,
		"by=city;aggregate=p99.9(fare),count;having=p99.9(fare) > 50;where=vendor != 'C'":             `[["Rome",100.25,2]]`,
		"by=city;aggregate=count;having=count * 2 > 4 or city == 'Rome'":                              `[["Oslo",3],["Rome",2]]`,
		"by=city;aggregate=count;having=not (city contains 'count') and city != 'sum(fare)'":          `[["Lima, Peru",1],["Oslo",3],["Rome",2]]`,
		"by=city;aggregate=max(vendor),distinct(vendor);having=max(vendor)=='C'":                      `[["Oslo","C",2]]`,
		"by=city;aggregate=mean(fare);having=mean(fare) > 0;where=vendor == 'A'":                      `[["Oslo",10.5],["Rome",7.125]]`,
		"aggregate=count;having=count > 6":                                                            `[]`,
		"aggregate=count;having=count > 5":                                                            `[[6]]`,
		"by=vendor;aggregate=count,count(city);having=count(city)+count>2;order=-count;limit=1":       `[["A",3,3]]`,
		"by=vendor;aggregate=count;having=count < 3;order=-count;offset=1":                            `[["C",1]]`,
	})
}

func TestOffset(t *testing.T) {
	checkRows(t, write(t, "trips.csv", trips), map[string]string{
		"by=city;aggregate=count;offset=1":                           `[["Oslo",3],["Rome",2]]`,
		"by=city;aggregate=count;order=-count;offset=1;limit=1":      `[["Rome",2]]`,
		"by=city;aggregate=count;offset=3":                           `[]`,
		"by=city;aggregate=count;offset=18446744073709551615":        `[]`,
		"columns=vendor;offset=4":                                    `[["A"],["C"]]`,
		"columns=vendor;offset=1;limit=2":                            `[["B"],["A"]]`,
		"columns=vendor,fare;order=-vendor,fare;offset=1;limit=3":    `[["B","3"],["B","100.25"],["A",""]]`,
		"columns=vendor;offset=100000":                               `[]`,
		"columns=vendor;offset=99999;limit=1;where=vendor == 'none'": `[]`,
	})
}

// TestHavingOfOutput writes only the rows that having selects, after the offset.
func TestHavingOfOutput(t *testing.T) {
	name, folder := write(t, "trips.csv", trips), filepath.Join(t.TempDir(), "out")
	if _, err := scan(t, "input="+name, "output="+folder, "by=city", "aggregate=count", "having=count > 1", "order=-count", "offset=1"); err != nil {
		t.Fatal(err)
	}
	if rows, _ := rowsOf(t, folder); !slices.Equal(rows, []string{"Rome,2\n"}) {
		t.Errorf("got %q", rows)
	}
	folder = filepath.Join(t.TempDir(), "rows")
	if _, err := scan(t, "input="+name, "output="+folder, "columns=vendor", "offset=3", "limit=2", "block=7"); err != nil {
		t.Fatal(err)
	}
	if rows, _ := rowsOf(t, folder); !slices.Equal(rows, []string{"B\n", "A\n"}) {
		t.Errorf("got %q", rows)
	}
}

// TestNotesOfHaving checks that types and notes describe only the rows of the result.
func TestNotesOfHaving(t *testing.T) {
	name := write(t, "a.csv", "k,x\na,1\na,2\nb,z\n")
	got, err := scan(t, "input="+name, "by=k", "aggregate=max(x),count", "having=count == 2")
	if err != nil || !strings.Contains(got, `{"name":"max(x)","type":"decimal"}`) {
		t.Errorf("got %s, %v", got, err)
	}
}
