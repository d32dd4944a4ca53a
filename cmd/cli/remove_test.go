package cli_test

import (
	"slices"
	"strings"
	"testing"
	"time"

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

// submitMany submits jobs, a second apart, and returns their IDs in order.
func submitMany(t *testing.T, storage *store.Store, n int) (ids []string) {
	t.Helper()
	first := time.Now().Add(-time.Hour)
	for i := range n {
		at := first.Add(time.Duration(i) * time.Second)
		spec := store.Spec{ID: store.NewID(at), Job: "squares", Version: "1", MaxAttempts: 1, Submitted: at}
		ids = append(ids, spec.ID)
		if err := storage.Submit(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
	}
	return ids
}

// TestDamagedJobHidesNoOther lists jobs one of which cannot be read.
func TestDamagedJobHidesNoOther(t *testing.T) {
	t.Parallel()
	f := newTestFlock(t, onJetStream, 0)
	driver := f.openStorage()
	storage := store.New(store.Config{Blobs: driver, Queue: driver})
	ids := submitMany(t, storage, 100)
	damaged := ids[50]
	if _, err := driver.Put(t.Context(), "manifest/"+damaged, []byte{1}, store.Always); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (out, errs string) {
		t.Helper()
		status, out, errs := f.run(args...)
		if status != 0 {
			t.Errorf("%v: status %d: %s", args, status, errs)
		}
		return out, errs
	}
	out, errs := run("list")
	if !strings.Contains(errs, damaged) {
		t.Errorf("on standard error, where %s is to be named: %s", damaged, errs)
	}
	for _, id := range ids {
		if listed := strings.Contains(out, id); listed != (id != damaged) {
			t.Errorf("job %s is listed: %v", id, listed)
		}
	}
	run("remove", damaged)
	if _, errs := run("list"); strings.Contains(errs, damaged) {
		t.Errorf("after its removal: %s", errs)
	}
}

// TestRemoveOfWhatCannotBeRead removes nothing that somebody may be at work on.
func TestRemoveOfWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	const damaged, newer = "\x01", "\xff"
	f := newTestFlock(t, onJetStream, 0)
	driver := f.openStorage()
	storage := store.New(store.Config{Blobs: driver, Queue: driver})
	for _, test := range []struct {
		name           string
		state          store.State // of the manifest; empty: there is none
		spec, manifest string      // what is there instead, where it is not empty
		want           string      // a part of what is said; empty: it is removed
	}{
		{"spec of a job that waits", "", damaged, "", ""},
		{"spec of a job that runs", store.Running, damaged, "", "has not ended, it is running"},
		{"spec of a job that has ended", store.Cancelled, damaged, "", ""},
		{"manifest", store.Running, "", damaged, ""},
		{"spec of a later version", store.Cancelled, newer, "", "written by a later version"},
		{"manifest of a later version", store.Running, "", newer, "written by a later version"},
	} {
		id := submitMany(t, storage, 1)[0]
		if test.state != "" {
			m := store.Manifest{Epoch: 1, Sequence: 1, State: test.state}
			if _, err := storage.PutManifest(t.Context(), id, m, store.IfAbsent); err != nil {
				t.Fatal(err)
			}
		}
		for key, data := range map[string]string{"spec/" + id: test.spec, "manifest/" + id: test.manifest} {
			if data == "" {
				continue
			}
			if _, err := driver.Put(t.Context(), key, []byte(data), store.Always); err != nil {
				t.Fatal(err)
			}
		}
		status, _, errs := f.run("remove", id)
		if removed := status == 0; removed != (test.want == "") || !strings.Contains(errs, test.want) {
			t.Errorf("%s: removed: %v; standard error is %q, want %q", test.name, removed, errs, test.want)
		}
	}
}

// TestRemovalsBrokenOff finishes removals that had come to the manifest, and takes away
// what leaders wrote of jobs that were removed.
func TestRemovalsBrokenOff(t *testing.T) {
	t.Parallel()
	f := newTestFlock(t, onJetStream, 0)
	driver := f.openStorage()
	storage := store.New(store.Config{Blobs: driver, Queue: driver})
	ids := submitMany(t, storage, 20)
	for _, id := range ids {
		ended := store.Manifest{Epoch: 1, Sequence: 1, State: store.Cancelled, Finished: time.Now()}
		if _, err := storage.PutManifest(t.Context(), id, ended, store.IfAbsent); err != nil {
			t.Fatal(err)
		}
	}
	for _, half := range ids[:3] {
		if err := driver.Delete(t.Context(), "spec/"+half); err != nil {
			t.Fatal(err)
		}
	}
	f.remove(ids[0])
	late := store.NewID(time.Now())
	if err := storage.PutResult(t.Context(), late, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if _, err := storage.PutPartial(t.Context(), late, jobs.Node{}, []byte("large")); err != nil {
		t.Fatal(err)
	}
	f.remove("--ended-before", "1h") // which those are not that are whole
	f.checkListed(ids[3:]...)
	f.remove("--ended-before", "0s")
	for _, kind := range []string{"spec/", "manifest/", "result/", "partial/"} {
		if keys, err := driver.List(t.Context(), kind); err != nil || len(keys) > 0 {
			t.Errorf("%v is left, error %v", keys, err)
		}
	}
}
