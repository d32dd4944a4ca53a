package dataset

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"

	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/azure"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/web"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

// urls is the driver for objects whose names are URLs of the web: blobs of any storage account, and
// objects of other web servers. For the account of the cluster, the driver uses the cluster's
// credentials. For other accounts, the driver uses the Azure identity of the process.
type urls struct {
	*web.Driver
	own    *account.Account // account of the cluster; nil if the cluster has none
	hidden []string         // secrets of the process, see account.Config

	mu   sync.Mutex
	open map[string]*azure.Driver // drivers by the beginning of the URL, which names the account
}

var _ source.Selector = (*urls)(nil)

// openURLs returns a driver without credentials of an account if the cluster has no account.
func openURLs(ctx context.Context) (source.Driver, error) {
	u := &urls{Driver: web.New(nil), open: map[string]*azure.Driver{}}
	if cfg, err := cluster.Of(ctx); err == nil {
		u.hidden = cfg.Azure.Hidden
		u.own, _ = cfg.OpenAccount() // the error is reported when azblob:// is used
	}
	return u, nil
}

// blobHosts contains the domains of Azure's storage accounts. The driver sends tokens only to hosts
// in blobHosts.
var blobHosts = []string{".blob.core.windows.net", ".blob.core.usgovcloudapi.net", ".blob.core.chinacloudapi.cn"}

// Select implements source.Selector.
func (d *urls) Select(name string) (source.Driver, error) {
	own := d.own != nil && strings.HasPrefix(name, d.own.BlobURL()+"/")
	u, err := url.Parse(name)
	if err != nil {
		return nil, err
	}
	if !own && !isBlobHost(u.Host) {
		return d.Driver, nil
	}
	base := u.Scheme + "://" + u.Host
	if own {
		base = d.own.BlobURL()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if blobs := d.open[base]; blobs != nil {
		return blobs, nil
	}
	a := d.own
	if !own {
		if a, err = account.Open(account.Config{URL: base, Hidden: d.hidden}); err != nil {
			return nil, err
		}
	}
	d.open[base] = azure.New(a, base+"/")
	return d.open[base], nil
}

func isBlobHost(host string) bool {
	for _, domain := range blobHosts {
		if strings.HasSuffix(host, domain) {
			return true
		}
	}
	return false
}

// Close closes the drivers of all accounts.
func (d *urls) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.Driver.Close()
	for _, blobs := range d.open {
		err = errors.Join(err, blobs.Close())
	}
	return err
}
