package dataset

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

// accountOf returns the configuration of a storage account.
func accountOf(connection string) cluster.AzureAccount {
	return cluster.AzureAccount{Config: account.Config{ConnectionString: connection}}
}

// onAzurite returns a context of a cluster whose storage account is Azurite's.
func onAzurite(t *testing.T) context.Context {
	t.Helper()
	ctx, release := source.With(cluster.With(t.Context(), cluster.Config{Azure: accountOf("UseDevelopmentStorage=true")}), nil)
	t.Cleanup(release)
	return ctx
}

func TestBlobNamedTwice(t *testing.T) {
	blob := source.Object{Name: "azblob://c/a b", Size: 1, Tag: "t"}
	for name, ok := range map[string]bool{
		"http://127.0.0.1:10000/devstoreaccount1/c/a%20b": false, "http://127.0.0.1:10000/devstoreaccount1/c/a": true,
		"https://acct.blob.core.windows.net/c/a%20b": true, "/c/a b": true,
	} {
		if err := (listing{blob, {Name: name, Size: 1, Tag: "t"}}).checkNames(Open(onAzurite(t))); (err == nil) != ok {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// throttled is a lister that fails a number of times in the middle of the listing.
type throttled struct {
	failures int
	err      error
}

func (t *throttled) List(context.Context, string) iter.Seq2[source.Object, error] {
	return func(yield func(source.Object, error) bool) {
		if !yield(source.Object{Name: "a"}, nil) {
			return
		}
		if t.failures--; t.failures >= 0 {
			yield(source.Object{}, t.err)
		}
	}
}

func TestListingIsRetried(t *testing.T) {
	for _, test := range []struct {
		throttled
		ok bool
	}{
		{throttled{1, source.ErrUnavailable}, true},
		{throttled{listRetries + 1, source.ErrUnavailable}, false},
		{throttled{1, source.ErrDenied}, false},
	} {
		want := test.err
		l, err := listPattern(t.Context(), &test.throttled, "*", nil)
		if test.ok && (err != nil || len(l) != 1) || !test.ok && !errors.Is(err, want) {
			t.Errorf("%v: got %v, %v", test, l, err)
		}
	}
}

// TestRefusedListingIsPermanent checks which errors of a listing fail a job at once. All workers have the same
// grant, so another attempt would be refused too.
func TestRefusedListingIsPermanent(t *testing.T) {
	for err, want := range map[error]bool{source.ErrDenied: true, source.ErrUnsupported: true, source.ErrNotFound: false} {
		_, got := list(t.Context(), &throttled{1, err}, Input{Source: "mem://a.csv"}, nil)
		if !errors.Is(got, err) || jobs.IsPermanent(got) != want {
			t.Errorf("got %v, want %v, permanent: %v", got, err, want)
		}
	}
}
