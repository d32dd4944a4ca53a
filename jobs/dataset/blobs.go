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

// blobURLs is the driver for blobs of any account whose names are https URLs. For the account of
// the cluster, the driver uses the cluster's credentials. For other accounts, the driver uses the
// Azure identity of the process.
type blobURLs struct {
	own func() (*account.Account, error) // returns the account of the cluster, which is opened once

	mu   sync.Mutex
	open map[string]*azure.Driver // drivers by the beginning of the URL, which names the account
}

// blobHosts contains the domains of Azure's storage accounts. The driver sends tokens only to hosts
// in blobHosts.
var blobHosts = []string{".blob.core.windows.net", ".blob.core.usgovcloudapi.net", ".blob.core.chinacloudapi.cn"}

// claims reports whether a name is the URL of a blob.
func (b *blobURLs) claims(name string) bool {
	u, err := url.Parse(name)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return false
	}
	for _, host := range blobHosts {
		if strings.HasSuffix(u.Host, host) {
			return true
		}
	}
	a, err := b.own()
	return err == nil && strings.HasPrefix(name, a.BlobURL()+"/")
}

func (b *blobURLs) driver(name string) (*azure.Driver, error) {
	u, err := url.Parse(name)
	if err != nil {
		return nil, err
	}
	base := u.Scheme + "://" + u.Host
	a, err := b.own()
	own := err == nil && strings.HasPrefix(name, a.BlobURL()+"/")
	if own {
		base = a.BlobURL()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if d := b.open[base]; d != nil {
		return d, nil
	}
	if !own {
		if a, err = account.Open(account.Config{URL: base}); err != nil {
			return nil, err
		}
	}
	if b.open == nil {
		b.open = map[string]*azure.Driver{}
	}
	b.open[base] = azure.New(a, base+"/")
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

// Remove implements source.Remover.
func (b *blobURLs) Remove(ctx context.Context, name string) error {
	d, err := b.driver(name)
	if err != nil {
		return err
	}
	return d.Remove(ctx, name)
}
