package dataset

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/azure"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/web"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

// urls is the driver for objects whose names are URLs of the web: blobs of storage accounts, and
// objects of other web servers. For the account of the cluster, the driver uses the cluster's
// credentials. For other accounts, the driver uses the Azure identity of the process.
type urls struct {
	*web.Driver
	own        *account.Account // account of the cluster; nil if the cluster has none
	ownURL     *url.URL         // URL of own
	hidden     []string         // secrets of the process, see account.Config
	containers containers

	mu   sync.Mutex
	open map[string]*azure.Driver // drivers by the beginning of the URL, which names the account
}

var _ source.Selector = (*urls)(nil)

// openURLs returns a driver without credentials of an account if the cluster has no account.
func openURLs(ctx context.Context) (source.Driver, error) {
	u := &urls{Driver: web.New(web.NewClient(jobs.GrantOf(ctx).Web)), containers: containersOf(ctx), open: map[string]*azure.Driver{}}
	if cfg, err := cluster.Of(ctx); err == nil {
		u.hidden = cfg.Azure.Hidden
		u.own, u.ownURL = openOwn(cfg)
	}
	return u, nil
}

// openOwn opens the storage account of a cluster. openOwn returns nil if the account cannot be
// opened, because the error is reported when azblob:// is used.
func openOwn(cfg cluster.Config) (*account.Account, *url.URL) {
	a, err := cfg.OpenAccount()
	if err != nil {
		return nil, nil
	}
	u, err := url.Parse(a.BlobURL())
	if err != nil {
		return nil, nil
	}
	return a, u
}

// Select implements source.Selector.
func (d *urls) Select(name string) (source.Driver, error) {
	u, err := url.Parse(name)
	if err != nil {
		return nil, err
	}
	accountName, isBlob, err := accountAt(u)
	if err != nil {
		return nil, err
	}
	own := d.own != nil && u.Scheme == d.ownURL.Scheme && hostOf(u) == hostOf(d.ownURL) && u.Port() == d.ownURL.Port() &&
		strings.HasPrefix(u.Path, d.ownURL.Path+"/")
	if !own && !isBlob {
		return d.Driver, nil
	}
	base := u.Scheme + "://" + u.Host
	if own {
		base += d.ownURL.Path
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if blobs := d.open[base]; blobs != nil {
		return blobs, nil
	}
	a := d.own
	if !own {
		if a, err = account.Open(account.Config{URL: u.Scheme + "://" + hostOf(u), Hidden: d.hidden}); err != nil {
			return nil, err
		}
	}
	d.open[base] = azure.New(a, base+"/", d.containers.in(own || d.isOwn(accountName), accountName))
	return d.open[base], nil
}

// isOwn reports whether the name of an account is that of the cluster's account.
func (d *urls) isOwn(name string) bool {
	if d.own == nil || name == "" {
		return false
	}
	own, _, err := accountAt(d.ownURL)
	return err == nil && own == name
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
