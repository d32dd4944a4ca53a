package cli_test

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/jetstream"
)

var recordCheckpoint = flag.Bool("record-checkpoint", false, "record the checkpoint in testdata again")

// oldCheckpoint is a folder with the records of a half-finished job in version 1 of the
// formats, one file per key.
const oldCheckpoint = "testdata/checkpoint.v1"

var oldParams = []string{"n=4000", "width=10", "sleep=10ms"}

// TestOldCheckpointIsResumed writes the records of a job of an earlier version into storage,
// and expects this version to resume the job.
func TestOldCheckpointIsResumed(t *testing.T) {
	t.Parallel()
	c := newTestCluster(t, onJetStream, 1)
	driver := c.openStorage()
	if *recordCheckpoint {
		c.recordCheckpoint(driver)
		return
	}
	c.scale(0) // the next leader's epoch must be above 1, the epoch of the checkpoint
	id := ""
	err := filepath.WalkDir(oldCheckpoint, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		value, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		kind := filepath.Base(filepath.Dir(path))
		id = filepath.Base(path)
		_, err = driver.Put(t.Context(), kind+"/"+id, value, store.Always)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var before statusAnswer
	c.do(&before, "status", id)
	if before.State != "running" || before.Done == 0 || before.Done >= partitions {
		t.Fatalf("the old checkpoint is of a job that is %s, with %d partitions done", before.State, before.Done)
	}
	c.add(2)
	got := c.finish(id, oldParams...)
	c.wantOnce(got)
	c.wantTerms(got.Epochs, 2)
}

// openStorage opens the storage driver of the cluster.
func (c *testCluster) openStorage() *jetstream.Driver {
	c.t.Helper()
	nc, err := nats.Connect(c.url)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(nc.Close)
	driver, err := jetstream.Open(c.t.Context(), nc, jetstream.Config{Cluster: c.cluster})
	if err != nil {
		c.t.Fatal(err)
	}
	return driver
}

// recordCheckpoint stops a job half-way and copies its records from storage.
func (c *testCluster) recordCheckpoint(driver *jetstream.Driver) {
	c.t.Helper()
	var submitted struct {
		ID string `json:"id"`
	}
	args := []string{"submit", "squares", "--queue"}
	for _, p := range oldParams {
		args = append(args, "-p", p)
	}
	c.do(&submitted, args...)
	c.awaitDone(submitted.ID, partitions/2)
	c.scale(0)
	if err := os.RemoveAll(oldCheckpoint); err != nil {
		c.t.Fatal(err)
	}
	for _, kind := range []string{"spec", "plan", "manifest", "active"} {
		value, _, err := driver.Get(c.t.Context(), kind+"/"+submitted.ID)
		if err == nil {
			err = os.MkdirAll(filepath.Join(oldCheckpoint, kind), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(oldCheckpoint, kind, submitted.ID), value, 0o644)
		}
		if err != nil {
			c.t.Fatal(err)
		}
	}
}
