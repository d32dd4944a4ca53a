package account

import (
	"bytes"
	"io"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// Body is the body of an HTTP request to storage. Each try gets a new reader, because busy storage
// may answer before it has read the whole request. The SDK's bodies use one reader for all tries. A
// second try could rewind the reader while the first try is still reading, and storage might
// receive wrong bytes.
type Body struct {
	*bytes.Reader // the SDK seeks to the end of the reader to determine the size
	value         []byte
}

// NewBody returns a body that sends value. The caller must not change value.
func NewBody(value []byte) *Body { return &Body{bytes.NewReader(value), value} }

// Close does nothing, because the value is in memory.
func (b *Body) Close() error { return nil }

// bodies is a policy that gives each try a separate reader.
type bodies struct{}

func (bodies) Do(req *policy.Request) (*http.Response, error) {
	if b, ok := req.Body().(*Body); ok {
		req.Raw().Body = io.NopCloser(bytes.NewReader(b.value))
	}
	return req.Next()
}
