package azure_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/deploy/local/azurite/azuritetest"
	"github.com/bellwether-compute/bellwether/deploy/local/faults"
	"github.com/bellwether-compute/bellwether/jobs/dataset/output"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/azure"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/sourcetest"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(azuritetest.StopAfter(m)) }

var containers atomic.Int64

// place returns a place for tests in a new container. Names of blobs begin with azblob://, or with
// the account's URL.
func place(t *testing.T, a *account.Account, base string) sourcetest.Place {
	t.Helper()
	client, err := azblob.NewClientFromConnectionString(azuritetest.Server(t).ConnectionString(), &azblob.ClientOptions{
		ClientOptions: azcore.ClientOptions{Transport: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("data%d", containers.Add(1))
	if _, err := client.CreateContainer(t.Context(), name, nil); err != nil {
		t.Fatal(err)
	}
	p := sourcetest.Place{Driver: azure.New(a, base, anyContainer), Base: base + name + "/"}
	p.Put = func(t *testing.T, blob string, content []byte) {
		if _, err := client.UploadBuffer(t.Context(), name, strings.TrimPrefix(blob, p.Base), content, nil); err != nil {
			t.Fatal(err)
		}
	}
	p.Delete = func(t *testing.T, blob string) {
		if _, err := client.DeleteBlob(t.Context(), name, strings.TrimPrefix(blob, p.Base), nil); err != nil && !bloberror.HasCode(err, bloberror.BlobNotFound) {
			t.Fatal(err)
		}
	}
	return p
}

func TestConformance(t *testing.T) {
	a := azuritetest.Account(t, account.Config{})
	for name, base := range map[string]string{"azblob": azure.Scheme, "https": a.BlobURL() + "/"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open := func(t *testing.T) sourcetest.Place { return place(t, a, base) }
			sourcetest.Test(t, open)
			sourcetest.TestListing(t, open)
			sourcetest.TestPruner(t, open)
			sourcetest.TestCreator(t, open)
			sourcetest.TestReplacer(t, open)
		})
	}
}

// This test uses a folder whose name is not escaped like in package url.
func TestOutputOfOtherEscaping(t *testing.T) {
	a := azuritetest.Account(t, account.Config{})
	p := place(t, a, a.BlobURL()+"/")
	for _, name := range []string{"run(1)/", "année/", "caf%c3%a9/", "a b/"} {
		f := output.Folder{Driver: p.Driver.(output.Driver), Name: p.Base + name, ID: "A", Format: output.CSV}
		columns := []output.Column{{Name: "x", Type: "text"}}
		part, err := f.Write(t.Context(), "1", columns, func(yield func([][]byte) bool) { yield([][]byte{[]byte("a")}) })
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := f.Commit(t.Context(), columns, []output.Part{part}); err != nil {
			t.Errorf("commit %s: %v", name, err)
		}
		if text, err := output.Content(t.Context(), p.Driver, part); err != nil || string(text) != "x\na\n" {
			t.Errorf("%s: got %q, %v", name, text, err)
		}
		for o, err := range p.Driver.List(t.Context(), part.Name) {
			if o.Name != part.Name || err != nil {
				t.Errorf("got %s, %v, want %s", o.Name, err, part.Name)
			}
		}
	}
}

func TestMissingContainer(t *testing.T) {
	d := azure.New(azuritetest.Account(t, account.Config{}), azure.Scheme, anyContainer)
	for _, pattern := range []string{"azblob://missing/", "azblob://missing/a.csv"} {
		for o, err := range d.List(t.Context(), pattern) {
			if !errors.Is(err, source.ErrNotFound) || !strings.Contains(err.Error(), pattern) {
				t.Errorf("%s: got %+v, %v, want ErrNotFound and the name", pattern, o, err)
			}
		}
	}
}

func TestThrottledAndDenied(t *testing.T) {
	a, transport := azuritetest.Faulty(t)
	p := place(t, a, azure.Scheme)
	p.Put(t, p.Base+"a", []byte("content"))
	var pinned source.Object
	for o, err := range p.Driver.List(t.Context(), p.Base+"a") {
		if err != nil {
			t.Fatal(err)
		}
		pinned = o
	}
	for _, test := range []struct {
		fault faults.Fault
		kind  error
	}{
		{faults.Fault{Status: 503, Code: "ServerBusy"}, source.ErrUnavailable},
		{faults.Fault{Status: 429, Code: "TooManyRequests"}, source.ErrUnavailable},
		{faults.Fault{Reset: true}, source.ErrUnavailable},
		{faults.Fault{Status: 403, Code: "AuthorizationPermissionMismatch"}, source.ErrDenied},
	} {
		transport.Set(func(account.Kind, *http.Request) faults.Fault { return test.fault })
		if _, err := p.Driver.Read(t.Context(), pinned, 0, 7); !errors.Is(err, test.kind) || !strings.Contains(err.Error(), pinned.Name) {
			t.Errorf("%+v: got %v, want %v and the name", test.fault, err, test.kind)
		}
	}
}

// TestThrottledRequests checks that a set sends throttled requests again, that the SDK does not, and that the error has what
// storage asks for.
func TestThrottledRequests(t *testing.T) {
	a, transport := azuritetest.Faulty(t)
	p := place(t, a, azure.Scheme)
	p.Put(t, p.Base+"a", []byte("content"))
	const refused = 4
	seen := 0
	ctx := source.Watch(t.Context(), func(source.Throttling) { seen++ })
	set := source.NewSet(ctx, []source.Source{{Schemes: []string{azure.Scheme}, Open: func(context.Context) (source.Driver, error) { return p.Driver, nil }}})
	var o source.Object
	list := func(pattern string) (err error) {
		for o, err = range set.List(ctx, pattern) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	for _, test := range []struct {
		kind account.Kind
		send func() error
	}{
		{account.ListBlobs, func() error { return list(p.Base) }},
		{account.GetProperties, func() error { return list(p.Base + "a") }},
		{account.GetBlob, func() error {
			body, err := set.Read(ctx, o, 0, o.Size)
			if err == nil {
				_, err = io.ReadAll(body)
				err = errors.Join(err, body.Close())
			}
			return err
		}},
		{account.PutBlob, func() (err error) {
			_, err = set.Create(ctx, p.Base+"b", nil)
			return err
		}},
		{account.PutBlob, func() (err error) {
			o, err = set.Replace(ctx, o, []byte("other"))
			return err
		}},
		{account.DeleteBlob, func() error { return set.Remove(ctx, p.Base+"b") }},
	} {
		transport.Set(faults.Times(refused, faults.Fault{Status: 503, Code: "ServerBusy"}, test.kind))
		seen = 0
		before := transport.Requests(test.kind)
		err := test.send()
		if requests := transport.Requests(test.kind) - before; err != nil || requests != refused+1 || seen != refused {
			t.Errorf("%s: %v after %d requests, want %d; the set has seen %d throttled requests, want %d", test.kind, err, requests, refused+1, seen, refused)
		}
	}
	transport.Set(func(account.Kind, *http.Request) faults.Fault {
		return faults.Fault{Status: 429, Code: "TooManyRequests", RetryAfter: 7}
	})
	_, err := p.Driver.Read(ctx, o, 0, o.Size)
	if throttled, ok := errors.AsType[*source.Throttled](err); !ok || throttled.After != 7*time.Second || throttled.Status != 429 {
		t.Errorf("got %v with %+v, want Throttled with 7 s", err, throttled)
	}
}

// TestPagesAreRetried lists three pages, each of which storage throttles first.
func TestPagesAreRetried(t *testing.T) {
	var asked []string // markers
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		marker := r.URL.Query().Get("marker")
		asked = append(asked, marker)
		if len(asked)%2 == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		next := map[string]string{"": "one", "one": "two", "two": ""}[marker]
		fmt.Fprintf(w, `<EnumerationResults><Blobs><Blob><Name>after-%s</Name><Properties><Etag>1</Etag><Content-Length>1</Content-Length></Properties></Blob></Blobs><NextMarker>%s</NextMarker></EnumerationResults>`, marker, next)
	}))
	defer server.Close()
	a, err := account.Open(account.Config{ConnectionString: "AccountName=a;AccountKey=c2VjcmV0;BlobEndpoint=" + server.URL + "/a;QueueEndpoint=" + server.URL + "/q"})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	d := azure.New(a, azure.Scheme, anyContainer)
	set := source.NewSet(t.Context(), []source.Source{{Schemes: []string{azure.Scheme}, Open: func(context.Context) (source.Driver, error) { return d, nil }}})
	for name, list := range map[string]iter.Seq2[source.Object, error]{
		"all":    set.List(t.Context(), "azblob://c/"),
		"pruned": set.ListPruned(t.Context(), "azblob://c/", func(string) bool { return false }),
	} {
		asked = nil
		var got []string
		for o, err := range list {
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got = append(got, o.Name)
		}
		if want := []string{"azblob://c/after-", "azblob://c/after-one", "azblob://c/after-two"}; !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
		if want := []string{"", "", "one", "one", "two", "two"}; !slices.Equal(asked, want) {
			t.Errorf("%s: requests for the pages %q, want %q", name, asked, want)
		}
	}
}

