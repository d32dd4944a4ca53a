package cli_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/bellwether-compute/bellwether/cmd/cli"
	"github.com/bellwether-compute/bellwether/jobs"
)

// credentialVariables may be set in the environment of the tests.
var credentialVariables = []string{"NATS_CREDS", "NATS_NKEY", "NATS_USER", "NATS_PASSWORD", "NATS_CERT", "NATS_KEY", "NATS_CA"}

// TestCredentials connects to NATS servers that require credentials.
func TestCredentials(t *testing.T) {
	const refused = "credentials refused"
	for _, tt := range []struct {
		name    string
		guard   func(t *testing.T, options *server.Options) (flags map[string]string) // guards a server and returns the flags that give access
		without string                                                                // part of the error without the flags
		wrong   []string
	}{
		{"user and password", guardByPassword, refused, []string{"--user", "wolf", "--password", "wool"}},
		{"token", guardByToken, refused, []string{"--user", "wolf"}},
		{"nkey", guardByNKey, refused, []string{"--nkey", newSeedFile(t, newKey(t, nkeys.CreateUser))}},
		{"creds", guardByCreds, refused, []string{"--user", "wolf"}},
		{"TLS", guardByTLS, "TLS", []string{"--tlsca", newAuthority(t).file}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, name := range credentialVariables {
				t.Setenv(name, "")
				t.Setenv("BELLWETHER_"+name, "")
			}
			var options server.Options
			right := tt.guard(t, &options)
			url := startGuarded(t, options)

			var flags []string
			for flag, value := range right {
				flags = append(flags, "--"+flag, value)
			}
			if status, errs := list(url, flags...); status != 3 || !strings.Contains(errs, "no worker has used cluster default") {
				t.Errorf("with the right flags, before a job: status %d, %s", status, errs)
			}
			if status, errs := command(url, append(slices.Clone(flags), "submit", "squares", "--queue")...); status != 0 {
				t.Fatalf("submit: status %d, %s", status, errs)
			}
			if status, errs := list(url, flags...); status != 0 {
				t.Errorf("with the right flags: status %d, %s", status, errs)
			}
			if status, errs := list(url); status != 3 || !strings.Contains(errs, tt.without) {
				t.Errorf("without: status %d, %s", status, errs)
			}
			if status, errs := list(url, tt.wrong...); status != 3 || !strings.Contains(errs, tt.without) {
				t.Errorf("with wrong flags: status %d, %s", status, errs)
			}
			for flag, value := range right {
				t.Setenv(variable[flag], "wrong")
				t.Setenv("BELLWETHER_"+variable[flag], value)
			}
			if status, errs := list(url); status != 0 {
				t.Errorf("with Bellwether's variables: status %d, %s", status, errs)
			}
			for flag, value := range right {
				t.Setenv(variable[flag], value)
				t.Setenv("BELLWETHER_"+variable[flag], "")
			}
			if status, errs := list(url); status != 0 {
				t.Errorf("with NATS' variables: status %d, %s", status, errs)
			}
		})
	}
}

// variable maps each flag to its environment variable of the nats tool.
var variable = map[string]string{
	"user": "NATS_USER", "password": "NATS_PASSWORD", "nkey": "NATS_NKEY", "creds": "NATS_CREDS",
	"tlscert": "NATS_CERT", "tlskey": "NATS_KEY", "tlsca": "NATS_CA",
}

// TestTLSWithoutCertificate connects without a client certificate to a server that
// requires one.
func TestTLSWithoutCertificate(t *testing.T) {
	var options server.Options
	right := guardByTLS(t, &options)
	if status, errs := list(startGuarded(t, options), "--tlsca", right["tlsca"]); status != 3 || !strings.Contains(errs, "TLS") {
		t.Errorf("status %d, %s", status, errs)
	}
}

// list runs the command list on the cluster at a URL.
func list(url string, flags ...string) (status int, errs string) {
	return command(url, append(slices.Clone(flags), "list")...)
}

