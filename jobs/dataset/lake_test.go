package dataset

import (
	"slices"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
)

func TestBlobURL(t *testing.T) {
	for name, want := range map[string]string{
		"abfss://logs@acct.dfs.core.windows.net/y=2026/":              "https://acct.blob.core.windows.net/logs/y=2026/",
		"abfss://logs@acct.dfs.core.windows.net/":                     "https://acct.blob.core.windows.net/logs/",
		"abfss://logs@ACCT.dfs.core.usgovcloudapi.net/a/b c%20#d.csv": "https://acct.blob.core.usgovcloudapi.net/logs/a/b%20c%2520%23d.csv",
		"https://acct.dfs.core.chinacloudapi.cn/logs/a%20b.csv":       "https://acct.blob.core.chinacloudapi.cn/logs/a%20b.csv",
		"https://acct.dfs.core.windows.net/logs/*.csv":                "https://acct.blob.core.windows.net/logs/*.csv",
		"https://acct.blob.core.windows.net/logs/a":                   "https://acct.blob.core.windows.net/logs/a",
		"https://example.com/acct.dfs.core.windows.net/a":             "https://example.com/acct.dfs.core.windows.net/a",
		"azblob://logs/a@b.dfs.core.windows.net":                      "azblob://logs/a@b.dfs.core.windows.net",
		"abfss://acct.dfs.core.windows.net/logs/a":                    "abfss://acct.dfs.core.windows.net/logs/a",
		"abfss://logs@example.com/a":                                  "abfss://logs@example.com/a",
		"/data/a.csv":                                                 "/data/a.csv",
	} {
		if got := blobURL(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	in := Input{Source: "abfss://c@a.dfs.core.windows.net/x/, /y"}
	if got, want := in.patterns(), []string{"https://a.blob.core.windows.net/c/x/", "/y"}; !slices.Equal(got, want) {
		t.Errorf("patterns: got %q, want %q", got, want)
	}
}

// TestLake refuses the containers of an account under its names of Data Lake Storage like under its others, and names that
// are not complete.
func TestLake(t *testing.T) {
	ctx, release := jobs.WithGrant(t.Context(), jobs.Grant{})
	defer release()
	for name, want := range map[string]string{
		"abfss://logs@acct.dfs.core.windows.net/a.csv": "jobs may not use container acct/logs",
		"https://acct.dfs.core.windows.net/logs/a.csv": "jobs may not use container acct/logs",
		"abfss://logs/a.csv":                           "want abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/NAME",
	} {
		in := Defaults()
		in.Source = name
		_, err := list(t.Context(), Open(ctx), in, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
		if got := OutputFolder(t.Context(), name, "", "").Name; strings.HasPrefix(want, "jobs") && got != "https://acct.blob.core.windows.net/logs/a.csv/" {
			t.Errorf("output %s: got %s", name, got)
		}
	}
}
