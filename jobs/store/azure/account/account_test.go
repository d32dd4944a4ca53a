package account_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/deploy/local/azurite"
	"github.com/bellwether-compute/bellwether/deploy/local/azurite/azuritetest"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(azuritetest.StopAfter(m)) }

const secret = "c2VjcmV0LXNlY3JldA=="

func TestOpenRefusesWhatCannotWork(t *testing.T) {
	for _, test := range []struct {
		name string
		cfg  account.Config
		want string // text that the error must contain
	}{
		{"nothing", account.Config{}, "neither a connection string nor a URL"},
		{"both", account.Config{ConnectionString: "x", URL: "y"}, "give one of them"},
		{"cut by a shell", account.Config{ConnectionString: "DefaultEndpointsProtocol=https"}, "quote it"},
		{"no fields", account.Config{ConnectionString: "garbage"}, "quote it"},
		{"key is no base64", account.Config{ConnectionString: "AccountName=a;AccountKey=!"}, "not base64"},
		{"key without a name", account.Config{ConnectionString: "AccountKey=" + secret}, "neither AccountName"},
		{"SAS without a place", account.Config{ConnectionString: "SharedAccessSignature=" + goodSAS}, "BlobEndpoint"},
		{"no URL", account.Config{URL: "myaccount"}, "https://NAME.blob.core.windows.net"},
		{"URL of a container", account.Config{URL: "https://a.blob.core.windows.net/c"}, "not the URL of an account"},
		{"queue unknown", account.Config{URL: "https://127.0.0.1:10000/a"}, "give the queue URL too"},
		{"token in the clear", account.Config{URL: "http://a.blob.core.windows.net"}, "HTTPS"},
		{"no SAS", account.Config{URL: "https://a.blob.core.windows.net?x=y"}, "no sig"},
		{"SAS of a container", account.Config{URL: "https://a.blob.core.windows.net?sr=c&sp=rwdl&sig=x"}, "create an account SAS"},
		{"SAS for blobs alone", account.Config{URL: "https://a.blob.core.windows.net?ss=b&srt=co&sp=rwdlacup&sig=x"}, "q is missing"},
		{"SAS for objects alone", account.Config{URL: "https://a.blob.core.windows.net?ss=bq&srt=o&sp=rwdlacup&sig=x"}, "c is missing"},
		{"SAS to read", account.Config{URL: "https://a.blob.core.windows.net?ss=bq&srt=co&sp=rl&sig=x"}, "w is missing"},
	} {
		t.Run(test.name, func(t *testing.T) {
			a, err := account.Open(test.cfg)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, %v; want an error that says %q", a, err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("the error tells a secret: %v", err)
			}
		})
	}
}

const goodSAS = "sv=2024-11-04&ss=bqt&srt=sco&sp=rwdlacup&se=2030-01-01T00:00:00Z&sig=abc%3D"

func TestEndpoints(t *testing.T) {
	key := "AccountName=acct;AccountKey=" + secret
	for _, test := range []struct {
		cfg         account.Config
		blob, queue string
	}{
		{account.Config{ConnectionString: key}, "https://acct.blob.core.windows.net/c", "https://acct.queue.core.windows.net/q"},
		{account.Config{ConnectionString: key + ";EndpointSuffix=core.chinacloudapi.cn;"}, "https://acct.blob.core.chinacloudapi.cn/c", "https://acct.queue.core.chinacloudapi.cn/q"},
		{account.Config{ConnectionString: key + ";DefaultEndpointsProtocol=http"}, "http://acct.blob.core.windows.net/c", "http://acct.queue.core.windows.net/q"},
		{account.Config{ConnectionString: "UseDevelopmentStorage=true"}, "http://127.0.0.1:10000/devstoreaccount1/c", "http://127.0.0.1:10001/devstoreaccount1/q"},
		{
			account.Config{ConnectionString: "BlobEndpoint=https://acct.blob.core.windows.net/;QueueEndpoint=https://acct.queue.core.windows.net/;SharedAccessSignature=" + goodSAS},
			"https://acct.blob.core.windows.net/c?" + goodSAS, "https://acct.queue.core.windows.net/q?" + goodSAS,
		},
		{account.Config{URL: "https://acct.blob.core.windows.net/?" + goodSAS}, "https://acct.blob.core.windows.net/c?" + goodSAS, "https://acct.queue.core.windows.net/q?" + goodSAS},
		{account.Config{URL: "https://acct.blob.core.windows.net"}, "https://acct.blob.core.windows.net/c", "https://acct.queue.core.windows.net/q"},
		{account.Config{URL: "https://1.2.3.4/a?" + goodSAS, QueueURL: "https://1.2.3.4:1/a"}, "https://1.2.3.4/a/c?" + goodSAS, "https://1.2.3.4:1/a/q?" + goodSAS},
	} {
		a, err := account.Open(test.cfg)
		if err != nil {
			t.Errorf("%+v: %v", test.cfg, err)
			continue
		}
		c, err := a.Container("c", account.Retry{})
		if err != nil {
			t.Fatal(err)
		}
		q, err := a.Queue("q", account.Retry{})
		if err != nil {
			t.Fatal(err)
		}
		if c.URL() != test.blob || q.URL() != test.queue {
			t.Errorf("%+v leads to %s and %s", test.cfg, c.URL(), q.URL())
		}
		a.Close()
	}
}