// command runs a command on the cluster at a URL.
func command(url string, args ...string) (status int, errs string) {
	var out, err bytes.Buffer
	args = append([]string{"--nats", url, "--reply-timeout", "5s"}, args...)
	status = cli.Run(context.Background(), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &err}, jobs.MustNew(squares))
	return status, err.String()
}

func guardByPassword(_ *testing.T, o *server.Options) map[string]string {
	o.Username, o.Password = "shepherd", "wool"
	return map[string]string{"user": "shepherd", "password": "wool"}
}

func guardByToken(_ *testing.T, o *server.Options) map[string]string {
	o.Authorization = "wool"
	return map[string]string{"user": "wool"}
}

func guardByNKey(t *testing.T, o *server.Options) map[string]string {
	user := newKey(t, nkeys.CreateUser)
	o.Nkeys = []*server.NkeyUser{{Nkey: user.public}}
	return map[string]string{"nkey": newSeedFile(t, user)}
}

// guardByCreds creates an operator, its accounts and a user, like nsc.
func guardByCreds(t *testing.T, o *server.Options) map[string]string {
	operator, user := newKey(t, nkeys.CreateOperator), newKey(t, nkeys.CreateUser)
	account, system := newKey(t, nkeys.CreateAccount), newKey(t, nkeys.CreateAccount)
	accountClaims, systemClaims := jwt.NewAccountClaims(account.public), jwt.NewAccountClaims(system.public)
	accountClaims.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit, Streams: jwt.NoLimit, Consumer: jwt.NoLimit}

	accounts := &server.MemAccResolver{}
	for _, claims := range []*jwt.AccountClaims{accountClaims, systemClaims} {
		if err := accounts.Store(claims.Subject, sign(t, claims, operator)); err != nil {
			t.Fatal(err)
		}
	}
	o.TrustedKeys, o.AccountResolver, o.SystemAccount = []string{operator.public}, accounts, system.public

	creds, err := jwt.FormatUserConfig(sign(t, jwt.NewUserClaims(user.public), account), user.seed)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{"creds": newFile(t, "user.creds", creds)}
}

// sign encodes claims as a token that a key has signed.
func sign(t *testing.T, claims jwt.Claims, by key) string {
	t.Helper()
	token, err := claims.Encode(by.pair)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// guardByTLS requires certificates of client and server.
func guardByTLS(t *testing.T, o *server.Options) map[string]string {
	authority := newAuthority(t)
	o.TLSConfig, o.TLSVerify, o.TLSTimeout = authority.serverConfig(t), true, 5
	cert, key := authority.client(t)
	return map[string]string{"tlsca": authority.file, "tlscert": cert, "tlskey": key}
}

// key is a NATS key.
type key struct {
	pair   nkeys.KeyPair
	public string
	seed   []byte
}

func newKey(t *testing.T, create func() (nkeys.KeyPair, error)) key {
	t.Helper()
	pair, err := create()
	if err != nil {
		t.Fatal(err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := pair.Seed()
	if err != nil {
		t.Fatal(err)
	}
	return key{pair, public, seed}
}

func newSeedFile(t *testing.T, k key) string {
	t.Helper()
	return newFile(t, "user.nk", k.seed)
}

// newFile writes a file that only its owner may read.
func newFile(t *testing.T, name string, data []byte) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// startGuarded starts a NATS server with JetStream and the given options.
func startGuarded(t *testing.T, options server.Options) (url string) {
	t.Helper()
	options.JetStream, options.StoreDir = true, t.TempDir()
	return startServer(t, options)
}

func startServer(t *testing.T, options server.Options) (url string) {
	t.Helper()
	options.Host, options.Port = "127.0.0.1", server.RANDOM_PORT
	options.NoLog, options.NoSigs = true, true
	s, err := server.NewServer(&options)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("the NATS server does not start")
	}
	return strings.Replace(s.ClientURL(), "tls://", "nats://", 1)
}

// TestNoJetStream uses a NATS server without JetStream, which the error names.
func TestNoJetStream(t *testing.T) {
	status, errs := list(startServer(t, server.Options{}))
	if status != 3 || !strings.Contains(errs, "JetStream") {
		t.Errorf("status %d, %s", status, errs)
	}
}
