package cluster

import (
	"cmp"
	"os"
	"strconv"
	"strings"
)

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

// identityVariables are the environment variables from which azidentity reads secrets.
var identityVariables = []string{"AZURE_CLIENT_SECRET", "AZURE_CLIENT_CERTIFICATE_PASSWORD", "AZURE_PASSWORD"}

// FromEnv returns the configuration from the environment variables, with defaults for
// the other fields. Packages outside of cmd read environment variables only here: the cluster is what
// programs of an operator share. A Go program says itself what it lets jobs use, see jobs.Grant.
func FromEnv() (Config, error) { return Config{}.WithEnv() }

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

// Variables returns the names of the environment variables that name a cluster or configure the connection to
// it, except those that Azure's tools use too.
func Variables() []string {
	names := []string{EnvName, EnvStorage, EnvReplicas, EnvAzureURL, EnvAzureQueueURL, EnvAzureFile}
	for _, v := range new(NATS).variables() {
		names = append(names, ownPrefix+v.name, v.name)
	}
	return names
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
	if a.Hidden == nil {
		for _, name := range identityVariables {
			if secret := os.Getenv(name); secret != "" {
				a.Hidden = append(a.Hidden, secret)
			}
		}
	}
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