// use sends a request to Blob Storage and to Queue Storage, and returns the explained error.
func use(t *testing.T, a *account.Account) error {
	t.Helper()
	retry := account.Retry{Within: time.Second}
	c, err := a.Container("sign-in", retry)
	if err != nil {
		t.Fatal(err)
	}
	q, err := a.Queue("sign-in", retry)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Create(t.Context(), nil); err != nil && !bloberror.HasCode(err, bloberror.ContainerAlreadyExists) {
		return a.Explain(err)
	}
	if _, err := c.NewBlockBlobClient("b").UploadBuffer(t.Context(), []byte("x"), nil); err != nil {
		return a.Explain(err)
	}
	if _, err := q.Create(t.Context(), nil); err != nil {
		return a.Explain(err)
	}
	_, err = q.EnqueueMessage(t.Context(), "eA==", nil)
	return a.Explain(err)
}

func open(t *testing.T, cfg account.Config) *account.Account {
	t.Helper()
	a, err := account.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

// accountSAS returns an account SAS that is signed with Azurite's key.
func accountSAS(t *testing.T, permissions, expires string) string {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(azurite.AccountKey)
	if err != nil {
		t.Fatal(err)
	}
	const version, services, resources, protocol = "2021-12-02", "bq", "co", "https,http"
	mac := hmac.New(sha256.New, key)
	_, _ = fmt.Fprintf(mac, "%s\n%s\n%s\n%s\n%s\n%s\n%s\n%s\n%s\n%s\n", // writing to a hash never fails
		azurite.AccountName, permissions, services, resources, "", expires, "", protocol, version, "")
	return url.Values{
		"sv": {version}, "ss": {services}, "srt": {resources}, "sp": {permissions}, "se": {expires}, "spr": {protocol},
		"sig": {base64.StdEncoding.EncodeToString(mac.Sum(nil))},
	}.Encode()
}

func TestSignIn(t *testing.T) {
	server := azuritetest.Server(t)
	in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339) }
	for _, test := range []struct {
		name string
		cfg  account.Config
		want string // text that the error must contain; empty if no error is expected
	}{
		{"key", account.Config{ConnectionString: server.ConnectionString()}, ""},
		{"wrong key", account.Config{ConnectionString: strings.Replace(server.ConnectionString(), "Eby8", "AAAA", 1)}, "copy the connection string again"},
		{"SAS", account.Config{URL: server.BlobURL() + "?" + accountSAS(t, "rwdlacup", in(time.Hour)), QueueURL: server.QueueURL()}, ""},
		{
			"SAS in a connection string",
			account.Config{ConnectionString: "BlobEndpoint=" + server.BlobURL() + ";QueueEndpoint=" + server.QueueURL() + ";SharedAccessSignature=" + accountSAS(t, "rwdlacup", in(time.Hour))},
			"",
		},
		{"expired SAS", account.Config{URL: server.BlobURL() + "?" + accountSAS(t, "rwdlacup", in(-time.Hour)), QueueURL: server.QueueURL()}, "it has expired"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := use(t, open(t, test.cfg))
			if test.want == "" && err != nil || test.want != "" && (!errors.Is(err, account.ErrDenied) || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// bearer is a credential whose tokens Azurite accepts, because Azurite checks only the claims of a
// token.
type bearer struct{ audience string }

func (b bearer) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	now := time.Now()
	claims, err := json.Marshal(map[string]any{
		"aud": b.audience, "iss": "https://sts.windows.net/00000000-0000-0000-0000-000000000000/",
		"nbf": now.Add(-time.Minute).Unix(), "iat": now.Add(-time.Minute).Unix(), "exp": now.Add(time.Hour).Unix(),
	})
	encode := base64.RawURLEncoding.EncodeToString
	token := encode([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." + encode(claims) + "." + encode([]byte("signature"))
	return azcore.AccessToken{Token: token, ExpiresOn: now.Add(time.Hour)}, err
}

// noIdentity is the credential of a machine on which no user has signed in.
type noIdentity struct{}

func (noIdentity) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{}, errNoIdentity{}
}

type errNoIdentity struct{}

func (errNoIdentity) Error() string { return "DefaultAzureCredential: failed to acquire a token" }
func (errNoIdentity) NonRetriable() {}

func TestSignInWithAnIdentity(t *testing.T) {
	certFile, keyFile, pool := certificate(t)
	server := azuritetest.Start(t, azurite.Config{CertFile: certFile, KeyFile: keyFile})
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	t.Cleanup(transport.CloseIdleConnections)
	cfg := account.Config{URL: server.BlobURL(), QueueURL: server.QueueURL(), Transport: &http.Client{Transport: transport}}

	cfg.Credential = bearer{"https://storage.azure.com"}
	if err := use(t, open(t, cfg)); err != nil {
		t.Errorf("sign in with a token: %v", err)
	}
	cfg.Credential = bearer{"https://management.azure.com"}
	if err := use(t, open(t, cfg)); !errors.Is(err, account.ErrDenied) || !strings.Contains(err.Error(), "token was not accepted") {
		t.Errorf("sign in with a token for something else: %v", err)
	}
	cfg.Credential = noIdentity{}
	if err := use(t, open(t, cfg)); !errors.Is(err, account.ErrDenied) || !strings.Contains(err.Error(), "az login") {
		t.Errorf("sign in without an identity: %v", err)
	}
}

// certificate makes a certificate for 127.0.0.1. certificate returns the files of the certificate
// and of its key, and a pool that contains only this certificate.
func certificate(t *testing.T) (certFile, keyFile string, pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for name, data := range map[string][]byte{
		certFile: certPEM,
		keyFile:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(certPEM)
	return certFile, keyFile, pool
}

// refusal is a transport that answers every request with an error and with a time that may be
// skewed.
type refusal struct {
	status int
	code   string
	ahead  time.Duration
}

func (a refusal) Do(r *http.Request) (*http.Response, error) {
	if a.status == 0 {
		return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: r.URL.Host, IsNotFound: true}}
	}
	header := http.Header{"Date": {time.Now().Add(a.ahead).UTC().Format(http.TimeFormat)}}
	header.Set("X-Ms-Error-Code", a.code)
	return &http.Response{StatusCode: a.status, Header: header, Body: io.NopCloser(strings.NewReader("")), Request: r}, nil
}

// TestAdvice checks the advice in errors for responses that Azure sends but Azurite does not send.
func TestAdvice(t *testing.T) {
	const name = "https://acct.blob.core.windows.net"
	byKey := account.Config{ConnectionString: "AccountName=acct;AccountKey=" + secret}
	bySAS := account.Config{URL: name + "?" + goodSAS}
	byIdentity := account.Config{URL: name, Credential: bearer{}}
	for _, test := range []struct {
		name   string
		cfg    account.Config
		answer refusal
		want   string
		denied bool
	}{
		{"wrong key", byKey, refusal{403, "AuthenticationFailed", 0}, "the key was not accepted", true},
		{"clock behind", byKey, refusal{403, "AuthenticationFailed", time.Hour}, "clock is 1h0m", true},
		{"clock behind", byKey, refusal{403, "AuthenticationFailed", time.Hour}, "behind Azure's", true},
		{"clock ahead", bySAS, refusal{403, "AuthenticationFailed", -time.Hour}, "ahead of Azure's", true},
		{"keys not allowed", byKey, refusal{403, "KeyBasedAuthenticationNotPermitted", 0}, "give its URL instead", true},
		{"firewall", byKey, refusal{403, "AuthorizationFailure", 0}, "firewall", true},
		{"expired SAS", bySAS, refusal{403, "AuthenticationFailed", 0}, "it has expired", true},
		{"SAS lacks a right", bySAS, refusal{403, "AuthorizationPermissionMismatch", 0}, "sp=rwdlacup", true},
		{"SAS of another service", bySAS, refusal{403, "AuthorizationServiceMismatch", 0}, "ss=bq", true},
		{"SAS of another address", bySAS, refusal{403, "AuthorizationSourceIPMismatch", 0}, "IP addresses", true},
		{"no role", byIdentity, refusal{403, "AuthorizationPermissionMismatch", 0}, `give it "Storage Blob Data Contributor"`, true},
		{"wrong tenant", byIdentity, refusal{401, "InvalidAuthenticationInfo", 0}, "account's tenant", true},
		{"disabled", byKey, refusal{403, "AccountIsDisabled", 0}, "is disabled", true},
		{"no such account", byKey, refusal{}, "is the account's name right?", false},
		{"busy", byKey, refusal{503, "ServerBusy", 0}, "503 ServerBusy", false},
		{"no code", byKey, refusal{503, "", 0}, "503 Service Unavailable", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.cfg.Transport = test.answer
			err := use(t, open(t, test.cfg))
			if err == nil || !strings.Contains(err.Error(), test.want) || errors.Is(err, account.ErrDenied) != test.denied {
				t.Errorf("got %v, want one that says %q, denied %v", err, test.want, test.denied)
			}
			if err != nil && (strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "sig=abc") || strings.Contains(err.Error(), secret)) {
				t.Errorf("the error is a page, or tells a secret: %v", err)
			}
			if test.answer.code != "" && account.Code(err) != test.answer.code {
				t.Errorf("the code is %q, want %q", account.Code(err), test.answer.code)
			}
		})
	}
}

