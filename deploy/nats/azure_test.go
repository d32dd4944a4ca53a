package nats_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/deploy/local/azurite/azuritetest"
)

// TestAzure: where the storage is Azure, a NATS server without JetStream and with
// fewer permissions is enough.
func TestAzure(t *testing.T) {
	t.Setenv("AZURE_STORAGE_CONNECTION_STRING", azuritetest.Server(t).ConnectionString())
	f := &flock{t: t, url: startServer(t, withAzure...), flags: []string{"--storage", "azure"}}
	f.startWorkers(2)
	f.workWhole(t)
	f.refusedNothing()
}

// TestAzureWithoutJetStream: nobody has JetStream there, not even workers.
func TestAzureWithoutJetStream(t *testing.T) {
	f := &flock{t: t, url: startServer(t, withAzure...)}
	for _, user := range []string{worker, submitter, observer} {
		nc, refused := f.connect(user)
		if answer, err := nc.Request("$JS.API.INFO", nil, time.Second); err == nil {
			t.Errorf("%s: JetStream answers %s", user, answer.Data)
		}
		if user == worker {
			f.until("the server refuses JetStream to a worker", func() bool {
				return refused.String() != ""
			})
		}
	}
}

// TestAzureHasNoMore: each permission for Azure is one for JetStream as well.
func TestAzureHasNoMore(t *testing.T) {
	certify(t)
	subjectsOf := func(edits ...string) map[string]bool {
		all := map[string]bool{}
		for _, user := range configure(t, "server.conf", edits...).Users {
			for _, subject := range user.Permissions.Publish.Allow {
				all[fmt.Sprint(user.Username, " publishes ", subject)] = true
			}
			for _, subject := range user.Permissions.Subscribe.Allow {
				all[fmt.Sprint(user.Username, " hears ", subject)] = true
			}
		}
		return all
	}
	azure, jetstream := subjectsOf(withAzure...), subjectsOf()
	if len(azure) == 0 || len(azure) >= len(jetstream) {
		t.Errorf("%d permissions with Azure, %d with JetStream", len(azure), len(jetstream))
	}
	for what := range azure {
		if !jetstream[what] {
			t.Errorf("with Azure alone, %s", what)
		}
	}
}
