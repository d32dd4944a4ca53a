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

// Config says which account to use and how to sign in: a ConnectionString or a
// URL, not both.
type Config struct {
	// ConnectionString is what the portal shows under "Access keys" or "Shared
	// access signature".
	ConnectionString string

	// URL is the account's blob endpoint, such as https://NAME.blob.core.windows.net,
	// followed by ? and an account SAS or by nothing.
	URL string
	// QueueURL is the account's queue endpoint, where it is not the URL with .queue.
	// in the place of .blob.; it takes the URL's SAS.
	QueueURL string
	// Credential signs in at a URL without a SAS. Nil: azidentity's default chain.
	Credential azcore.TokenCredential

	// Transport sends the requests; nil: one of the account's own.
	Transport policy.Transporter
}

// Account makes clients of a storage account.
type Account struct {
	blobURL, queueURL string // without a slash at the end
	sas               string // without the question mark; empty: none
	key               key
	credential        azcore.TokenCredential // nil: by key or SAS

	transport policy.Transporter
	idle      func() // closes idle connections
}

// key is that of an account. Empty: sign in otherwise.
type key struct{ account, secret string }

// Open checks the configuration. It makes no call.
func Open(cfg Config) (*Account, error) {
	a, err := open(cfg)
	if err != nil {
		return nil, fmt.Errorf("open Azure storage account: %w", err)
	}
	return a, nil
}

func open(cfg Config) (*Account, error) {
	a := &Account{transport: cfg.Transport, idle: func() {}}
	var err error
	switch {
	case cfg.ConnectionString != "" && cfg.URL != "":
		return nil, errors.New("a connection string and a URL were given: give one of them")
	case cfg.ConnectionString != "":
		err = a.fromConnectionString(cfg.ConnectionString)
	case cfg.URL != "":
		err = a.fromURL(cfg)
	default:
		return nil, errors.New("neither a connection string nor a URL was given: give one of them")
	}
	if err != nil {
		return nil, err
	}
	if a.sas != "" {
		if err := checkSAS(a.sas); err != nil {
			return nil, err
		}
	}
	if a.key.secret != "" { // the SDK decodes it
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
		return fmt.Errorf("the queue endpoint does not follow from %s, which has no .blob. in it: give the queue URL too", blob)
	}
	a.blobURL, a.queueURL, a.sas, a.credential = blob, queue, sas, cfg.Credential
	if a.sas != "" {
		a.credential = nil
		return nil
	}
	if !strings.HasPrefix(blob, "https://") || !strings.HasPrefix(queue, "https://") {
		return fmt.Errorf("%s without a SAS is signed in to with tokens, which are sent over HTTPS only", blob)
	}
	if a.credential == nil {
		a.credential, err = azidentity.NewDefaultAzureCredential(nil)
	}
	return err
}

// newTransport is Go's default with a quicker end to what is hopeless, and room
// for the connections of one process.
func newTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second}).DialContext
	t.TLSHandshakeTimeout = 5 * time.Second
	t.MaxIdleConnsPerHost = 32
	return t
}

// Close closes the connections that are idle. The account may still be used.
func (a *Account) Close() { a.idle() }

// Retry bounds how the SDK tries a request again after a status of 408, 429 or
// 5xx, or none. It never goes on past the call's context.
type Retry struct {
	// Within is how long a whole call may take. Tries follow each other quickly; where
	// storage asks for a longer pause than a quarter of Within, the call fails at once.
	Within time.Duration
	// Try bounds one try, so that a lost packet leaves time for another. 0: no bound
	// but the call's, for what may be large.
	Try time.Duration
}

func (r Retry) options() policy.RetryOptions {
	return policy.RetryOptions{
		MaxRetries:    3,
		TryTimeout:    r.Try,
		RetryDelay:    50 * time.Millisecond, // then three and seven times that
		MaxRetryDelay: max(r.Within/4, time.Millisecond),
	}
}

// Container returns a client of a container, which need not exist.
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

// Queue returns a client of a queue, which need not exist.
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

// service tells which of the account's endpoints a URL belongs to.
func (a *Account) service(u *url.URL) Service {
	if strings.HasPrefix(u.Scheme+"://"+u.Host+u.Path, a.queueURL+"/") {
		return Queue
	}
	return Blob
}
