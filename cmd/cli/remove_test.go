package cli_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// TestRemovedJobIsGone removes jobs that have ended. Neither the current leader nor the next leader
// knows the removed jobs.
func TestRemovedJobIsGone(t *testing.T) {
	onEachStorage(t, func(t *testing.T, on testStorage) {
		c := newTestCluster(t, on, 2)
		params := []string{"n=1000", "width=10"}
		gone, kept := c.submit(params...), c.submit(params...)
		c.finish(gone, params...)
		c.finish(kept, params...)
		c.remove(gone)
		c.checkListed(kept)
		c.kill(c.process(c.leader().PID))
		after := c.submit(params...)
		c.finish(after, params...)
		c.checkListed(kept, after)
		c.remove("--ended-before", "0s")
		c.checkListed()
	})
}

func (c *testCluster) remove(args ...string) {
	c.t.Helper()
	var removed []struct{}
	c.do(&removed, append([]string{"remove"}, args...)...)
}

// checkListed checks which jobs the cluster lists.
func (c *testCluster) checkListed(want ...string) {
	c.t.Helper()
	var list []struct {
		ID string `json:"id"`
	}
	c.do(&list, "list")
	var got []string
	for _, j := range list {
		got = append(got, j.ID)
	}
	if !slices.Equal(got, want) {
		c.t.Errorf("jobs of the cluster: got %v, want %v", got, want)
	}
}

// submitMany submits n jobs, one second apart, and returns their IDs in order.
func submitMany(t *testing.T, storage *store.Store, n int) (ids []string) {
	t.Helper()
	first := time.Now().Add(-time.Hour)
	for i := range n {
		at := first.Add(time.Duration(i) * time.Second)
		spec := store.Spec{ID: store.NewID(at), Job: "squares", Version: "1", Params: jobs.Params("{}"), MaxAttempts: 1, Submitted: at}
		ids = append(ids, spec.ID)
		if err := storage.Submit(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
	}
	return ids
}

// TestListSkipsDamagedJob lists jobs of which one cannot be read.
func TestListSkipsDamagedJob(t *testing.T) {
	t.Parallel()
	c := newTestCluster(t, onJetStream, 0)
	driver := c.openStorage()
	storage := store.New(store.Config{Blobs: driver, Queue: driver})
	ids := submitMany(t, storage, 100)
	damaged := ids[50]
	if _, err := driver.Put(t.Context(), "manifest/"+damaged, []byte{1}, store.Always); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (out, errs string) {
		t.Helper()
		status, out, errs := c.run(args...)
		if status != 0 {
			t.Errorf("%v: status %d: %s", args, status, errs)
		}
		return out, errs
	}
	out, errs := run("list")
	if !strings.Contains(errs, damaged) {
		t.Errorf("standard error does not name %s: %s", damaged, errs)
	}
	for _, id := range ids {
		if listed := strings.Contains(out, id); listed != (id != damaged) {
			t.Errorf("job %s is listed: %v", id, listed)
		}
	}
	run("remove", damaged)
	if _, errs := run("list"); strings.Contains(errs, damaged) {
		t.Errorf("standard error names a removed job: %s", errs)
	}
}

// TestRemoveDamagedJob removes damaged jobs unless a leader may be running them.
func TestRemoveDamagedJob(t *testing.T) {
	t.Parallel()
	const damaged, newer = "\x01", "\xff"
	c := newTestCluster(t, onJetStream, 0)
	driver := c.openStorage()
	storage := store.New(store.Config{Blobs: driver, Queue: driver})
	for _, test := range []struct {
		name           string
		state          store.State // state in the manifest; empty for no manifest
		spec, manifest string      // contents that overwrite the records, unless empty
		want           string      // part of the error; empty if the job is removed
	}{
		{"spec of a queued job", "", damaged, "", ""},
		{"spec of a running job", store.Running, damaged, "", "has not ended, it is running"},
		{"spec of a job that ended", store.Cancelled, damaged, "", ""},
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
		status, _, errs := c.run("remove", id)
		if removed := status == 0; removed != (test.want == "") || !strings.Contains(errs, test.want) {
			t.Errorf("%s: removed %v, standard error %q, want %q", test.name, removed, errs, test.want)
		}
	}
}

// TestResumeRemoval completes removals that were interrupted, and removes records that a
// leader wrote after a job was removed.
func TestResumeRemoval(t *testing.T) {
	t.Parallel()
	c := newTestCluster(t, onJetStream, 0)
	driver := c.openStorage()
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
	c.remove(ids[0])
	late := store.NewID(time.Now())
	if err := storage.PutResult(t.Context(), late, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if _, err := storage.PutPartial(t.Context(), late, engine.Node{}, []byte("large")); err != nil {
		t.Fatal(err)
	}
	c.remove("--ended-before", "1h") // the jobs that still have a spec ended later
	c.checkListed(ids[3:]...)
	c.remove("--ended-before", "0s")
	for _, kind := range []string{"spec/", "manifest/", "result/", "partial/"} {
		if keys, err := driver.List(t.Context(), kind); err != nil || len(keys) > 0 {
			t.Errorf("after the removal: keys %v, error %v", keys, err)
		}
	}
}
