// Package web is the driver for objects on web servers. The name of an object is its https:// or
// http:// URL.
//
// The server must support range requests (RFC 9110, section 14). The server's responses must
// contain a strong ETag or the header Last-Modified, which the driver uses as the object's tag.
// Every request to read an object contains If-Match or If-Unmodified-Since. Some servers ignore the
// conditions of a request, so the driver also compares the tag and the size in the response with
// the listed values. A web server cannot list its objects, so a URL names a single object.
//
// Package source describes the errors. Status 401 and 403 become ErrDenied, 404 and 410
// ErrNotFound, 429 and 503 Throttled, and 408, 425 and other 5xx ErrUnavailable. A response without a range or a tag is an
// error. The driver sends no credentials. [NewClient] describes which servers jobs may read from.
package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
)

// Driver reads objects from web servers.
type Driver struct{ client *http.Client }

var (
	_ source.Driver     = (*Driver)(nil)
	_ source.Identifier = (*Driver)(nil)
)

// New returns a driver that uses the given HTTP client, such as that of [NewClient].
func New(client *http.Client) *Driver { return &Driver{client} }

// Close closes idle connections.
func (d *Driver) Close() error {
	d.client.CloseIdleConnections()
	return nil
}

// settled is the age of an object without an ETag from which on each further change gives the object
// another Last-Modified, which has whole seconds. It is more than the usual difference between the clocks of
// a server and of this machine.
const settled = time.Hour

// Identify implements source.Identifier. An object is certain if it has an ETag, or if it was modified
// long ago.
func (d *Driver) Identify(o source.Object, since time.Time) (identity string, certain bool) {
	if strings.HasPrefix(o.Tag, `"`) {
		return "", true
	}
	modified, err := http.ParseTime(o.Tag)
	return "", err == nil && since.Sub(modified) >= settled
}

// List implements source.Lister. List requests the first byte of the object, because some servers
// refuse HEAD.
func (d *Driver) List(ctx context.Context, pattern string) iter.Seq2[source.Object, error] {
	return func(yield func(source.Object, error) bool) {
		yield(d.stat(ctx, pattern))
	}
}

func (d *Driver) stat(ctx context.Context, name string) (o source.Object, err error) {
	if strings.HasSuffix(name, "/") || strings.Contains(name, "*") {
		return o, fmt.Errorf("%s: %w: a web server has no listing: want the URL of one object", name, source.ErrUnsupported)
	}
	var answer *http.Response
	err = source.Request(ctx, func() (err error) {
		answer, err = d.request(ctx, name, 0, 1, nil)
		return err
	})
	if err != nil {
		return o, err
	}
	defer answer.Body.Close()
	if o, err = describe(name, answer); err != nil {
		return o, err
	}
	if o.Tag == "" {
		return o, fmt.Errorf("%s: the answer has neither a strong ETag nor Last-Modified, so a change of the object would go unnoticed: "+
			"want a server that sends one of them", name)
	}
	return o, nil
}

// Read implements source.Reader.
func (d *Driver) Read(ctx context.Context, o source.Object, from, to int64) (io.ReadCloser, error) {
	if from == to {
		return http.NoBody, nil
	}
	answer, err := d.request(ctx, o.Name, from, to, &o)
	if err != nil {
		return nil, err
	}
	have, err := describe(o.Name, answer)
	if err == nil && have != o {
		err = fmt.Errorf("%s: %w", o.Name, source.ErrChanged)
	}
	if got := answer.Header.Get("Content-Range"); err == nil && !strings.HasPrefix(got, fmt.Sprintf("bytes %d-%d/", from, to-1)) {
		err = fmt.Errorf("%s: asked for bytes %d to %d, got the range %q", o.Name, from, to-1, got)
	}
	if err != nil {
		return nil, errors.Join(err, answer.Body.Close())
	}
	return body{answer.Body, o.Name}, nil
}

// request requests bytes of an object. Unless pinned is nil, the server must refuse the request if
// the object's tag differs from the tag of pinned.
func (d *Driver) request(ctx context.Context, name string, from, to int64, pinned *source.Object) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, name, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", from, to-1))
	r.Header.Set("Accept-Encoding", "identity") // otherwise the server might send a range of the object in compressed form
	if pinned != nil {
		if strings.HasPrefix(pinned.Tag, `"`) {
			r.Header.Set("If-Match", pinned.Tag)
		} else {
			r.Header.Set("If-Unmodified-Since", pinned.Tag)
		}
	}
	answer, err := d.client.Do(r)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // the URL of the last redirect may contain a secret of a server
		}
		if errors.Is(err, source.ErrDenied) {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return nil, fmt.Errorf("%s: %w: %w", name, source.ErrUnavailable, err)
	}
	if err := check(name, answer); err != nil {
		return nil, errors.Join(err, answer.Body.Close())
	}
	return answer, nil
}

// check returns the error of package source for the status of a response, or nil if the request
// succeeded.
func check(name string, answer *http.Response) error {
	kind := source.ErrUnavailable
	if t := source.ThrottledBy(answer.StatusCode, answer.Header.Get); t != nil {
		kind = t
	}
	switch code := answer.StatusCode; {
	case code == http.StatusPartialContent:
		return nil
	case code == http.StatusRequestedRangeNotSatisfiable && answer.Header.Get("Content-Range") == "bytes */0":
		return nil // the server sends this status for an empty object
	case code == http.StatusOK:
		if answer.ContentLength == 0 {
			return nil // some servers do not send ranges of empty objects
		}
		return fmt.Errorf("%s: %w: the server ignores range requests: want one that serves ranges, or download the object first", name, source.ErrUnsupported)
	case code == http.StatusNotFound, code == http.StatusGone:
		kind = source.ErrNotFound
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return fmt.Errorf("%s: %w: the server answers %s: want an object that anyone may read, because requests have no credentials", name, source.ErrDenied, status(answer))
	case code == http.StatusPreconditionFailed, code == http.StatusRequestedRangeNotSatisfiable:
		kind = source.ErrChanged
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusTooManyRequests, code >= 500:
	default:
		return fmt.Errorf("%s: the server answers %s", name, status(answer))
	}
	return fmt.Errorf("%s: %w: the server answers %s", name, kind, status(answer))
}

// status returns the status of a response without the text of the server.
func status(answer *http.Response) string {
	return strings.TrimSpace(strconv.Itoa(answer.StatusCode) + " " + http.StatusText(answer.StatusCode))
}

// describe returns the object that the headers of a response describe.
func describe(name string, answer *http.Response) (source.Object, error) {
	o := source.Object{Name: name, Tag: answer.Header.Get("ETag")}
	if !strings.HasPrefix(o.Tag, `"`) { // a weak ETag does not identify the exact bytes
		o.Tag = answer.Header.Get("Last-Modified")
	}
	if answer.StatusCode == http.StatusOK {
		return o, nil
	}
	_, size, _ := strings.Cut(answer.Header.Get("Content-Range"), "/")
	var err error
	if o.Size, err = strconv.ParseInt(size, 10, 64); err != nil || o.Size < 0 {
		return o, fmt.Errorf("%s: the answer has the Content-Range %q: want one with the size of the object", name, answer.Header.Get("Content-Range"))
	}
	return o, nil
}

// body is the body of a response. The errors of a body contain the name of the object.
type body struct {
	io.ReadCloser
	name string
}

func (b body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("read %s: %w", b.name, err)
	}
	return n, err
}
