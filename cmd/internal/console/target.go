package console

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/worker"
)

// TargetFlags are the flags that select a cluster and configure the connection to it. The flags of
// TargetFlags override the environment variables. The flags for the connection have the same names
// as flags of the program nats.
type TargetFlags struct {
	flags     *pflag.FlagSet
	context   string // name of the context; empty for the current one or none
	inContext bool   // values come from a context, so the environment does not count

	Cluster  string
	Storage  string
	Replicas int
	nats     cluster.NATS

	azureURL  string // URL of the account's blob endpoint, without a SAS
	azureFile string // name of a file that contains a connection string, or a URL with a SAS
}

func (f *TargetFlags) Register(flags *pflag.FlagSet) {
	f.flags = flags
	flags.StringVar(&f.context, contextFlag, "", "named set of connection flags: see the command context")
	flags.StringVar(&f.Cluster, "cluster", "", fmt.Sprintf("name of the cluster (env %s; default %q)", cluster.EnvName, cluster.DefaultName))
	flags.StringVar(&f.Storage, "storage", "", fmt.Sprintf("where the cluster keeps its state: %s or %s (env %s; default %q)", cluster.JetStream, cluster.Azure, cluster.EnvStorage, cluster.JetStream))
	flags.IntVar(&f.Replicas, "replicas", 0, fmt.Sprintf("number of NATS servers that keep each value with storage %s; counts only when the storage is created (env %s; default 1)", cluster.JetStream, cluster.EnvReplicas))
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

// Config returns the cluster's configuration from the flags. If a flag is not set, its value comes
// from the environment.
func (f TargetFlags) Config() (cluster.Config, error) {
	cfg := cluster.Config{
		Name: f.Cluster, NATS: f.nats, Storage: cluster.StorageKind(f.Storage), Replicas: f.Replicas,
	}
	switch {
	case strings.Contains(f.azureURL, "?"):
		return cfg, Usagef("--azure-url has a SAS, which others on this machine could read: set %s instead", cluster.EnvAzureURL)
	case f.azureURL != "":
		cfg.Azure.URL = f.azureURL
	default:
		cfg.Azure.ConnectionFile = f.azureFile
	}
	filled, err := cfg.WithEnv()
	if f.inContext {
		cfg.Azure = filled.Azure // secrets of the account are in the environment
		filled, err = cfg.Resolve()
	}
	return filled, Usage(err)
}

// PollInterval is the interval between requests while a command waits for a change in a cluster.
const PollInterval = 100 * time.Millisecond

// Connect connects to the cluster that the flags and the environment name.
func (a *App) Connect(ctx context.Context) (*client.Client, error) {
	cfg, err := a.Target.Config()
	if err != nil {
		return nil, err
	}
	return a.ConnectTo(ctx, cfg, a.Timeout)
}

// ConnectTo connects to a cluster. The client waits at most timeout for each reply of the cluster.
func (a *App) ConnectTo(ctx context.Context, cfg cluster.Config, timeout time.Duration) (*client.Client, error) {
	if timeout <= 0 {
		return nil, Usagef("--reply-timeout must be more than 0, got %v", timeout)
	}
	cfg.Logger = a.warnings() // reports damaged records and foreign objects in storage
	return client.Connect(ctx, client.Config{Cluster: cfg, Name: a.Name, Timeout: timeout, Grant: a.OwnGrant()})
}

// OnCluster converts a function that needs a cluster to the RunE function of a cobra command.
func (a *App) OnCluster(do func(ctx context.Context, c *client.Client) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		c, err := a.Connect(cmd.Context())
		if err != nil {
			return err
		}
		defer c.Close()
		return do(cmd.Context(), c)
	}
}

// OnJob converts a function that needs a job of a cluster to the RunE function of a cobra command.
// The first argument of the cobra command is the job's ID.
func (a *App) OnJob(do func(ctx context.Context, c *client.Client, id string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return a.OnCluster(func(ctx context.Context, c *client.Client) error {
			id, err := c.Find(ctx, args[0])
			if err != nil {
				return err
			}
			return do(ctx, c, id)
		})(cmd, args)
	}
}

// Explain adds an exit status to an error that has none, and a hint that names a helpful command or
// flag.
func (a *App) Explain(err error) error {
	is := func(target error) bool { return errors.Is(err, target) }
	_, explained := errors.AsType[*StatusError](err)
	switch {
	case err == nil, explained:
		return err
	case is(cluster.ErrConfig), is(client.ErrInvalid), is(client.ErrAmbiguous):
		return Usage(err)
	case is(client.ErrOtherStorage):
		return Usagef("%w; see --storage, --azure-url, --azure-connection-file and --cluster", err)
	case is(client.ErrNotFound):
		return Usagef("%w: '%s list' shows the jobs", err, a.Name)
	case is(cluster.ErrNoServer):
		return Absentf("%w: start one with '%s dev', or give --nats URL", err, a.Name)
	case is(cluster.ErrUnauthorized):
		return Absentf("%w: give --creds, --nkey, or --user and --password", err)
	case is(cluster.ErrTLS):
		return Absentf("%w: check --tlsca, --tlscert and --tlskey", err)
	case is(cluster.ErrPayload):
		return Absentf("%w: raise max_payload in the server's configuration", err)
	case is(worker.ErrStuck):
		return &StatusError{StatusStuck, err}
	case is(client.ErrUnused):
		return Absentf("%w: see --cluster and --nats, or start workers with '%[2]s worker' or '%[2]s dev'; if workers are running, their stored data was lost, so restart them", err, a.Name)
	case is(client.ErrUnknown):
		return Absentf("%w: start workers of a program that has it, or submit it with --queue, and it waits for them", err)
	case is(client.ErrNoLeader):
		return Absentf("%w: start workers with '%[2]s worker' or '%[2]s dev'; if workers are running, their logs and 'health' say why none leads", err, a.Name)
	case is(client.ErrUnavailable), is(client.ErrDenied):
		return Absentf("%w", err)
	}
	return err
}
