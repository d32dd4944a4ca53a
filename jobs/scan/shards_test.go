package scan

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
)

// small makes tables move their groups to storage when they are small, until the test ends.
func small(t *testing.T, spill, piece, shard int) {
	t.Helper()
	before := bounds
	t.Cleanup(func() { bounds = before })
	bounds.spill, bounds.piece, bounds.shard = spill, piece, shard
}

// groupsCSV returns records of which many have the same key. Some keys begin with the same bytes, and some are long.
func groupsCSV(records int) string {
	r := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	text.WriteString("key,n,name\n")
	for range records {
		k := r.IntN(records / 3)
		switch k % 5 {
		case 0:
			fmt.Fprintf(&text, "%s%d", strings.Repeat("long", 20), k)
		case 1:
			fmt.Fprintf(&text, "customer-%06d", k)
		default:
			fmt.Fprintf(&text, "%d", k)
		}
		fmt.Fprintf(&text, ",%d,name %d\n", r.IntN(1000), r.IntN(50))
	}
	return text.String()
}

// TestSecondPass compares the outputs of jobs that move their groups to storage with those of jobs that do not.
func TestSecondPass(t *testing.T) {
	name := write(t, "groups.csv", groupsCSV(6000))
	for _, query := range []string{
		"aggregate=count,sum(n),min(name),max(n),mean(n)",
		"aggregate=count,sum(n);having=count > 5",
		"aggregate=count,sum(n);having=count > 1000",
		"aggregate=count,distinct(n);output-format=ndjson",
		"aggregate=sum(n),max(name);order=-sum(n)",
		"aggregate=sum(n),count;order=-sum(n);limit=17;offset=5",
		"aggregate=sum(n),count;limit=300;having=sum(n) > 500",
		"aggregate=count;offset=40",
		"aggregate=count;order=count,-key;output-format=parquet",
		"aggregate=count,max(name);output-format=parquet",
	} {
		t.Run(query, func(t *testing.T) {
			outputs, err := os.MkdirTemp("", "outputs") // the folder of the test would have a comma in its name
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(outputs) })
			run := func(folder string, more ...string) (rows []string, columns string, rounds uint64) {
				folder = filepath.Join(outputs, folder)
				job := jobs.MustNew(Definition)
				params, err := job.Params(nil, append(append(strings.Split(query, ";"), "by=key", "input="+name, "output="+folder), more...)...)
				if err != nil {
					t.Fatal(err)
				}
				result, err := jobs.Local{Grant: files, Slots: 3, Attempts: 1}.Run(t.Context(), job, params)
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(query, "parquet") {
					again, err := scan(t, "input="+folder+"/*.parquet", "columns=key,count")
					if err != nil {
						t.Fatal(err)
					}
					rows = strings.SplitAfter(again[strings.Index(again, `"rows":`):strings.Index(again, `"rows_read"`)], "],")
				} else {
					rows, _ = rowsOf(t, folder)
				}
				before, _, _ := bytes.Cut(result.Result, []byte(`"rows"`))
				return rows, string(before), result.Rounds
			}
			want, wantColumns, rounds := run("whole", "block=200000")
			if rounds != 1 {
				t.Errorf("got %d passes, want 1", rounds)
			}
			small(t, 3000, 500, 2000)
			for _, block := range []string{"block=200000", "block=10000", "block=3000"} {
				got, columns, rounds := run(block, block)
				if !slices.Equal(got, want) || columns != wantColumns || rounds != 2 {
					t.Errorf("%s: got %d rows, columns %s, in %d passes, want %d, %s, in 2", block, len(got), columns, rounds, len(want), wantColumns)
				}
			}
		})
	}
}
