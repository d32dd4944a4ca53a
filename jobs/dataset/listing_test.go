package dataset

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
)

func TestBlobNamedTwice(t *testing.T) {
	blob := source.Object{Name: "azblob://c/a b", Size: 1, Tag: "t"}
	for name, ok := range map[string]bool{
		"https://acct.blob.core.windows.net/c/a%20b": false, "http://127.0.0.1:10000/acct/c/a%20b": false, "https://acct.blob.core.windows.net/c/a": true,
	} {
		if err := (listing{blob, {Name: name, Size: 1, Tag: "t"}}).checkSchemes(); (err == nil) != ok {
			t.Errorf("%s: got %v", name, err)
		}
		if err := (listing{blob, {Name: name, Size: 1, Tag: "u"}}).checkSchemes(); err != nil {
			t.Errorf("%s with another tag: %v", name, err)
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
		l, err := listPattern(t.Context(), &test.throttled, "*")
		if test.ok && (err != nil || len(l) != 1) || !test.ok && !errors.Is(err, want) {
			t.Errorf("%v: got %v, %v", test, l, err)
		}
	}
}

// nothing is a lister that lists no objects.
type nothing struct{}

func (nothing) List(context.Context, string) iter.Seq2[source.Object, error] {
	return func(func(source.Object, error) bool) {}
}

func TestEmptyOutputOfJob(t *testing.T) {
	_, err := list(t.Context(), nothing{}, Input{Source: "job:abc"})
	if err == nil || !strings.Contains(err.Error(), "job:abc") || !strings.Contains(err.Error(), "has no rows") {
		t.Errorf("got %v, want an error that says that the output has no rows", err)
	}
}
