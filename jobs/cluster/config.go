package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/jobs/field"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// DefaultName is the default name of a cluster.
const DefaultName = "default"

// maxReplicas is the largest number of replicas that JetStream supports.
const maxReplicas = 5

// ErrConfig marks an error about a field of [Config] or an environment variable. The
// error names the field or variable.
var ErrConfig = errors.New("invalid configuration")

// configError wraps ErrConfig without repeating the text of ErrConfig.
type configError struct{ err error }

func (e *configError) Error() string   { return e.err.Error() }
func (e *configError) Unwrap() []error { return []error{e.err, ErrConfig} }

func configErrorf(format string, args ...any) error {
	return &configError{fmt.Errorf(format, args...)}
}

// StorageKind is the kind of storage in which a cluster keeps its state.
type StorageKind string

const (
	JetStream StorageKind = "jetstream" // storage in the JetStream of the NATS servers
	Azure     StorageKind = "azure"     // storage in an Azure storage account
)

// Config identifies a cluster and contains the settings for reaching the cluster. The zero value is
// cluster "default" on nats://127.0.0.1:4222 with JetStream storage.
type Config struct {
	// Name is the cluster's name: 1 to 40 lower-case letters, digits and dashes. The name is part
	// of every NATS subject and storage key, so clusters with different names can share servers.
	Name string

	NATS NATS

	// Storage is the kind of storage, which must be the same for every process of the cluster.
	Storage StorageKind

	// Replicas is the number of NATS servers that keep each value in JetStream, 1 (the default) to
	// 5. Replicas is used only when the storage is created.
	Replicas int

	// Azure is the Azure storage account, used only if Storage is Azure.
	Azure AzureAccount

	// CallTimeout bounds each call to storage. On JetStream, CallTimeout applies only to calls
	// whose context has no deadline. The default is 5 s on JetStream and 10 s on Azure.
	CallTimeout time.Duration

	// Logger logs when the storage queue becomes unavailable or available again, and which damaged
	// records are skipped. If Logger is nil, nothing is logged.
	Logger *slog.Logger
}

// NATS contains the settings for the connection to NATS. All fields except URL are optional.
type NATS struct {
	URL string // URLs of one or several servers, separated by commas; a URL may contain credentials

	Creds    string // name of the credentials file
	NKey     string // name of the file with the NKey seed
	User     string // user name, or a token if Password is empty
	Password string

	TLSCert string // name of the file with the client certificate; requires TLSKey
	TLSKey  string // name of the file with the client's private key
	TLSCA   string // name of the file with the certificates of authorities
}

// AzureAccount identifies the Azure storage account and contains the credentials. If several of
// ConnectionFile, ConnectionString and URL are set, the first one that is set is used, in the order
// ConnectionFile, ConnectionString, URL.
type AzureAccount struct {
	// ConnectionFile is a file that holds a connection string, or the account's URL
	// with a SAS.
	ConnectionFile string
	account.Config
}

// Configured reports whether any field identifies an account.
func (a AzureAccount) Configured() bool {
	return a.ConnectionFile != "" || a.ConnectionString != "" || a.URL != ""
}

func (c Config) withDefaults() Config {
	c.Name = cmp.Or(c.Name, DefaultName)
	c.NATS.URL = cmp.Or(c.NATS.URL, nats.DefaultURL)
	c.Storage = cmp.Or(c.Storage, JetStream)
	c.Replicas = cmp.Or(c.Replicas, 1)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return c
}

func (c Config) validate() error {
	_, err := wire.NewSubjects(c.Name)
	return cmp.Or(err,
		field.Check(c.Storage == JetStream || c.Storage == Azure, "Storage", string(c.Storage), "%q or %q", JetStream, Azure),
		field.Check(c.Replicas >= 1 && c.Replicas <= maxReplicas, "Replicas", c.Replicas, "1 to %d", maxReplicas),
		field.Check(c.CallTimeout >= 0, "CallTimeout", c.CallTimeout, "0 or more"),
	)
}

// Resolve returns the configuration with defaults in place of zero values. If a field
// is invalid, the error is [ErrConfig].
func (c Config) Resolve() (Config, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return c, configErrorf("configure cluster: %w", err)
	}
	return c, nil
}

// Subjects returns the cluster's NATS subjects.
func (c Config) Subjects() (wire.Subjects, error) {
	s, err := wire.NewSubjects(c.withDefaults().Name)
	if err != nil {
		return s, &configError{err}
	}
	return s, nil
}

type contextKey struct{}

// With returns a context for code that belongs to the cluster, such as the code of a job that reads
// from the cluster's storage account or from earlier jobs.
func With(ctx context.Context, c Config) context.Context {
	return context.WithValue(ctx, contextKey{}, c)
}

// Of returns the configuration of the cluster to which the code that runs with ctx belongs.
func Of(ctx context.Context) (Config, error) {
	c, ok := ctx.Value(contextKey{}).(Config)
	if !ok {
		return c, configErrorf("this process belongs to no cluster: want a context of cluster.With")
	}
	return c.Resolve()
}
