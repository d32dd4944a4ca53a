package scan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset"
	"github.com/bellwether-compute/bellwether/jobs/dataset/output"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// granted returns a context with which jobs may use all files.
func granted(t *testing.T) context.Context {
	t.Helper()
	ctx, release := jobs.WithGrant(t.Context(), files)
	t.Cleanup(release)
	return ctx
}

// rowsOf returns the rows of an output in the order of the manifest, without the headers.
func rowsOf(t *testing.T, folder string) (rows []string, m output.Manifest) {
	t.Helper()
	m, err := output.Read(granted(t), dataset.Open(granted(t)), folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range m.Objects {
		content, err := output.Content(granted(t), dataset.Open(granted(t)), p)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(string(content), "\n")
		if m.Format == output.CSV {
			lines = lines[1:]
		}
		rows = append(rows, lines[:len(lines)-1]...)
	}
	return rows, m
}

func TestOutput(t *testing.T) {
	var text strings.Builder
	text.WriteString("id,name,third\n")
	var want, wantJSON []string
	for i := range 2000 {
		name, quoted := fmt.Sprintf("name %d", i), fmt.Sprintf("name %d", i)
		switch i % 5 {
		case 1:
			name, quoted = fmt.Sprintf("comma, %d", i), fmt.Sprintf("\"comma, %d\"", i)
		case 2:
			name, quoted = fmt.Sprintf("quote \"%d\"", i), fmt.Sprintf("\"quote \"\"%d\"\"\"", i)
		case 3:
			name, quoted = "", ""
		}
		fmt.Fprintf(&text, "%d,%s,%v\n", i, quoted, i%3 == 0)
		if i%3 == 0 {
			want = append(want, fmt.Sprintf("%d,%s\n", i, quoted))
			value, _ := json.Marshal(name)
			if name == "" {
				value = []byte("null")
			}
			wantJSON = append(wantJSON, fmt.Sprintf("{\"id\":\"%d\",\"name\":%s}\n", i, value))
		}
	}
	input := write(t, "names.csv", text.String())
	for _, block := range []string{"1000", "10000", "1000000"} {
		for _, format := range []string{"csv", "ndjson"} {
			folder := filepath.Join(t.TempDir(), "out")
			got, err := scan(t, "input="+input, "block="+block, "where=third == 'true'", "columns=id,name", "output="+folder, "output-format="+format)
			if err != nil {
				t.Fatal(err)
			}
			rows, m := rowsOf(t, folder)
			if !slices.IsSortedFunc(m.Objects, func(a, b output.Part) int { return strings.Compare(a.Name, b.Name) }) {
				t.Errorf("the names of the objects are not in the order of the rows: %v", m.Objects)
			}
			expected := want
			if format == "ndjson" {
				expected = wantJSON
			}
			if !slices.Equal(rows, expected) || m.Rows != uint64(len(want)) {
				t.Errorf("blocks of %s bytes, %s: got %d rows, manifest %d, want %d", block, format, len(rows), m.Rows, len(want))
			}
			end := fmt.Sprintf(`"rows":[],"rows_read":2000,"bytes_read":%d,"rows_skipped":0,"output":{"manifest":"%s/.manifest.json","format":"%s","objects":%d,"rows":%d,"bytes":%d}}`,
				text.Len(), folder, format, len(m.Objects), len(want), m.Bytes)
			if !strings.HasSuffix(got, end) {
				t.Errorf("got %s, want ...%s", got, end)
			}
			if _, err := scan(t, "input="+input, "output="+folder); !errors.Is(err, output.ErrExists) {
				t.Errorf("the same folder again: got %v, want ErrExists", err)
			}
		}
	}
}

// TestParquetOutput checks that a job can read the Parquet objects that another job has written.
func TestParquetOutput(t *testing.T) {
	first, second := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "groups")
	if _, err := scan(t, "input="+write(t, "trips.csv", trips), "where=vendor != 'C'", "block=30", "output="+first, "output-format=parquet"); err != nil {
		t.Fatal(err)
	}
	query := []string{"input=" + first + "/*.parquet", "by=city", "aggregate=count,sum(fare),max(fare),mean(fare)", "where=fare < 100"}
	got, err := scan(t, query...)
	if want := `"rows":[["Lima, Peru",1,"3","3",3],["Oslo",1,"10.50","10.5",10.5],["Rome",1,"7.125","7.125",7.125]]`; err != nil || !strings.Contains(got, want) {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	if _, err := scan(t, append(query, "output="+second, "output-format=parquet")...); err != nil {
		t.Fatal(err)
	}
	got, err = scan(t, "input="+second+"/*.parquet", "columns=mean(fare),city,count")
	if want := `"rows":[["3","Lima, Peru","1"],["10.5","Oslo","1"],["7.125","Rome","1"]]`; err != nil || !strings.Contains(got, want) {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

// TestOutputOfFailedJob checks that a failed job, and a run of a single partition, leave no files
// in the output folder.
func TestOutputOfFailedJob(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "out")
	input := write(t, "a.csv", "id,text\n"+strings.Repeat("1,some text\n", 3000)+"ragged\n")
	if _, err := scan(t, "input="+input, "output="+folder, "block=5000"); err == nil || !strings.Contains(err.Error(), "1 fields") {
		t.Errorf("got %v, want the error of the last row", err)
	}
	job := jobs.MustNew(Definition)
	params, err := job.Params(nil, "input="+input, "output="+folder, "block=5000")
	if err == nil {
		_, _, err = jobs.Local{Grant: files, Slots: 1, Attempts: 1}.RunPartition(t.Context(), job, params, 1)
	}
	if err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(folder) // the folder exists, because objects were written
	if err != nil || len(files) > 0 {
		t.Errorf("got %v, %v, want no files", files, err)
	}
}

func TestOutputOfGroups(t *testing.T) {
	folder := t.TempDir()
	if _, err := scan(t, "input="+write(t, "trips.csv", trips), "by=vendor", "aggregate=count,mean(fare),max(fare)", "where=vendor != 'C'", "output="+folder, "output-format=ndjson"); err != nil {
		t.Fatal(err)
	}
	want := []string{`{"vendor":"A","count":3,"mean(fare)":8.8125,"max(fare)":10.5}` + "\n", `{"vendor":"B","count":2,"mean(fare)":51.625,"max(fare)":100.25}` + "\n"}
	if rows, _ := rowsOf(t, folder); !slices.Equal(rows, want) {
		t.Errorf("got %q, want %q", rows, want)
	}
}

// TestOutputOfLostAttempts computes a partition twice, finishes the job twice, and then ends a
// third attempt of the partition.
func TestOutputOfLostAttempts(t *testing.T) {
	var text strings.Builder
	text.WriteString("id,text\n")
	for i := range 3000 {
		fmt.Fprintf(&text, "%d,some text\n", i)
	}
	folder := filepath.Join(t.TempDir(), "out")
	job := jobs.MustNew(Definition)
	params, err := job.Params(nil, "input="+write(t, "a.csv", text.String()), "output="+folder, "block=20000")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := job.Plan(granted(t), params)
	if err != nil {
		t.Fatal(err)
	}
	task, err := job.Engine().Open(granted(t), params, plan.Partitions, plan.Data)
	if err != nil {
		t.Fatal(err)
	}
	defer task.Close()
	attempt := func(partition uint64) ([]byte, error) {
		s := task.NewStack()
		if _, err := s.Run(granted(t), jobs.Span{Lo: partition, Hi: partition + 1}, new(atomic.Bool)); err != nil {
			return nil, err
		}
		partials, err := s.Drain(partition + 1)
		if err != nil {
			return nil, err
		}
		return partials[0].Data, nil
	}
	var roots [2][]byte
	for i := range roots {
		for p := range plan.Partitions {
			partial, err := attempt(p)
			if err == nil && p > 0 {
				partial, err = job.Engine().Merge(granted(t), params, engine.Operand{Data: roots[i]}, engine.Operand{Data: partial})
			}
			if err != nil {
				t.Fatal(err)
			}
			roots[i] = partial
		}
	}
	var results [2]string
	for i, root := range roots {
		result, _, err := job.Engine().Finish(granted(t), params, engine.Operand{Data: root})
		if err != nil {
			t.Fatal(err)
		}
		results[i] = string(result)
	}
	if _, err := attempt(0); err != nil { // simulates the death of a leader before it stored the job's end
		t.Errorf("an attempt after the commit: %v", err)
	}
	if _, err := (jobs.Local{Grant: files, Audit: jobs.Audit{Share: 1}}).Run(t.Context(), job, params); err == nil || !strings.Contains(err.Error(), "job scan cannot be audited") {
		t.Errorf("audit: got %v, want a refusal", err)
	}
	if _, err := (jobs.Check{Grant: files, Attempts: 1}).Run(t.Context(), job, params); err == nil || !strings.Contains(err.Error(), "leave out the parameter output") {
		t.Errorf("check: got %v, want a refusal", err)
	}
	rows, m := rowsOf(t, folder)
	slices.Sort(rows)
	if len(slices.Compact(rows)) != 3000 || m.Rows != 3000 || results[0] != results[1] {
		t.Errorf("got %d different rows, %d in the manifest, want 3000; results %s and %s", len(rows), m.Rows, results[0], results[1])
	}
	files, err := os.ReadDir(folder)
	if err != nil || len(files) != len(m.Objects)+1 {
		t.Errorf("got %d files, %v, want the %d of the manifest and the manifest", len(files), err, len(m.Objects))
	}
	if err := os.Remove(m.Objects[0].Name); err != nil {
		t.Fatal(err)
	}
	for _, err = range m.List(granted(t), dataset.Open(granted(t))) {
	}
	if !errors.Is(err, source.ErrNotFound) {
		t.Errorf("list without an object: got %v, want ErrNotFound", err)
	}
}

// An output that cannot be written fails the plan.
func TestOutputThatCannotBeWritten(t *testing.T) {
	job := jobs.MustNew(Definition)
	params, err := job.Params(nil, "input="+write(t, "trips.csv", trips), "output=https://127.0.0.1:1/out")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := job.Plan(granted(t), params); !errors.Is(err, source.ErrUnsupported) || !strings.Contains(err.Error(), "parameter output: https://127.0.0.1:1/out") {
		t.Errorf("got %v, want ErrUnsupported and the name of the output", err)
	}
}