// TestPrunedListing lists one day of many, and folders none of which is left out.
func TestPrunedListing(t *testing.T) {
	a, transport := azuritetest.Faulty(t)
	p := place(t, a, azure.Scheme)
	const days, hours = 60, 4
	for day := range days {
		for hour := range hours {
			p.Put(t, fmt.Sprintf("%sy=2026/d=%02d/h=%d/a.csv", p.Base, day, hour), []byte("x\n"))
		}
	}
	list := func(skip func(folder string) bool) (objects, requests int) {
		before := transport.Requests()
		for _, err := range p.Driver.(source.Pruner).ListPruned(t.Context(), p.Base, skip) {
			if err != nil {
				t.Fatal(err)
			}
			objects++
		}
		return objects, transport.Requests() - before
	}
	oneDay := func(folder string) bool {
		return strings.Contains(folder, "/d=") && !strings.Contains(folder, "/d=41/")
	}
	if objects, requests := list(oneDay); objects != hours || requests != 3+hours {
		t.Errorf("one day: got %d objects with %d requests, want %d and %d", objects, requests, hours, 3+hours)
	}
	// Each of the first requests lists one folder. Then one request lists all of each folder that is left.
	objects, requests := list(func(string) bool { return false })
	if most := 32 + days + hours; objects != days*hours || requests > most {
		t.Errorf("all days: got %d objects with %d requests, want %d with at most %d", objects, requests, days*hours, most)
	}
}

func anyContainer(string) error { return nil }
