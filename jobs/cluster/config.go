package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

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
	if _, err := wire.NewSubjects(c.Name); err != nil {
		return err
	}
	switch {
	case c.Storage != JetStream && c.Storage != Azure:
		return fmt.Errorf("Storage %q: want %q or %q", c.Storage, JetStream, Azure)
	case c.Replicas < 1 || c.Replicas > maxReplicas:
		return fmt.Errorf("Replicas %d: want 1 to %d", c.Replicas, maxReplicas)
	case c.CallTimeout < 0:
		return fmt.Errorf("CallTimeout %v: want 0 or more", c.CallTimeout)
	}
	return nil
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

// These environment variables configure the cluster. The variables for NATS have the same names as
// in the program nats, and are read with and without the prefix BELLWETHER_. The variables that
// begin with AZURE_ are also used by Azure's tools.
const (
	EnvName     = "BELLWETHER_CLUSTER"
	EnvNATSURL  = "BELLWETHER_NATS_URL"
	EnvStorage  = "BELLWETHER_STORAGE"
	EnvReplicas = "BELLWETHER_REPLICAS"

	EnvAzureURL        = "BELLWETHER_AZURE_URL" // URL of the Azure storage account, which may contain a SAS
	EnvAzureQueueURL   = "BELLWETHER_AZURE_QUEUE_URL"
	EnvAzureFile       = "BELLWETHER_AZURE_CONNECTION_FILE"
	EnvAzureConnection = "AZURE_STORAGE_CONNECTION_STRING"
	EnvAzureAccount    = "AZURE_STORAGE_ACCOUNT"
	EnvAzureKey        = "AZURE_STORAGE_KEY"
	EnvAzureSAS        = "AZURE_STORAGE_SAS_TOKEN"
)

// FromEnv returns the configuration from the environment variables, with defaults for
// the other fields.
func FromEnv() (Config, error) { return Config{}.WithEnv() }

var ofProcess atomic.Pointer[Config]

// SetOfProcess sets the configuration that [OfProcess] returns.
func SetOfProcess(c Config) { ofProcess.Store(&c) }

// OfProcess returns the configuration of the cluster to which this process belongs. The
// configuration is the last argument of [SetOfProcess], completed from the environment. Jobs that
// read from the cluster's storage account or from earlier jobs use OfProcess.
func OfProcess() (Config, error) {
	if c := ofProcess.Load(); c != nil {
		return c.WithEnv()
	}
	return FromEnv()
}

// variable is an environment variable for NATS and the configuration field that it sets.
type variable struct {
	name  string // name of the variable without the prefix BELLWETHER_
	field *string
}

func (n *NATS) variables() []variable {
	return []variable{
		{"NATS_URL", &n.URL},
		{"NATS_CREDS", &n.Creds},
		{"NATS_NKEY", &n.NKey},
		{"NATS_USER", &n.User},
		{"NATS_PASSWORD", &n.Password},
		{"NATS_CERT", &n.TLSCert},
		{"NATS_KEY", &n.TLSKey},
		{"NATS_CA", &n.TLSCA},
	}
}

const ownPrefix = "BELLWETHER_"

// WithEnv fills in fields that are zero, first from the environment and then from the
// defaults. BELLWETHER_NATS_X takes precedence over NATS_X.
func (c Config) WithEnv() (Config, error) {
	c.Name = cmp.Or(c.Name, os.Getenv(EnvName))
	for _, v := range c.NATS.variables() {
		*v.field = cmp.Or(*v.field, os.Getenv(ownPrefix+v.name), os.Getenv(v.name))
	}
	c.Storage = cmp.Or(c.Storage, StorageKind(os.Getenv(EnvStorage)))
	if text := os.Getenv(EnvReplicas); c.Replicas == 0 && text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxReplicas {
			return c, configErrorf("configure cluster: %s is %q: want 1 to %d", EnvReplicas, text, maxReplicas)
		}
		c.Replicas = n
	}
	c.Azure = c.Azure.withEnv()
	return c.Resolve()
}

func (a AzureAccount) withEnv() AzureAccount {
	a.QueueURL = cmp.Or(a.QueueURL, os.Getenv(EnvAzureQueueURL))
	if a.Configured() {
		return a
	}
	name := os.Getenv(EnvAzureAccount)
	switch {
	case os.Getenv(EnvAzureURL) != "":
		a.URL = os.Getenv(EnvAzureURL)
	case os.Getenv(EnvAzureFile) != "":
		a.ConnectionFile = os.Getenv(EnvAzureFile)
	case os.Getenv(EnvAzureConnection) != "":
		a.ConnectionString = os.Getenv(EnvAzureConnection)
	case name != "" && os.Getenv(EnvAzureKey) != "":
		a.ConnectionString = "AccountName=" + name + ";AccountKey=" + os.Getenv(EnvAzureKey)
	case name != "":
		a.URL = "https://" + name + ".blob.core.windows.net"
		if sas := strings.TrimPrefix(os.Getenv(EnvAzureSAS), "?"); sas != "" {
			a.URL += "?" + sas
		}
	}
	return a
}

// Environ returns the configuration as environment variables, so that [FromEnv] in another process
// returns the same configuration. CallTimeout, Logger and account fields that have no variable are
// not included. Variables that would contradict the configuration are set to the empty string.
func (c Config) Environ() []string {
	c = c.withDefaults()
	env := []string{
		EnvName + "=" + c.Name,
		EnvStorage + "=" + string(c.Storage),
		EnvReplicas + "=" + strconv.Itoa(c.Replicas),
	}
	for _, v := range c.NATS.variables() {
		env = append(env, ownPrefix+v.name+"="+*v.field)
		if *v.field == "" {
			env = append(env, v.name+"=") // without this line the child process would use the variable without the prefix
		}
	}
	if c.Storage != Azure {
		return env
	}
	a := c.Azure
	if a.ConnectionFile != "" {
		a.ConnectionString, a.URL = "", ""
	}
	if a.ConnectionString != "" {
		a.URL = ""
	}
	return append(env,
		EnvAzureURL+"="+a.URL, EnvAzureQueueURL+"="+a.QueueURL,
		EnvAzureFile+"="+a.ConnectionFile, EnvAzureConnection+"="+a.ConnectionString)
}
