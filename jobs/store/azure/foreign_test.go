package azure_test

import (
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/deploy/local/azurite/azuritetest"
	"github.com/bellwether-compute/bellwether/deploy/local/logtest"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/azure"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

// TestForeignBlobs checks that blobs of others in the cluster's container fail no listing, and that
// the removal of a job removes those below the job's keys.
func TestForeignBlobs(t *testing.T) {
	t.Parallel()
	a, cluster := azuritetest.Account(t, account.Config{}), newCluster()
	d := open(t, a, azure.Config{Cluster: cluster})
	var log logtest.Log
	s := store.New(store.Config{Blobs: d, Queue: d, Logger: log.Logger()})
	if err := s.PutTerm(t.Context(), store.TermRecord{Epoch: 1}); err != nil {
		t.Fatal(err)
	}
	id := store.NewID(time.Now())
	c, err := a.Container(azure.Name(cluster), account.Retry{Within: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"term/part 1.csv", "term/MANIFEST.json", "poison/_bellwether/x", "partial/" + id + "/Not a key"} {
		if _, err := c.NewBlockBlobClient(name).UploadBuffer(t.Context(), []byte("x"), nil); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := s.Terms(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("terms: got %+v, %v, want one", list, err)
	}
	if list, err := s.PoisonList(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("poison list: got %+v, %v, want none", list, err)
	}
	if err := s.Remove(t.Context(), id); err != nil {
		t.Error(err)
	}
	if keys, err := d.List(t.Context(), "partial/"); err != nil || len(keys) > 0 {
		t.Errorf("partials after the removal: got %q, %v, want none", keys, err)
	}
}
