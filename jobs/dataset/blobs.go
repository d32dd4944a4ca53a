package dataset

import (
	"context"
	"io"
	"iter"
	"net/url"
	"strings"
	"sync"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/azure"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

// blobURLs is the driver for blobs of any account whose names are https URLs. For the account that
// the environment variables name, the driver uses the credentials in these variables. For other
// accounts it uses the Azure identity of the process.
type blobURLs struct {
	mu   sync.Mutex
	open map[string]*azure.Driver // drivers by the beginning of the URL, which names the account
}

// isBlobURL reports whether a name is the URL of a blob.
func isBlobURL(name string) bool {
	u, err := url.Parse(name)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return false
	}
	if strings.Contains(u.Host, ".blob.core.") {
		return true
	}
	a, err := accountFromEnv()
	return err == nil && strings.HasPrefix(name, a.BlobURL()+"/")
}

func (b *blobURLs) driver(name string) (*azure.Driver, error) {
	u, err := url.Parse(name)
	if err != nil {
		return nil, err
	}
	base := u.Scheme + "://" + u.Host
	a, err := accountFromEnv()
	if own := err == nil && strings.HasPrefix(name, a.BlobURL()+"/"); own {
		base = a.BlobURL()
	} else if a, err = account.Open(account.Config{URL: base}); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open[base] == nil {
		if b.open == nil {
			b.open = map[string]*azure.Driver{}
		}
		b.open[base] = azure.New(a, base+"/")
	}
	return b.open[base], nil
}

// List implements source.Lister.
func (b *blobURLs) List(ctx context.Context, pattern string) iter.Seq2[source.Object, error] {
	d, err := b.driver(pattern)
	if err != nil {
		return source.Fail(err)
	}
	return d.List(ctx, pattern)
}

// Read implements source.Reader.
func (b *blobURLs) Read(ctx context.Context, o source.Object, from, to int64) (io.ReadCloser, error) {
	d, err := b.driver(o.Name)
	if err != nil {
		return nil, err
	}
	return d.Read(ctx, o, from, to)
}

// Create implements source.Creator.
func (b *blobURLs) Create(ctx context.Context, name string, content []byte) (source.Object, error) {
	d, err := b.driver(name)
	if err != nil {
		return source.Object{}, err
	}
	return d.Create(ctx, name, content)
}
