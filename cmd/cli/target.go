package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/spf13/pflag"

	"github.com/bellwether-compute/bellwether/jobs/cluster"
)

// targetFlags say which cluster is meant and how to reach it. Flags count before
// the environment. The connection flags are those of the nats tool.
type targetFlags struct {
	cluster  string
	storage  string
	replicas int
	nats     cluster.NATS

	azureURL  string // of the account's blob endpoint, without a SAS
	azureFile string // contains a connection string, or a URL with a SAS
}

func (f *targetFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.cluster, "cluster", "", fmt.Sprintf("name of the cluster (env %s; default %q)", cluster.EnvName, cluster.DefaultName))
	flags.StringVar(&f.storage, "storage", "", fmt.Sprintf("where the cluster keeps its state: %s or %s (env %s; default %q)", cluster.JetStream, cluster.Azure, cluster.EnvStorage, cluster.JetStream))
	flags.IntVar(&f.replicas, "replicas", 0, fmt.Sprintf("number of NATS servers that keep each value with storage %s; counts only when the storage is created (env %s; default 1)", cluster.JetStream, cluster.EnvReplicas))
	flags.StringVar(&f.azureURL, "azure-url", "", fmt.Sprintf("storage account to sign in to with an identity, such as https://NAME.blob.core.windows.net (env %s, which may have a SAS; %s)", cluster.EnvAzureURL, cluster.EnvAzureAccount))
	flags.StringVar(&f.azureFile, "azure-connection-file", "", fmt.Sprintf("file with the storage account's connection string, or its URL with a SAS (env %s, or the string itself in %s)", cluster.EnvAzureFile, cluster.EnvAzureConnection))

	flags.StringVar(&f.nats.URL, "nats", "", fmt.Sprintf("NATS URLs, separated by commas (env %s, NATS_URL; default %q)", cluster.EnvNATSURL, nats.DefaultURL))
	flags.StringVar(&f.nats.Creds, "creds", "", "NATS credentials file (env NATS_CREDS)")
	flags.StringVar(&f.nats.NKey, "nkey", "", "NATS NKey seed file (env NATS_NKEY)")
	flags.StringVar(&f.nats.User, "user", "", "NATS user, or a token if no password is given (env NATS_USER)")
	flags.StringVar(&f.nats.Password, "password", "", "NATS password (env NATS_PASSWORD)")
	flags.StringVar(&f.nats.TLSCert, "tlscert", "", "TLS certificate file (env NATS_CERT)")
	flags.StringVar(&f.nats.TLSKey, "tlskey", "", "TLS private key file (env NATS_KEY)")
	flags.StringVar(&f.nats.TLSCA, "tlsca", "", "TLS certificate authority file (env NATS_CA)")
}

// config returns what the flags say and, for the rest, the environment.
func (f targetFlags) config() (cluster.Config, error) {
	cfg := cluster.Config{
		Name: f.cluster, NATS: f.nats, Storage: cluster.StorageKind(f.storage), Replicas: f.replicas,
	}
	switch {
	case strings.Contains(f.azureURL, "?"):
		return cfg, usagef("--azure-url has a SAS, which others on this machine could read: set %s instead", cluster.EnvAzureURL)
	case f.azureURL != "":
		cfg.Azure.URL = f.azureURL
	default:
		cfg.Azure.ConnectionFile = f.azureFile
	}
	cfg, err := cfg.WithEnv()
	return cfg, usage(err)
}

// explain gives errors of reaching a cluster their exit status, and says which
// command or flag helps.
func (a *app) explain(err error) error {
	switch {
	case errors.Is(err, cluster.ErrConfig):
		return usage(err)
	case errors.Is(err, cluster.ErrNoServer):
		return absentf("%w: start one with '%s dev', or give --nats URL", err, a.name)
	case errors.Is(err, cluster.ErrUnauthorized):
		return absentf("%w: give --creds, --nkey, or --user and --password", err)
	case errors.Is(err, cluster.ErrTLS):
		return absentf("%w: see --tlsca, --tlscert and --tlskey", err)
	case errors.Is(err, cluster.ErrUnavailable), errors.Is(err, cluster.ErrDenied):
		return absentf("%w", err)
	}
	return err
}
