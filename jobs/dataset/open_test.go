package dataset

import (
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/dataset/output"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/azure"
)

// TestURLs checks that tokens are sent only to Azure's hosts, and keys only to the storage account
// of the cluster.
func TestURLs(t *testing.T) {
	opened, err := openURLs(onAzurite(t))
	if err != nil {
		t.Fatal(err)
	}
	d := opened.(*urls)
	for name, want := range map[string]bool{
		"https://acct.blob.core.windows.net/c/a.csv":            true,
		"http://127.0.0.1:10000/devstoreaccount1/c/a.csv":       true,
		"http://127.0.0.1:10000/devstoreaccount10/c/a.csv":      false,
		"https://acct.blob.core.windows.net.example.com/c/a":    false,
		"https://acct.blob.core.example.com/c/a":                false,
		"https://example.com/acct.blob.core.windows.net":        false,
		"https://example.com?acct.blob.core.windows.net":        false,
		"https://acct.blob.core.windows.net:1@example.com/data": false,
	} {
		selected, err := d.Select(name)
		if _, got := selected.(*azure.Driver); err != nil || got != want {
			t.Errorf("%s: got %T, %v, want a blob: %v", name, selected, err, want)
		}
	}
	first, err := d.Select("http://127.0.0.1:10000/devstoreaccount1/c/a.csv")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := d.Select("http://127.0.0.1:10000/devstoreaccount1/d/b.csv"); again != first || err != nil {
		t.Errorf("one account has two drivers: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// TestSettingsOfContext checks that two contexts of one process have their own storage accounts.
func TestSettingsOfContext(t *testing.T) {
	var urls []string
	for _, name := range []string{"one", "two"} {
		ctx := cluster.With(t.Context(), cluster.Config{Name: name, Azure: accountOf("AccountName=" + name + ";AccountKey=c2VjcmV0")})
		urls = append(urls, Open(ctx).Canonical("azblob://c/a"))
	}
	if urls[0] != "https://one.blob.core.windows.net/c/a" || urls[1] != "https://two.blob.core.windows.net/c/a" {
		t.Errorf("got %q, want the account of each cluster", urls)
	}
}

func TestEmptyOutputOfJob(t *testing.T) {
	for _, err := range listOutput(t.Context(), output.Manifest{}, nil) {
		if err == nil || !strings.Contains(err.Error(), "has no rows") {
			t.Errorf("got %v, want an error that says that the output has no rows", err)
		}
	}
}
