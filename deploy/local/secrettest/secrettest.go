// Package secrettest contains marked secrets for tests. Tests use the marked secrets, and then
// search all output for them.
package secrettest

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/deploy/local/faults"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

const (
	AccountKey = "bWFya2VkLWFjY291bnQta2V5LW9mLXRlc3Rz" // account key in base64
	Signature  = "bWFya2VkLXNpZ25hdHVyZQ/+0"            // signature of a SAS, before escaping
	Password   = "marked-password-of-tests"             // password of a NATS user
	Token      = "marked-token-of-tests"                // token of a NATS user
)

// SAS returns an account SAS that contains Signature.
func SAS() string {
	return "sv=2022-11-02&ss=bq&srt=sco&sp=rwdlacup&se=2099-01-01T00:00:00Z&sig=" + url.QueryEscape(Signature)
}

// Find returns the first marked secret that a text contains, or "".
func Find(text string) string {
	for _, secret := range []string{AccountKey, Signature, url.QueryEscape(Signature), strings.ToLower(url.QueryEscape(Signature)), "bWFya2VkLXNpZ25hdHVyZQ", Password, Token} {
		if strings.Contains(text, secret) {
			return secret
		}
	}
	return ""
}

// Account is a configuration of a storage account at an endpoint.
type Account struct {
	Name                  string
	ConnectionString, URL string // exactly one of the two fields is set
}

// Accounts returns each way to configure an account with a marked secret at an endpoint.
func Accounts(e faults.Endpoint) []Account {
	blob, queue := e.URL+"/marked", e.URL+"/marked-queues"
	endpoints := ";BlobEndpoint=" + blob + ";QueueEndpoint=" + queue
	return []Account{
		{Name: "SAS in a URL", URL: blob + "?" + SAS()},
		{Name: "SAS in a connection string", ConnectionString: "SharedAccessSignature=" + SAS() + endpoints},
		{Name: "key", ConnectionString: "AccountName=marked;AccountKey=" + AccountKey + endpoints},
	}
}

// QueueURL returns the URL of the queues of an account at an endpoint.
func QueueURL(e faults.Endpoint) string { return e.URL + "/marked-queues" }

// File writes the account's configuration to a file.
func (a Account) File(t testing.TB) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "account")
	if err := os.WriteFile(name, []byte(a.ConnectionString+a.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// Endpoints starts the bad endpoints, and stops them when the test ends.
func Endpoints(t testing.TB) []faults.Endpoint {
	t.Helper()
	list, stop, err := faults.BadEndpoints()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return list
}

// EachAccount runs a parallel subtest for each pair of a bad endpoint and a way to configure an
// account with it. The account is closed at the end of the subtest.
func EachAccount(t *testing.T, test func(t *testing.T, a *account.Account)) {
	for _, endpoint := range Endpoints(t) {
		for _, configured := range Accounts(endpoint) {
			t.Run(endpoint.Name+"/"+configured.Name, func(t *testing.T) {
				t.Parallel()
				cfg := account.Config{ConnectionString: configured.ConnectionString, URL: configured.URL}
				if cfg.URL != "" {
					cfg.QueueURL = QueueURL(endpoint)
				}
				a, err := account.Open(cfg)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(a.Close)
				test(t, a)
			})
		}
	}
}

// WantErrors makes the given calls, which use a bad endpoint. The keys of the map calls are the names of the
// calls. Each call must fail, with an error that contains no secret.
func WantErrors(t *testing.T, calls map[string]func(context.Context) error) {
	t.Helper()
	for name, call := range calls {
		err := call(t.Context())
		if err == nil {
			t.Errorf("%s succeeds", name)
			continue
		}
		if secret := Find(err.Error()); secret != "" {
			t.Errorf("%s: the error contains %s: %v", name, secret, err)
		}
	}
}
