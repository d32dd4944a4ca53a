// Package azure is the driver for blobs in Azure. A blob is named by azblob://CONTAINER/NAME or by
// its https URL. The name azblob://CONTAINER/NAME means a blob in the driver's storage account.
//
// The tag of a blob is its ETag. Each request to read a blob contains the ETag in the header
// If-Match. A blob is created by a single request, with the header "If-None-Match: *".
//
// Package source describes the errors. The SDK does not retry after status 429 and 503, which are
// source.Throttled: a source.Set sends these requests again. If access is denied, the error comes
// from package account and names the missing setting or role.
package azure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

// Scheme is the beginning of the names of blobs in the driver's account.
const Scheme = "azblob://"

// Driver lists, reads, creates and removes blobs of one account.
type Driver struct {
	account *account.Account
	base    string                       // part of each blob's name before the name of the container
	permit  func(container string) error // returns an error if the container may not be used

	mu         sync.Mutex
	containers map[string]*container.Client
}

var (
	_ source.Driver  = (*Driver)(nil)
	_ source.Creator = (*Driver)(nil)
	_ source.Remover = (*Driver)(nil)
	_ source.Namer   = (*Driver)(nil)
	_ source.Pruner  = (*Driver)(nil)
)

// New returns a driver for the blobs of an account whose names begin with base. The parameter base
// is [Scheme], or the URL of the account with a slash at the end. The driver uses only containers
// for which permit returns nil.
func New(a *account.Account, base string, permit func(container string) error) *Driver {
	return &Driver{account: a, base: base, permit: permit, containers: map[string]*container.Client{}}
}

// Close closes idle connections to the account.
func (d *Driver) Close() error {
	d.account.Close()
	return nil
}

// Canonical implements source.Namer: it returns the URL of a blob.
func (d *Driver) Canonical(name string) string {
	rest, ok := strings.CutPrefix(name, d.base)
	folder, key, _ := strings.Cut(rest, "/")
	if ok && d.base == Scheme {
		key = escape(key)
	}
	return d.account.BlobURL() + "/" + folder + "/" + key
}

const (
	// tryTimeout is the maximum time until the response to a request begins. tryTimeout includes
	// the retries of the SDK.
	tryTimeout = 30 * time.Second
	// retryWithin is the maximum pause between two retries of the SDK. retryWithin is short because
	// the caller retries too, with longer pauses.
	retryWithin = 4 * time.Second
)

// containerForm is the form of the names of containers, which are not escaped in a URL. Another
// spelling of a container, such as one with %2D, would not be the name that permit knows.
var containerForm = regexp.MustCompile(`^[a-z0-9$][a-z0-9-]*$`)

