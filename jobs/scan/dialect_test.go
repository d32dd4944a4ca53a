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
