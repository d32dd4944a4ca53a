package cluster

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

// clearEnv removes from the test's environment every variable that WithEnv reads.
func clearEnv(t *testing.T) {
	t.Helper()
	for _, name := range []string{
		EnvName, EnvStorage, EnvReplicas, EnvAzureURL, EnvAzureQueueURL, EnvAzureFile,
		EnvAzureConnection, EnvAzureAccount, EnvAzureKey, EnvAzureSAS,
	} {
		t.Setenv(name, "")
	}
	for _, v := range new(NATS).variables() {
		t.Setenv(v.name, "")
		t.Setenv(ownPrefix+v.name, "")
	}
}

// fromEnv returns the configuration of FromEnv without its logger.
func fromEnv(t *testing.T) Config {
	t.Helper()
	cfg, err := FromEnv()
	if err != nil {
		t.Fatal(err)
	}
	cfg.Logger = nil
	return cfg
}

func TestDefaults(t *testing.T) {
	clearEnv(t)
	want := Config{Name: "default", NATS: NATS{URL: nats.DefaultURL}, Storage: JetStream, Replicas: 1}
	if got := fromEnv(t); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestPrecedence checks which value is used if fields and environment variables contradict each
// other.
func TestPrecedence(t *testing.T) {
	for _, tt := range []struct {
		name  string
		given Config
		env   []string // names and values of environment variables, alternating
		want  func(*Config)
	}{
		{"variables", Config{}, []string{EnvName, "blue", EnvStorage, "azure", EnvReplicas, "3"}, func(c *Config) {
			c.Name, c.Storage, c.Replicas = "blue", Azure, 3
		}},
		{"field before variable", Config{Name: "green", Replicas: 5}, []string{EnvName, "blue", EnvReplicas, "many"}, func(c *Config) {
			c.Name, c.Replicas = "green", 5
		}},
		{"own variable before NATS' own", Config{}, []string{"NATS_USER", "a", "BELLWETHER_NATS_USER", "b", "NATS_CA", "c"}, func(c *Config) {
			c.NATS.User, c.NATS.TLSCA = "b", "c"
		}},
		{"account and key", Config{}, []string{EnvAzureAccount, "acct", EnvAzureKey, "a2V5"}, func(c *Config) {
			c.Azure.ConnectionString = "AccountName=acct;AccountKey=a2V5"
		}},
		{"account and SAS", Config{}, []string{EnvAzureAccount, "acct", EnvAzureSAS, "?sv=1"}, func(c *Config) {
			c.Azure.URL = "https://acct.blob.core.windows.net?sv=1"
		}},
		{"connection string before account", Config{}, []string{EnvAzureAccount, "acct", EnvAzureConnection, "x"}, func(c *Config) {
			c.Azure.ConnectionString = "x"
		}},
		{"file before connection string", Config{}, []string{EnvAzureFile, "f", EnvAzureConnection, "x"}, func(c *Config) {
			c.Azure.ConnectionFile = "f"
		}},
		{"URL before file", Config{}, []string{EnvAzureFile, "f", EnvAzureURL, "u", EnvAzureQueueURL, "q"}, func(c *Config) {
			c.Azure.URL, c.Azure.QueueURL = "u", "q"
		}},
		{"account given", Config{Azure: AzureAccount{ConnectionFile: "f"}}, []string{EnvAzureURL, "u", EnvAzureQueueURL, "q"}, func(c *Config) {
			c.Azure.ConnectionFile, c.Azure.QueueURL = "f", "q"
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			clearEnv(t)
			want, err := Config{}.Resolve()
			if err != nil {
				t.Fatal(err)
			}
			tt.want(&want)
			for i := 0; i < len(tt.env); i += 2 {
				t.Setenv(tt.env[i], tt.env[i+1])
			}
			got, err := tt.given.WithEnv()
			if err != nil {
				t.Fatal(err)
			}
			got.Logger, want.Logger = nil, nil
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

// TestEnviron passes configurations to another process through an environment that contains
// contradicting variables.
func TestEnviron(t *testing.T) {
	for _, want := range []Config{
		{Name: "blue", NATS: NATS{URL: "nats://a:1", User: "u", Password: "p"}, Storage: JetStream, Replicas: 3},
		{Name: "blue", NATS: NATS{URL: "nats://a:1", Creds: "c", TLSCA: "ca"}, Storage: Azure, Replicas: 1, Azure: AzureAccount{ConnectionFile: "f"}},
		{Name: "blue", NATS: NATS{URL: "nats://a:1"}, Storage: Azure, Replicas: 1, Azure: AzureAccount{Config: account.Config{ConnectionString: "x"}}},
		{Name: "blue", NATS: NATS{URL: "nats://a:1"}, Storage: Azure, Replicas: 1, Azure: AzureAccount{Config: account.Config{URL: "u?sas", QueueURL: "q"}}},
	} {
		clearEnv(t)
		for _, name := range []string{"NATS_USER", "NATS_CREDS", "NATS_PASSWORD", "BELLWETHER_NATS_NKEY", "NATS_URL", EnvReplicas} {
			t.Setenv(name, "4")
		}
		if want.Storage == Azure {
			t.Setenv(EnvAzureURL, "other")
			t.Setenv(EnvAzureFile, "other")
			t.Setenv(EnvAzureConnection, "other")
		}
		for _, v := range want.Environ() {
			name, value, _ := strings.Cut(v, "=")
			t.Setenv(name, value)
		}
		if got := fromEnv(t); !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

// TestErrConfig checks the errors for invalid configurations.
func TestErrConfig(t *testing.T) {
	clearEnv(t)
	file := filepath.Join(t.TempDir(), "connection")
	if err := os.WriteFile(file, []byte("AccountName=x;secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	onAzure := func(a AzureAccount) Config { return Config{Storage: Azure, Azure: a} }
	for _, tt := range []struct {
		cfg  Config
		want string
	}{
		{Config{Name: "No Such"}, `cluster name "No Such": want 1 to 40`},
		{Config{Storage: "floppy"}, `Storage "floppy": want "jetstream" or "azure"`},
		{Config{Replicas: 6}, "Replicas 6: want 1 to 5"},
		{Config{Replicas: -1}, "Replicas -1: want 1 to 5"},
		{Config{CallTimeout: -1}, "CallTimeout"},
		{Config{NATS: NATS{URL: "nats://no such host"}}, "read a NATS URL"},
		{Config{NATS: NATS{Password: "secret"}}, "needs a user"},
		{Config{NATS: NATS{Creds: "none.creds"}}, "none.creds: no such file"},
		{Config{NATS: NATS{NKey: file}}, "read NKey seed"},
		{Config{NATS: NATS{TLSCert: file}}, "needs its private key"},
		{onAzure(AzureAccount{}), "set AZURE_STORAGE_CONNECTION_STRING"},
		{onAzure(AzureAccount{ConnectionFile: "nothing.txt"}), "nothing.txt"},
		{onAzure(AzureAccount{ConnectionFile: file}), "quote it"},
		{onAzure(AzureAccount{Config: account.Config{URL: "ftp://x"}}), "https://NAME"},
	} {
		_, err := tt.cfg.ConnectNATS("test")
		if err == nil || errors.Is(err, ErrNoServer) {
			_, err = tt.cfg.OpenStorage(t.Context(), nil)
		}
		if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%+v: got %v, want an ErrConfig that says %q", tt.cfg, err, tt.want)
		}
	}
	t.Setenv(EnvReplicas, "0")
	if _, err := FromEnv(); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), EnvReplicas) {
		t.Errorf("%s=0: got %v", EnvReplicas, err)
	}
}

func TestErrNoServer(t *testing.T) {
	_, err := Config{NATS: NATS{URL: "nats://shepherd:wool@127.0.0.1:1"}, Logger: slog.New(slog.DiscardHandler)}.ConnectNATS("test")
	if !errors.Is(err, ErrNoServer) || !strings.Contains(err.Error(), "nats://xxxxx@127.0.0.1:1") || strings.Contains(err.Error(), "wool") {
		t.Errorf("got %v", err)
	}
}
