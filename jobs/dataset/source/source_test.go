package source_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/local"
)

func TestSecretsAreRefused(t *testing.T) {
	for _, name := range []string{
		"https://me:SECRET@example.com/a.csv",
		"https://SECRET@example.com/a.csv",
		"https://acct.blob.core.windows.net/c/a.csv?sv=2024-01-01&sig=SECRET",
		"https://acct.blob.core.windows.net/c/a.csv?sv=2024-01-01&SIG=SECRET",
		"https://acct.blob.core.windows.net/c/a.csv?s%69g=SECRET",
		"https://bucket.s3.amazonaws.com/a.csv?X-Amz-Signature=SECRET",
		"https://example.com/a.csv?access_token=SECRET",
		"azblob://container/a?sig=SECRET",
		"https://acct.blob.core.windows.net/c/a,b.csv?sv=1&sig=SECRET",
		"a.csv,https://h/a?x=1,2&sig=SECRET",
		"https://h/a, https://me:SEC,RET@h/a",
		"https://me:SECRET@h?a/b",
		"https://h/a?auth=SECRET",
		"https://h/a?pwd=SECRET",
		"https://h/a?jwt=SECRET",
		"https://h/a?code=SECRET",
		"https://h/a#sig=SECRET",
		"https://h/a?version=3#sig=SECRET",
	} {
		err := source.CheckSecret(name)
		if err == nil || strings.Contains(err.Error(), "SECRET") || !strings.Contains(err.Error(), "environment") {
			t.Errorf("%s: got %v, want an error without the secret that says where credentials go", name, err)
		}
	}
	for _, name := range []string{"/data/a@b?sig=x.csv", "logs/*.csv", "https://example.com/a.csv?version=3", "azblob://logs/2026-11/", "https://h/a?zipcode=3,/data/key.csv"} {
		if err := source.CheckSecret(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUnknownScheme(t *testing.T) {
	set := source.NewSet(source.Entry{Claims: local.Claims, Open: func() (source.Driver, error) { return local.Driver{}, nil }})
	for o, err := range set.List(t.Context(), "s3://bucket/a.csv") {
		if !errors.Is(err, source.ErrUnsupported) || !strings.Contains(err.Error(), "azblob") {
			t.Errorf("got %+v, %v, want ErrUnsupported and the schemes", o, err)
		}
	}
}
