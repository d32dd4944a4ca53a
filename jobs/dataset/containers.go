package dataset

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
	store "github.com/bellwether-compute/bellwether/jobs/store/azure"
)

// containers decides which containers of storage accounts jobs may use.
type containers struct {
	granted []string
	own     string // container of the cluster itself, or "" if the process belongs to no cluster
}

func containersOf(ctx context.Context) containers {
	c := containers{granted: jobs.GrantOf(ctx).Containers}
	if cfg, err := cluster.Of(ctx); err == nil {
		c.own = store.Name(cfg.Name)
	}
	return c
}

// in returns a function that returns an error if jobs may not use a container of an account. The
// name is that of the account in Grant.Containers, or "" if it is not known. The cluster's own
// container is refused in each account, because an account may have several names.
func (c containers) in(ownAccount bool, name string) func(container string) error {
	var prefixes []string
	if ownAccount {
		prefixes = append(prefixes, "")
	}
	if name != "" {
		prefixes = append(prefixes, name+"/")
	}
	return func(container string) error {
		if container == c.own {
			return fmt.Errorf("%w: container %s belongs to the cluster itself, so no job may use it", source.ErrDenied, container)
		}
		names := []string{}
		for _, prefix := range prefixes {
			names = append(names, prefix+container)
			if !strings.HasPrefix(container, store.Name("")) { // a wildcard does not include the containers of other clusters
				names = append(names, prefix+jobs.AnyContainer)
				if prefix != "" {
					names = append(names, jobs.AnyAccount)
				}
			}
		}
		if slices.ContainsFunc(names, func(name string) bool { return slices.Contains(c.granted, name) }) {
			return nil
		}
		return fmt.Errorf("%w: jobs may not use container %[2]s: start the worker with --containers %[2]s, or set BELLWETHER_CONTAINERS; "+
			"in Go, set Grant.Containers of worker.Config or jobs.Local", source.ErrDenied, names[0])
	}
}

// blobHosts contains the domains of Azure's storage accounts. The driver sends tokens only to hosts
// in blobHosts.
var blobHosts = []string{publicCloud, ".blob.core.usgovcloudapi.net", ".blob.core.chinacloudapi.cn"}

const publicCloud = ".blob.core.windows.net"

// accountAt returns the name for Grant.Containers of the storage account that a URL names, and
// reports whether the URL's host belongs to Azure's storage accounts. The secondary endpoint of an
// account has the account's name.
func accountAt(u *url.URL) (name string, found bool, err error) {
	host := hostOf(u)
	for _, domain := range blobHosts {
		account, found := strings.CutSuffix(host, domain)
		switch {
		case !found:
			continue
		case strings.Contains(account, ".") || u.Port() != "" && u.Port() != "443":
			return "", true, fmt.Errorf("%s://%s: %w: want the URL of a storage account, such as https://NAME%s", u.Scheme, u.Host, source.ErrUnsupported, domain)
		}
		account = strings.TrimSuffix(account, "-secondary") // names of accounts contain no dash
		if domain != publicCloud {
			account += domain
		}
		return account, true, nil
	}
	return "", false, nil
}

// hostOf returns the host of a URL in the form in which hosts are compared.
func hostOf(u *url.URL) string { return strings.TrimSuffix(strings.ToLower(u.Hostname()), ".") }
