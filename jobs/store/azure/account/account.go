package account

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue"
)

// Config identifies a storage account and contains the credentials. Exactly one of ConnectionString
// and URL is set.
type Config struct {
	// ConnectionString is the string that the Azure portal shows under "Access keys" or
	// "Shared access signature".
	ConnectionString string

	// URL is the account's blob endpoint, such as https://NAME.blob.core.windows.net,
	// optionally followed by ? and an account SAS.
	URL string
	// QueueURL is the account's queue endpoint. By default QueueURL is URL with .queue. instead of
	// .blob., and the SAS in URL is used for the queue too.
	QueueURL string
	// Credential is used to sign in if URL has no SAS. The default is azidentity's default chain.
	Credential azcore.TokenCredential

	// Hidden are further secrets that no error contains, such as the client secret with which the
	// default Credential signs in. That credential reads its secrets from the environment;
	// cluster.FromEnv sets Hidden to them.
	Hidden []string

	// Transport sends the HTTP requests. By default Open creates a transport for the account.
	Transport policy.Transporter
}

// Account is a storage account. Account creates clients for the account's containers and queues.
type Account struct {
	blobURL, queueURL string // endpoints without a trailing slash
	sas               string // SAS without the question mark; empty if a key or an identity is used
	key               key
	credential        azcore.TokenCredential // nil if a key or a SAS is used
	hidden            []string               // value of Config.Hidden

	transport policy.Transporter
	idle      func() // function that closes idle connections
}

// key is an account key; The key is empty if a SAS or an identity is used.
type key struct{ account, secret string }

// Open checks the configuration and returns the account. Open makes no request.
func Open(cfg Config) (*Account, error) {
	a, err := open(cfg)
	if err != nil {
		return nil, fmt.Errorf("open Azure storage account: %w", err)
	}
	return a, nil
}

func open(cfg Config) (*Account, error) {
	a := &Account{hidden: cfg.Hidden, transport: cfg.Transport, idle: func() {}}
	var err error
	switch {
	case cfg.ConnectionString != "" && cfg.URL != "":
		return nil, errors.New("got ConnectionString and URL: give one of them")
	case cfg.ConnectionString != "":
		err = a.fromConnectionString(cfg.ConnectionString)
	case cfg.URL != "":
		err = a.fromURL(cfg)
	default:
		return nil, errors.New("got neither a connection string nor a URL: give one of them")
	}
	if err != nil {
		return nil, err
	}
	if a.sas != "" {
		if err := checkSAS(a.sas); err != nil {
			return nil, err
		}
	}
	if a.key.secret != "" { // check that the SDK can decode the key
		if _, err := azblob.NewSharedKeyCredential(a.key.account, a.key.secret); err != nil {
			return nil, fmt.Errorf("the AccountKey is not base64: copy the connection string again: %w", err)
		}
	}
	if a.transport == nil {
		own := newTransport()
		a.transport, a.idle = &http.Client{Transport: own}, own.CloseIdleConnections
	}
	return a, nil
}

func (a *Account) fromURL(cfg Config) error {
	blob, sas, err := endpoint(cfg.URL)
	if err != nil {
		return err
	}
	queue, _, err := endpoint(cmp.Or(cfg.QueueURL, strings.Replace(blob, ".blob.", ".queue.", 1)))
	if err != nil {
		return err
	}
	if queue == blob {
		return fmt.Errorf("URL %s has no .blob. from which the queue endpoint follows: give the queue URL too", blob)
	}
	a.blobURL, a.queueURL, a.sas, a.credential = blob, queue, sas, cfg.Credential
	if a.sas != "" {
		a.credential = nil
		return nil
	}
	if !strings.HasPrefix(blob, "https://") || !strings.HasPrefix(queue, "https://") {
		return fmt.Errorf("URL %s has no SAS, so requests carry tokens, which are sent over HTTPS only: want https://", blob)
	}
	if a.credential == nil {
		a.credential, err = azidentity.NewDefaultAzureCredential(nil)
	}
	return err
}

// newTransport returns Go's default transport with shorter timeouts, and enough idle connections for a process.
func newTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second}).DialContext
	t.TLSHandshakeTimeout = 5 * time.Second
	t.MaxIdleConnsPerHost = 32
	return t
}

// BlobURL returns the URL of the account's blob endpoint. The URL contains no SAS and does not end
// in a slash.
func (a *Account) BlobURL() string { return a.blobURL }

// Close closes idle connections. The account may be used after Close.
func (a *Account) Close() { a.idle() }

// Retry bounds the retries of the SDK after a response with status 408, 429 or 5xx, or after no
// response. The SDK never retries after the end of the call's context.
type Retry struct {
	// Within is the time limit of a call. If storage asks for a pause longer than a quarter of
	// Within, the call fails at once.
	Within time.Duration
	// Try is the time limit of one try, which leaves time for another try if a packet is lost. The
	// default is no limit for a single try, which is right for calls that transfer large values.
	Try time.Duration
	// Throttled is true if the SDK does not retry after status 429 and 503, because the caller does.
	Throttled bool
}

func (r Retry) options() policy.RetryOptions {
	var codes []int // those of the SDK
	if r.Throttled {
		codes = []int{http.StatusRequestTimeout, http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout}
	}
	return policy.RetryOptions{
		StatusCodes:   codes,
		MaxRetries:    3,
		TryTimeout:    r.Try,
		RetryDelay:    50 * time.Millisecond, // delay before the second try; the next delays are three and seven times as long
		MaxRetryDelay: max(r.Within/4, time.Millisecond),
	}
}

// Container returns a client of a container. The container need not exist.
func (a *Account) Container(name string, retry Retry) (*container.Client, error) {
	options := &container.ClientOptions{ClientOptions: a.options(retry)}
	switch u := a.blobURL + "/" + name; {
	case a.credential != nil:
		return container.NewClient(u, a.credential, options)
	case a.key.secret != "":
		credential, err := azblob.NewSharedKeyCredential(a.key.account, a.key.secret)
		if err != nil {
			return nil, err
		}
		return container.NewClientWithSharedKeyCredential(u, credential, options)
	default:
		return container.NewClientWithNoCredential(u+"?"+a.sas, options)
	}
}

// Queue returns a client of a queue. The queue need not exist.
func (a *Account) Queue(name string, retry Retry) (*azqueue.QueueClient, error) {
	options := &azqueue.ClientOptions{ClientOptions: a.options(retry)}
	switch u := a.queueURL + "/" + name; {
	case a.credential != nil:
		return azqueue.NewQueueClient(u, a.credential, options)
	case a.key.secret != "":
		credential, err := azqueue.NewSharedKeyCredential(a.key.account, a.key.secret)
		if err != nil {
			return nil, err
		}
		return azqueue.NewQueueClientWithSharedKeyCredential(u, credential, options)
	default:
		return azqueue.NewQueueClientWithNoCredential(u+"?"+a.sas, options)
	}
}

func (a *Account) options(retry Retry) policy.ClientOptions {
	return policy.ClientOptions{
		Retry:            retry.options(),
		Transport:        a.transport,
		Telemetry:        policy.TelemetryOptions{ApplicationID: "bellwether"},
		PerRetryPolicies: []policy.Policy{bodies{}},
	}
}

func (a *Account) service(u *url.URL) Service {
	if strings.HasPrefix(u.Scheme+"://"+u.Host+u.Path, a.queueURL+"/") {
		return Queue
	}
	return Blob
}
