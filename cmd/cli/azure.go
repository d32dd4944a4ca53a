package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/bellwether-compute/bellwether/deploy/local/azurite"
	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/election/bloblease"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/azure"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

// Those that begin with AZURE_ are the variables of Azure's own tools.
const (
	envAzureURL        = "BELLWETHER_AZURE_URL"
	envAzureQueueURL   = "BELLWETHER_AZURE_QUEUE_URL"
	envAzureFile       = "BELLWETHER_AZURE_CONNECTION_FILE"
	envAzureConnection = "AZURE_STORAGE_CONNECTION_STRING"
	envAzureAccount    = "AZURE_STORAGE_ACCOUNT"
	envAzureKey        = "AZURE_STORAGE_KEY"
	envAzureSAS        = "AZURE_STORAGE_SAS_TOKEN"
)

// azureFlags is how the storage account is reached. Secrets come from the
// environment or from a file: whoever is on the machine can read flags.
type azureFlags struct {
	url  string // of the account's blob endpoint, without a SAS
	file string // has a connection string, or a URL with a SAS

	local string // connection string of a server of this program's own: nothing else counts
}

func (f *azureFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.url, "azure-url", "", "storage account, such as https://NAME.blob.core.windows.net, to sign in to with an identity (env "+envAzureURL+", which may have a SAS; "+envAzureAccount+")")
	flags.StringVar(&f.file, "azure-connection-file", "", "file with the storage account's connection string, or its URL with a SAS (env "+envAzureFile+", or the string itself in "+envAzureConnection+")")
}

// azureVariables are all that say which account is meant, the first that is set
// before the others.
var azureVariables = []string{envAzureURL, envAzureFile, envAzureConnection, envAzureAccount}

// named reports whether anything says which account is meant.
func (f azureFlags) named() bool {
	set := f.local + f.url + f.file
	for _, name := range azureVariables {
		set += os.Getenv(name)
	}
	return set != ""
}

// env is the environment of processes that shall reach the same account.
func (f azureFlags) env() []string {
	var env []string
	first := func(name, value string) {
		for _, other := range azureVariables {
			if other != name {
				env = append(env, other+"=")
			}
		}
		env = append(env, name+"="+value)
	}
	switch {
	case f.local != "":
		first(envAzureConnection, f.local)
	case f.url != "":
		first(envAzureURL, f.url)
	case f.file != "":
		first(envAzureFile, f.file)
	}
	return env
}

// config is the account that the flags say, or else the environment.
func (f azureFlags) config() (account.Config, error) {
	atURL := func(url string) (account.Config, error) {
		return account.Config{URL: url, QueueURL: os.Getenv(envAzureQueueURL)}, nil
	}
	file := cmp.Or(f.file, os.Getenv(envAzureFile))
	switch name := os.Getenv(envAzureAccount); {
	case f.local != "":
		return account.Config{ConnectionString: f.local}, nil
	case strings.Contains(f.url, "?"):
		return account.Config{}, usagef("--azure-url has a SAS, which others on this machine could read: set %s instead", envAzureURL)
	case f.url != "":
		return atURL(f.url)
	case f.file == "" && os.Getenv(envAzureURL) != "":
		return atURL(os.Getenv(envAzureURL))
	case file != "":
		text, err := os.ReadFile(file)
		if err != nil {
			return account.Config{}, usagef("read the storage account's connection string: %w", err)
		}
		if s := strings.TrimSpace(string(text)); !strings.HasPrefix(s, "http") {
			return account.Config{ConnectionString: s}, nil
		}
		return atURL(strings.TrimSpace(string(text)))
	case os.Getenv(envAzureConnection) != "":
		return account.Config{ConnectionString: os.Getenv(envAzureConnection)}, nil
	case name != "" && os.Getenv(envAzureKey) != "":
		return account.Config{ConnectionString: "AccountName=" + name + ";AccountKey=" + os.Getenv(envAzureKey)}, nil
	case name != "":
		url := "https://" + name + ".blob.core.windows.net"
		if sas := strings.TrimPrefix(os.Getenv(envAzureSAS), "?"); sas != "" {
			url += "?" + sas
		}
		return atURL(url)
	}
	return account.Config{}, usagef("storage %s needs an account: set %s, or name it by --azure-url or %s to sign in with an identity",
		storageAzure, envAzureConnection, envAzureAccount)
}

// azureStorage is a cluster's storage in an Azure storage account.
type azureStorage struct {
	account *account.Account
	driver  *azure.Driver
	cluster string
	log     *slog.Logger
}

// openAzure makes no call: those that are made later say what is wrong. timeout
// bounds each; 0 is the driver's default.
func openAzure(at place, timeout time.Duration, log *slog.Logger) (*azureStorage, error) {
	cfg, err := at.azure.config()
	if err != nil {
		return nil, err
	}
	a, err := account.Open(cfg)
	if err != nil {
		return nil, usage(err)
	}
	driver, err := azure.Open(a, azure.Config{Cluster: at.cluster, CallTimeout: timeout, Logger: log})
	if err != nil {
		return nil, usage(err)
	}
	return &azureStorage{account: a, driver: driver, cluster: at.cluster, log: log}, nil
}

func (s *azureStorage) store(options ...store.Option) *store.Store {
	return store.New(s.driver, s.driver, append(options, store.WithLogger(s.log))...)
}

// lease opens the lease on a blob beside the others, whose name no job's can be. It
// is longer in being acquired than to be renewed twice in time allows for, so calls
// have as much of its duration as they can.
func (s *azureStorage) lease(ctx context.Context, cfg *election.Config) (election.Lease, error) {
	if err := s.driver.Check(ctx); err != nil {
		return nil, err
	}
	cfg.CallTimeout = cfg.Duration / 3
	lease, err := bloblease.Open(s.account, bloblease.Config{
		Container: azure.Name(s.cluster), Duration: cfg.Duration, CallTimeout: cfg.CallTimeout,
	})
	if err != nil {
		return nil, usage(err)
	}
	return lease, nil
}

func (s *azureStorage) explain(err error) error {
	if errors.Is(err, account.ErrDenied) {
		return absentf("storage of cluster %s refuses: %w", s.cluster, err)
	}
	return absentf("storage of cluster %s does not answer: %w", s.cluster, err)
}

func (s *azureStorage) close() { s.account.Close() }

// startAzurite runs what stands in for Azure Storage on this machine. It keeps
// things below dir.
func (a *app) startAzurite(ctx context.Context, dir string, log *slog.Logger) (*azurite.Server, error) {
	dir = filepath.Join(dir, "azurite")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make a folder for Azurite: %w", err)
	}
	a.note("starting Azurite, which stands in for Azure Storage; the first time, npm installs it")
	server, err := azurite.Start(ctx, azurite.Config{Dir: dir, Logger: log})
	if err != nil {
		return nil, &statusError{statusAbsent, err}
	}
	return server, nil
}
