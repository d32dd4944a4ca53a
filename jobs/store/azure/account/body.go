package account

import (
	"bytes"
	"io"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// Body is the body of a request whose every try reads it by itself. Storage may
// answer before it has read a request, as it does when it is busy. What the SDK
// makes of its own bodies then is that the next try rewinds the reader which the
// last one is still sending from, so that storage may get other bytes.
type Body struct {
	*bytes.Reader // for the SDK, which seeks to learn the size
	value         []byte
}

// NewBody is a body of these bytes, which must not change.
func NewBody(value []byte) *Body { return &Body{bytes.NewReader(value), value} }

// Close implements io.Closer.
func (b *Body) Close() error { return nil }

// bodies is the policy that gives each try its own reader.
type bodies struct{}

func (bodies) Do(req *policy.Request) (*http.Response, error) {
	if b, ok := req.Body().(*Body); ok {
		req.Raw().Body = io.NopCloser(bytes.NewReader(b.value))
	}
	return req.Next()
}
