package dataset

import (
	"strings"
	"sync"

	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/azure"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/local"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/web"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

// Open returns a driver for objects of all kinds. The driver gets its credentials from the
// environment variables of this process: package cluster lists the variables for Azure. The
// variable BELLWETHER_FILES lists the folders that jobs may access; by default, they may access all
// files. Open itself makes no request.
func Open() *source.Set {
	own := sync.OnceValues(accountFromEnv)
	blobs := &blobURLs{own: own}
	return source.NewSet(
		source.Entry{Claims: local.Claims, Open: func() (source.Driver, error) { return local.FromEnv(), nil }},
		source.Entry{Claims: isAzblob, Open: func() (source.Driver, error) {
			a, err := own()
			if err != nil {
				return nil, err
			}
			return azure.New(a, azure.Scheme), nil
		}},
		source.Entry{Claims: blobs.claims, Open: func() (source.Driver, error) { return blobs, nil }},
		source.Entry{Claims: web.Claims, Open: func() (source.Driver, error) { return web.New(nil), nil }},
	)
}

func isAzblob(name string) bool { return strings.HasPrefix(name, azure.Scheme) }

func accountFromEnv() (*account.Account, error) {
	cfg, err := cluster.FromEnv()
	if err != nil {
		return nil, err
	}
	return cfg.OpenAccount()
}
