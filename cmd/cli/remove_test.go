package cli_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/cmd/cli"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// TestRemovedJobIsGone removes jobs that have ended. The leader, and the next one,
// go on as if they had never been.
func TestRemovedJobIsGone(t *testing.T) {
	onEachStorage(t, func(t *testing.T, on testStorage) {
		f := newTestFlock(t, on, 2)
		params := []string{"n=1000", "width=10"}
		gone, kept := f.submit(params...), f.submit(params...)
		f.finish(gone, params...)
		f.finish(kept, params...)
		f.remove(gone)
		f.checkListed(kept)
		f.kill(f.process(f.leader().PID))
		after := f.submit(params...)
		f.finish(after, params...)
		f.checkListed(kept, after)
		f.remove("--ended-before", "0s")
		f.checkListed()
	})
}

func (f *testFlock) remove(args ...string) {
	f.t.Helper()
	var removed []struct{}
	f.do(&removed, append([]string{"remove"}, args...)...)
}

// checkListed checks which jobs the cluster has.
func (f *testFlock) checkListed(want ...string) {
	f.t.Helper()
	var list []struct {
		ID string `json:"id"`
	}
	f.do(&list, "list")
	var got []string
	for _, j := range list {
		got = append(got, j.ID)
	}
	if !slices.Equal(got, want) {
		f.t.Errorf("the cluster has the jobs %v, want %v", got, want)
	}
}

// TestDamagedJobHidesNoOther lists jobs one of which cannot be read.
func TestDamagedJobHidesNoOther(t *testing.T) {
	t.Parallel()
	f := newTestFlock(t, onJetStream, 0)
	driver := f.openStorage()
	storage := store.New(driver, driver)
	var ids []string
	for range 100 {
		spec := store.Spec{ID: store.NewID(time.Now()), Job: "squares", Version: "1", MaxAttempts: 1, Submitted: time.Now()}
		ids = append(ids, spec.ID)
		if err := storage.Submit(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(ids)
	damaged := ids[50]
	if _, err := driver.Put(t.Context(), "manifest/"+damaged, []byte("no manifest"), store.Always); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	args := append([]string{"list", "--nats", f.url, "--cluster", f.cluster}, f.flags...)
	status := cli.Run(t.Context(), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, jobs.MustNew(squares))
	if status != 0 || !strings.Contains(errs.String(), damaged) {
		t.Errorf("status %d, and on standard error, where %s is to be named: %s", status, damaged, errs.Bytes())
	}
	for _, id := range ids {
		if listed := strings.Contains(out.String(), id); listed != (id != damaged) {
			t.Errorf("job %s is listed: %v", id, listed)
		}
	}
}
