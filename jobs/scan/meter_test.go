package scan

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestWork evaluates conditions that need much more time or memory than the record suggests.
func TestWork(t *testing.T) {
	text := strings.Repeat("x", 1<<20)
	list := strings.Repeat("a,", 3000)
	const steps, made = "more than 16777216 steps and 1000 for each byte", "texts and lists of more than 268435456 bytes"
	for where, want := range map[string]string{
		`len(repeat(a, 1000)) > 0`:                                             made,
		`len(repeat(repeat(a, 100), 1000000)) > 0`:                             made,
		`len(replace(a, "x", repeat("y", 10000))) > 0`:                         made,
		`len(replace(a, "", repeat("y", 10000))) > 0`:                          made,
		`len(join(split(a, ""), repeat("y", 10000))) > 0`:                      made,
		`len(split(repeat(a, 20), "")) > 0`:                                    made,
		`len(reduce(1..60, #acc + #acc, "a" + b)) > 0`:                         steps,
		`len(map(1..10000, upper(a))) > 0`:                                     made,
		`len(string(reduce(1..40, [#acc, #acc], b))) > 0`:                      steps,
		`all(1..900, all(1..900, all(1..900, true))) and b > 1`:                "memory budget exceeded",
		`all(split(b, ","), all(split(b, ","), all(split(b, ","), # != "b")))`: steps,
		`len(uniq(map(1..30000, string(#) + b[0:1]))) > 0`:                     steps,
		`all(1..999999, len(b) > 1)`:                                           steps,
		`a matches "(x{1,900}){1,1}y"`:                                         steps,
		`all([a, b], # matches a)`:                                             "want at most 1000 in a column",
		`len(upper(a) + a) == 2097152 and b matches "^a" and b matches b[0:5]`: "",
	} {
		file := write(t, "a.csv", fmt.Sprintf("a,b\n%s,%q\n", text, list))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := scan(t, "input="+file, "where="+where, "aggregate=count")
		runtime.ReadMemStats(&after)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %.500v, want %q", where, err, want)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 2<<30 {
			t.Errorf("%s: got %d bytes of memory", where, used)
		}
	}
}