// locate splits a name into its container and the name of the blob in the container. In an https
// URL, the blob's name is escaped. Each request begins with locate, which refuses containers that
// may not be used.
func (d *Driver) locate(name string) (client *container.Client, prefix, key string, err error) {
	rest, ok := strings.CutPrefix(name, d.base)
	folder, key, _ := strings.Cut(rest, "/")
	if !ok || folder == "" {
		return nil, "", "", fmt.Errorf("%s: %w: want %sCONTAINER/NAME", name, source.ErrUnsupported, d.base)
	}
	if !containerForm.MatchString(folder) {
		return nil, "", "", fmt.Errorf("%s: %w: container %q: want lower-case letters, digits and dashes", name, source.ErrUnsupported, folder)
	}
	if err := d.permit(folder); err != nil {
		return nil, "", "", fmt.Errorf("%s: %w", name, err)
	}
	prefix = d.base + folder + "/"
	if d.base != Scheme {
		if key, err = url.PathUnescape(key); err != nil {
			return nil, "", "", fmt.Errorf("%s: %w", name, err)
		}
	}
	for segment := range strings.FieldsFuncSeq(key, func(r rune) bool { return r == '/' || r == '\\' }) {
		if segment == "." || segment == ".." { // a server might resolve the segment, and so leave the container
			return nil, "", "", fmt.Errorf("%s: %w: want a name without . and .. between slashes", name, source.ErrUnsupported)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if client = d.containers[folder]; client == nil {
		if client, err = d.account.Container(folder, account.Retry{Within: retryWithin, Throttled: true}); err != nil {
			return nil, "", "", err
		}
		d.containers[folder] = client
	}
	return client, prefix, key, nil
}

// name returns the name of a blob. The name does not depend on the escaping in the user's
// parameters.
func (d *Driver) name(prefix, key string) string {
	if d.base != Scheme {
		key = escape(key)
	}
	return prefix + key
}

// escape returns the name of a blob as a part of its URL.
func escape(key string) string { return (&url.URL{Path: "/" + key}).EscapedPath()[1:] }

// List implements source.Lister.
func (d *Driver) List(ctx context.Context, pattern string) iter.Seq2[source.Object, error] {
	return d.ListPruned(ctx, pattern, nil)
}

// ListPruned implements source.Pruner.
func (d *Driver) ListPruned(ctx context.Context, pattern string, skip func(folder string) bool) iter.Seq2[source.Object, error] {
	return func(yield func(source.Object, error) bool) {
		client, prefix, key, err := d.locate(pattern)
		if err != nil {
			yield(source.Object{}, err)
			return
		}
		if key != "" && !strings.HasSuffix(key, "/") && !source.IsGlob(key) {
			yield(d.stat(ctx, client, d.name(prefix, key), key))
			return
		}
		l := &lister{client: client, name: func(key string) string { return d.name(prefix, key) }, skip: skip, credit: firstCredit}
		for item, err := range l.blobs(ctx, source.GlobPrefix(key)) {
			if err != nil {
				yield(source.Object{}, d.translate(ctx, pattern, err))
				return
			}
			ok, err := source.Match(key, *item.Name)
			if err != nil {
				err = fmt.Errorf("%s: %w", pattern, err)
			}
			p := item.Properties
			if folder := item.Metadata["hdi_isfolder"]; folder != nil && *folder == "true" { // the entry is a folder of an account with a hierarchical namespace
				ok = false
			}
			if ok || err != nil {
				if !yield(source.Object{Name: d.name(prefix, *item.Name), Size: *p.ContentLength, Tag: tag(*p.ETag)}, err) || err != nil {
					return
				}
			}
		}
	}
}

// listTries is the maximum number of requests for one page of a listing.
const listTries = 5

// next sends a request, for example for a page of a listing. next retries after errors, because the
// caller cannot continue a listing that was interrupted. A source.Set retries throttled requests.
func next[T any](ctx context.Context, request func(context.Context) (T, error)) (page T, err error) {
	for try := range listTries {
		err = source.Request(ctx, func() (err error) {
			bound, cancel := context.WithTimeout(ctx, tryTimeout)
			defer cancel()
			if page, err = request(bound); throttled(err) != nil {
				err = fmt.Errorf("%w: %w", throttled(err), err)
			}
			return err
		})
		if err == nil || ctx.Err() != nil || !unavailable(err) || throttled(err) != nil {
			return page, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond << try):
		}
	}
	return page, err
}

// tag returns an ETag in quotes. ETags in a listing of Azure have no quotes.
func tag(t azcore.ETag) string { return `"` + strings.Trim(string(t), `"`) + `"` }

func (d *Driver) stat(ctx context.Context, client *container.Client, name, key string) (source.Object, error) {
	properties, err := next(ctx, func(ctx context.Context) (blob.GetPropertiesResponse, error) {
		return client.NewBlobClient(key).GetProperties(ctx, nil)
	})
	if err != nil {
		return source.Object{}, d.translate(ctx, name, err)
	}
	return source.Object{Name: name, Size: *properties.ContentLength, Tag: tag(*properties.ETag)}, nil
}

// Read implements source.Reader.
func (d *Driver) Read(ctx context.Context, o source.Object, from, until int64) (io.ReadCloser, error) {
	client, _, key, err := d.locate(o.Name)
	if err != nil {
		return nil, err
	}
	if from == until {
		return io.NopCloser(strings.NewReader("")), nil
	}
	bound, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(tryTimeout, func() { cancel(context.DeadlineExceeded) })
	answer, err := client.NewBlobClient(key).DownloadStream(bound, &blob.DownloadStreamOptions{
		Range:            blob.HTTPRange{Offset: from, Count: until - from},
		AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfMatch: to.Ptr(azcore.ETag(o.Tag))}},
	})
	timer.Stop()
	if err != nil {
		cancel(nil)
		return nil, d.translate(ctx, o.Name, err)
	}
	return &stream{answer.Body, cancel, d, o.Name}, nil
}

