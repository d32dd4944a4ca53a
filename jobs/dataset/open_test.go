package dataset

import (
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/azure"
)

// TestBlobURLs checks that tokens are sent only to Azure's hosts, and keys only to the storage
// account of the environment.
func TestBlobURLs(t *testing.T) {
	for _, name := range []string{cluster.EnvAzureURL, cluster.EnvAzureFile, cluster.EnvAzureAccount} {
		t.Setenv(name, "")
	}
	t.Setenv(cluster.EnvAzureConnection, "UseDevelopmentStorage=true")
	b := &blobURLs{own: openAccount}
	for name, want := range map[string]bool{
		"https://acct.blob.core.windows.net/c/a.csv":            true,
		"http://127.0.0.1:10000/devstoreaccount1/c/a.csv":       true,
		"http://127.0.0.1:10000/devstoreaccount10/c/a.csv":      false,
		"https://acct.blob.core.windows.net.example.com/c/a":    false,
		"https://acct.blob.core.example.com/c/a":                false,
		"https://example.com/acct.blob.core.windows.net":        false,
		"https://example.com?acct.blob.core.windows.net":        false,
		"file://acct.blob.core.windows.net/c/a":                 false,
		"https://acct.blob.core.windows.net:1@example.com/data": false,
	} {
		if got := b.claims(name); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	first, err := b.driver("http://127.0.0.1:10000/devstoreaccount1/c/a.csv")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := b.driver("http://127.0.0.1:10000/devstoreaccount1/d/b.csv"); again != first || err != nil {
		t.Errorf("one account has two drivers: %v", err)
	}
	if !isAzblob(azure.Scheme + "c/a.csv") {
		t.Error("azblob:// is not recognized")
	}
}