func TestAdviceForTheQueue(t *testing.T) {
	a := open(t, account.Config{
		URL: "https://acct.blob.core.windows.net", Credential: bearer{},
		Transport: refusal{403, "AuthorizationPermissionMismatch", 0},
	})
	q, err := a.Queue("q", account.Retry{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = q.EnqueueMessage(t.Context(), "", nil)
	want := `send message /q/messages: 403 AuthorizationPermissionMismatch: the identity lacks a role: give it "Storage Queue Data Contributor"`
	if err = a.Explain(err); !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestEachKindHasAPrice(t *testing.T) {
	a, transport := azuritetest.Faulty(t)
	if err := use(t, a); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []account.Kind{account.PutBlob, account.CreateQueue, account.SendMessage} {
		if n := transport.Requests(kind); n != 1 {
			t.Errorf("%d requests to %s, want 1", n, kind)
		}
		if kind.Class() == "other" {
			t.Errorf("%s has no class", kind)
		}
	}
}

func TestBusyStorageIsRetried(t *testing.T) {
	busy := &busyStorage{}
	a := open(t, account.Config{ConnectionString: "AccountName=acct;AccountKey=" + secret, Transport: busy})
	if err := use(t, a); err == nil {
		t.Fatal("no error from storage that is always busy")
	}
	if busy.requests != 4 {
		t.Errorf("%d requests, want 1 and 3 retries", busy.requests)
	}
}

// busyStorage is a transport that answers all requests with status 503 and counts the requests.
type busyStorage struct{ requests int }

func (s *busyStorage) Do(r *http.Request) (*http.Response, error) {
	s.requests++
	return refusal{503, "ServerBusy", 0}.Do(r)
}
