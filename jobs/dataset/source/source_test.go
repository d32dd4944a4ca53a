package source_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/local"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/memory"
)

func TestSecretsAreRefused(t *testing.T) {
	for _, name := range []string{
		"https://me:SECRET@example.com/a.csv",
		"https://SECRET@example.com/a.csv",
		"abfss://logs:SECRET@acct.dfs.core.windows.net/a.csv",
		"abfss://logs@acct.dfs.core.windows.net/a.csv?sig=SECRET",
		"abfss://logs@acct.dfs.core.windows.net/a.csv,https://SECRET@h/a",
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
	for _, name := range []string{"/data/a@b?sig=x.csv", "logs/*.csv", "https://example.com/a.csv?version=3", "azblob://logs/2026-11/", "https://h/a?zipcode=3,/data/key.csv", "abfss://logs@acct.dfs.core.windows.net/a.csv"} {
		if err := source.CheckSecret(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUnknownScheme(t *testing.T) {
	open := func(context.Context) (source.Driver, error) { return local.Driver{}, nil }
	set := source.NewSet(t.Context(), []source.Source{{Schemes: []string{"", "file://"}, Open: open}, {Schemes: []string{"x://", "job:"}, Open: open}})
	for o, err := range set.List(t.Context(), "s3://bucket/a.csv") {
		if want := "want a path, or a name that begins with file://, x:// or job:"; !errors.Is(err, source.ErrUnsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %+v, %v, want ErrUnsupported and %q", o, err, want)
		}
	}
}

// closer is a driver that counts calls of Close.
type closer struct {
	*memory.Driver
	closed *int
}

func (c closer) Close() error {
	*c.closed++
	return nil
}

// TestSetOfContext checks that a context has one set, whose drivers are opened once and closed.
func TestSetOfContext(t *testing.T) {
	opened, closed := 0, 0
	ctx, release := source.With(t.Context(), nil)
	sources := []source.Source{{Schemes: []string{"mem://"}, Open: func(context.Context) (source.Driver, error) {
		opened++
		return closer{new(memory.Driver), &closed}, nil
	}}}
	for range 2 {
		if _, err := source.Of(ctx, sources).Create(ctx, fmt.Sprintf("mem://%d", opened), nil); err != nil {
			t.Error(err)
		}
	}
	release()
	if opened != 1 || closed != 1 {
		t.Errorf("the driver was opened %d times and closed %d times, want once each", opened, closed)
	}
}
