package cli_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"
)

// authority is a certificate authority.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string // file with the authority's certificate
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	template := template("an authority for tests")
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	key := newECKey(t)
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return authority{cert, key, newFile(t, "ca.pem", encode("CERTIFICATE", der))}
}

// issue returns a certificate for 127.0.0.1 and its key.
func (a authority) issue(t *testing.T, name string, usage x509.ExtKeyUsage) (cert, key []byte) {
	t.Helper()
	template := template(name)
	template.ExtKeyUsage, template.IPAddresses = []x509.ExtKeyUsage{usage}, []net.IP{net.IPv4(127, 0, 0, 1)}
	private := newECKey(t)
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &private.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return encode("CERTIFICATE", der), encode("PRIVATE KEY", keyDER)
}

// serverConfig returns the configuration of a server that trusts the authority's clients.
func (a authority) serverConfig(t *testing.T) *tls.Config {
	t.Helper()
	cert, key := a.issue(t, "a server", x509.ExtKeyUsageServerAuth)
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}
}

// client writes a certificate and key for a client to files.
func (a authority) client(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	cert, key := a.issue(t, "a client", x509.ExtKeyUsageClientAuth)
	return newFile(t, "client.pem", cert), newFile(t, "client.key", key)
}

func template(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
}

func newECKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
