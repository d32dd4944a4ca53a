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
// configuration of this process (cluster.OfProcess). The variable BELLWETHER_FILES lists the
// folders that jobs may access. By default, jobs may access all files. Open sends no request.
func Open() *source.Set {
	own := sync.OnceValues(openAccount)
	blobs := &blobURLs{own: own}
	outputs := &jobOutputs{}
	outputs.set = source.NewSet(
		source.Entry{Claims: isJob, Open: func() (source.Driver, error) { return outputs, nil }},
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
	return outputs.set
}

func isAzblob(name string) bool { return strings.HasPrefix(name, azure.Scheme) }

func openAccount() (*account.Account, error) {
	cfg, err := cluster.OfProcess()
	if err != nil {
		return nil, err
	}
	return cfg.OpenAccount()
}
