package jobs_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
)

func TestLog(t *testing.T) {
	jobs.Logger(t.Context()).Info("nobody listens")
	var lines []jobs.LogLine
	ctx := jobs.WithLog(t.Context(), func(l jobs.LogLine) { lines = append(lines, l) })
	jobs.Logger(ctx).Warn("row left out", "row", 7)
	out := jobs.StderrLog(ctx)
	long := strings.Repeat("x", 3000)
	for _, text := range []string{"one\ntw", "o\r\n", long + "\n", "\xff\n", "rest"} {
		if n, err := out.Write([]byte(text)); n != len(text) || err != nil {
			t.Fatal(n, err)
		}
	}
	for range 2 {
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for i, l := range lines {
		if got = append(got, l.Text); l.Stderr != (i > 0) || l.At.IsZero() {
			t.Errorf("line %d: %+v", i, l)
		}
	}
	want := []string{`level=WARN msg="row left out" row=7`, "one", "two", long[:1024], long[:1024], long[:952], "\ufffd", "rest"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// ExampleLogger logs a record that Map leaves out.
func ExampleLogger() {
	mapOne := func(ctx context.Context, partition uint64) (uint64, error) {
		if partition == 3 {
			jobs.Logger(ctx).Warn("no data", "partition", partition)
		}
		return 1, nil
	}
	ctx := jobs.WithLog(context.Background(), func(l jobs.LogLine) { fmt.Println(l.Text) })
	_, _ = mapOne(ctx, 3)
	// Output: level=WARN msg="no data" partition=3
}
