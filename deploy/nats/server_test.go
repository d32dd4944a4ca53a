package nats_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/deploy/local/azurite/azuritetest"
)

func TestMain(m *testing.M) {
	for _, variable := range os.Environ() { // do not use the caller's cluster
		name, _, _ := strings.Cut(variable, "=")
		for _, prefix := range []string{"NATS_", "BELLWETHER_", "AZURE_STORAGE_"} {
			if strings.HasPrefix(name, prefix) {
				_ = os.Unsetenv(name)
			}
		}
	}
	goleak.VerifyTestMain(azuritetest.StopAfter(m))
}

// The users are those of the configurations.
const (
	worker    = "worker"
	submitter = "submitter"
	observer  = "observer"
)

var passwords = map[string]string{worker: "hay", submitter: "grass", observer: "clover"}

// auditor is a user of account WORK without restrictions; tests add it to the configurations.
const auditor = "user: auditor, password: dog }\n      { "

// startServer runs a server with server.conf after the given edits: pairs of an old text and a new
// text.
func startServer(t *testing.T, edits ...string) *cluster {
	t.Helper()
	certify(t)
	s := start(t, configure(t, "server.conf", edits...))
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("the server is not ready")
	}
	return &cluster{t: t, url: s.ClientURL()}
}

func start(t *testing.T, options *server.Options) *server.Server {
	t.Helper()
	s, err := server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	return s
}

// configure reads one of the configurations, for a free port and a folder of the test.
func configure(t *testing.T, file string, edits ...string) *server.Options {
	t.Helper()
	for user, password := range passwords {
		t.Setenv("BELLWETHER_"+strings.ToUpper(user)+"_PASSWORD", password)
	}
	if len(edits) > 0 {
		file = filepath.Join(edited(t, edits), file)
	}
	options, err := server.ProcessConfigFile(file)
	if err != nil {
		t.Fatal(err)
	}
	options.Host, options.Port = "127.0.0.1", server.RANDOM_PORT
	if options.JetStream {
		options.StoreDir = filepath.Join(t.TempDir(), "store")
	}
	options.NoSigs, options.NoLog = true, true
	return options
}

// edited copies the configurations with edits, each of which must find its old text.
func edited(t *testing.T, edits []string) (dir string) {
	t.Helper()
	files, err := filepath.Glob("*.conf")
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
		text = []byte(strings.NewReplacer(edits...).Replace(string(text)))
		if err := os.WriteFile(filepath.Join(dir, file), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i := 0; i < len(edits); i += 2 {
		if !strings.Contains(all.String(), edits[i]) {
			t.Fatalf("no configuration contains %q", edits[i])
		}
	}
	return dir
}

// connect returns a connection of a user that is closed when the test ends.
func (c *cluster) connect(t *testing.T, user string) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(c.url, nats.UserInfo(user, passwords[user]), nats.RootCAs(os.Getenv("NATS_CA")),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})) // tests check LastError instead
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// audit subscribes to all messages of account WORK.
func (c *cluster) audit(t *testing.T) (*nats.Conn, chan *nats.Msg) {
	t.Helper()
	nc, err := nats.Connect(c.url, nats.UserInfo("auditor", "dog"), nats.RootCAs(os.Getenv("NATS_CA")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	received := make(chan *nats.Msg, 1<<16)
	if _, err := nc.ChanSubscribe(">", received); err != nil {
		t.Fatal(err)
	}
	flush(t, nc)
	return nc, received
}

// flush returns once the server has processed everything sent on the connection.
func flush(t *testing.T, nc *nats.Conn) {
	t.Helper()
	if err := nc.FlushTimeout(5 * time.Second); err != nil {
		t.Fatal(err)
	}
}

// certify creates an authority and a server's certificate that it has signed, like an operator.
// Environment variables contain the names of the certificate files.
func certify(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "the servers' authority"},
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	}
	certificate := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "a server"},
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		// Each server of a cluster is also a client of the others.
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	authorityKey, key := newKey(t), newKey(t)
	keyBytes, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	sign := func(c *x509.Certificate, key *ecdsa.PrivateKey) []byte {
		der, err := x509.CreateCertificate(rand.Reader, c, authority, &key.PublicKey, authorityKey)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	write := func(variable, kind string, der []byte) {
		file := filepath.Join(dir, variable)
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv(variable, file)
	}
	write("NATS_SERVER_CERT", "CERTIFICATE", sign(certificate, key))
	write("NATS_SERVER_KEY", "PRIVATE KEY", keyBytes)
	write("NATS_SERVER_CA", "CERTIFICATE", sign(authority, authorityKey))
	t.Setenv("NATS_CA", os.Getenv("NATS_SERVER_CA"))
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}