// stream is the content of a blob. The errors of a stream contain the blob's name, and Close ends
// the request.
type stream struct {
	body   io.ReadCloser
	cancel context.CancelCauseFunc
	driver *Driver
	name   string
}

func (s *stream) Read(p []byte) (int, error) {
	n, err := s.body.Read(p)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("read %s: %w", s.name, s.driver.account.Explain(err))
	}
	return n, err
}

func (s *stream) Close() error {
	defer s.cancel(nil)
	return s.body.Close()
}

// Create implements source.Creator. If the blob was created but the response was lost, a retry by
// the caller returns ErrExists.
func (d *Driver) Create(ctx context.Context, name string, content []byte) (source.Object, error) {
	client, prefix, key, err := d.locate(name)
	if err != nil {
		return source.Object{}, err
	}
	answer, err := client.NewBlockBlobClient(key).Upload(ctx, account.NewBody(content), &blockblob.UploadOptions{
		AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfNoneMatch: to.Ptr(azcore.ETagAny)}},
	})
	if err != nil {
		return source.Object{}, d.translate(ctx, name, err)
	}
	return source.Object{Name: d.name(prefix, key), Size: int64(len(content)), Tag: tag(*answer.ETag)}, nil
}

// Remove implements source.Remover.
func (d *Driver) Remove(ctx context.Context, name string) error {
	client, _, key, err := d.locate(name)
	if err != nil {
		return err
	}
	_, err = next(ctx, func(ctx context.Context) (blob.DeleteResponse, error) {
		return client.NewBlobClient(key).Delete(ctx, nil)
	})
	if err != nil {
		err = d.translate(ctx, name, err)
	}
	if errors.Is(err, source.ErrNotFound) {
		return nil
	}
	return err
}

// translate converts errors of the SDK into errors of package source, and adds the name of the
// blob.
func (d *Driver) translate(ctx context.Context, name string, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	explained := d.account.Explain(err)
	var kind error
	switch {
	case bloberror.HasCode(err, bloberror.BlobNotFound, bloberror.ContainerNotFound), statusOf(err) == 404: // the response to a HEAD request may contain no error code
		kind = source.ErrNotFound
	case bloberror.HasCode(err, bloberror.BlobAlreadyExists):
		kind = source.ErrExists
	case bloberror.HasCode(err, bloberror.ConditionNotMet, bloberror.InvalidRange), statusOf(err) == 412:
		kind = source.ErrChanged
	case errors.Is(explained, account.ErrDenied), statusOf(err) == 401, statusOf(err) == 403:
		kind = source.ErrDenied
	case throttled(err) != nil:
		kind = throttled(err)
	case unavailable(err):
		kind = source.ErrUnavailable
	default:
		return fmt.Errorf("%s: %w", name, explained)
	}
	return fmt.Errorf("%s: %w: %w", name, kind, explained)
}

// statusOf returns the HTTP status of the response, or 0 if no response arrived.
func statusOf(err error) int {
	if answer, ok := errors.AsType[*azcore.ResponseError](err); ok {
		return answer.StatusCode
	}
	return 0
}

// throttled returns the source.Throttled for an error of the SDK, or nil if the request was not throttled.
func throttled(err error) error {
	if answer, ok := errors.AsType[*azcore.ResponseError](err); ok && answer.RawResponse != nil {
		if t := source.ThrottledBy(answer.StatusCode, answer.RawResponse.Header.Get); t != nil {
			return t
		}
	}
	return nil
}

// unavailable reports whether a retry of a failed request may succeed.
func unavailable(err error) bool {
	status := statusOf(err)
	return status == 0 || status == 408 || status == 429 || status >= 500
}
