package dataset

import (
	"context"
	"fmt"
	"net/url"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/azure"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/local"
)

// Sources returns the built-in sources. Each row takes what its driver may access, and its
// credentials, from the settings in the context: jobs.GrantOf and cluster.Of.
func Sources() []source.Source {
	return []source.Source{
		{Schemes: []string{"", "file://"}, Help: "files, which all workers must see (workers need --files)", Open: openFiles},
		{Schemes: []string{azure.Scheme}, Help: "blobs of the cluster's storage account: azblob://CONTAINER/NAME (workers need --containers)", Open: openBlobs},
		{Schemes: []string{"https://", "http://"}, Help: "objects of web servers (workers need --web if they are not public), and blobs of storage accounts", Open: openURLs},
		{Schemes: []string{lakeScheme}, Help: "blobs of storage accounts: abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/NAME (workers need --containers)", Open: refuseLake},
		{Schemes: []string{jobScheme}, Help: "the output of an earlier job: job:ID", Open: openOutputs},
	}
}

// Open returns a driver for the objects of all sources that the code of a job may use: those of
// jobs.Grant, or by default [Sources]. Open sends no request.
func Open(ctx context.Context) *source.Set { return source.Of(ctx, Sources()) }

// refuseLake returns an error for a name that blobURL has not changed.
func refuseLake(context.Context) (source.Driver, error) {
	return nil, fmt.Errorf("%w: want %sCONTAINER@ACCOUNT.dfs.core.windows.net/NAME", source.ErrUnsupported, lakeScheme)
}

func openFiles(ctx context.Context) (source.Driver, error) {
	return local.Driver{Folders: jobs.GrantOf(ctx).Files}, nil
}

func openBlobs(ctx context.Context) (source.Driver, error) {
	cfg, err := cluster.Of(ctx)
	if err != nil {
		return nil, err
	}
	a, err := cfg.OpenAccount()
	if err != nil {
		return nil, err
	}
	name := ""
	if u, err := url.Parse(a.BlobURL()); err == nil {
		name, _, _ = accountAt(u) // an account at another address has no name
	}
	return azure.New(a, azure.Scheme, containersOf(ctx).in(true, name)), nil
}
