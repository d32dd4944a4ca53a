package cluster

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

var (
	// ErrNoServer: no NATS server answers at any of the URLs.
	ErrNoServer = errors.New("no NATS server")
	// ErrUnauthorized: the server refuses the credentials, or requires credentials.
	ErrUnauthorized = errors.New("credentials refused")
	// ErrTLS: client and server disagree about TLS.
	ErrTLS = errors.New("TLS mismatch")
	// ErrPayload: the server does not allow messages of the size that the cluster sends.
	ErrPayload = errors.New("the NATS server's max_payload is too small")
)

const (
	// A dead connection to a NATS server is noticed after pingInterval × maxPingsUnanswered. The defaults in
	// NATS are 2 minutes and 2 pings.
	pingInterval       = 2 * time.Second
	maxPingsUnanswered = 3
	// connectTimeout bounds a connection attempt, which takes up to four round trips.
	connectTimeout = 5 * time.Second
)

// ConnectNATS connects to NATS. The server shows the connection under the given name. The options
// in more override the options of the configuration. The error is [ErrConfig], [ErrNoServer],
// [ErrUnauthorized] or [ErrTLS].
func (c Config) ConnectNATS(name string, more ...nats.Option) (*nats.Conn, error) {
	c, err := c.Resolve()
	if err != nil {
		return nil, err
	}
	shown, err := redact(c.NATS.URL)
	if err != nil {
		return nil, err
	}
	options, err := c.NATS.options(name)
	if err != nil {
		return nil, err
	}
	nc, err := nats.Connect(c.NATS.URL, append(options, more...)...)
	switch {
	case err == nil:
		return nc, nil
	case errors.Is(err, nats.ErrNoServers), errors.Is(err, nats.ErrTimeout):
		return nil, fmt.Errorf("%w at %s", ErrNoServer, shown)
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked):
		return nil, fmt.Errorf("connect to NATS at %s: %w (%w)", shown, ErrUnauthorized, err)
	case isTLS(err):
		return nil, fmt.Errorf("connect to NATS at %s: %w (%w)", shown, ErrTLS, err)
	}
	return nil, fmt.Errorf("%w at %s (%w)", ErrNoServer, shown, err)
}

// CheckNATS returns [ErrPayload] if the server of the connection nc refuses the largest messages
// that workers and leaders send. CheckNATS returns nil if nc is not connected.
func CheckNATS(nc *nats.Conn) error {
	if got := nc.MaxPayload(); nc.IsConnected() && got < wire.MaxMessage {
		return fmt.Errorf("%w: %d bytes at %s, want at least %d (1MB, the default)", ErrPayload, got, nc.ConnectedUrlRedacted(), wire.MaxMessage)
	}
	return nil
}

// options returns the connection options. options returns an error for a missing file, because the
// NATS client would notice this only while connecting.
func (n NATS) options(name string) ([]nats.Option, error) {
	options := []nats.Option{
		nats.Name(name),
		nats.Timeout(connectTimeout),
		nats.PingInterval(pingInterval),
		nats.MaxPingsOutstanding(maxPingsUnanswered),
	}
	for _, file := range []string{n.Creds, n.NKey, n.TLSCert, n.TLSKey, n.TLSCA} {
		if file == "" {
			continue
		}
		if _, err := os.Stat(file); err != nil {
			return nil, configErrorf("read NATS credentials: %w", err)
		}
	}
	if n.Creds != "" {
		options = append(options, nats.UserCredentials(n.Creds))
	}
	if n.NKey != "" {
		nkey, err := nats.NkeyOptionFromSeed(n.NKey)
		if err != nil {
			return nil, configErrorf("read NKey seed %s: %w", n.NKey, err)
		}
		options = append(options, nkey)
	}
	switch {
	case n.User != "" && n.Password != "":
		options = append(options, nats.UserInfo(n.User, n.Password))
	case n.User != "":
		options = append(options, nats.Token(n.User))
	case n.Password != "":
		return nil, configErrorf("a NATS password needs a user")
	}
	switch {
	case n.TLSCert != "" && n.TLSKey != "":
		options = append(options, nats.ClientCert(n.TLSCert, n.TLSKey))
	case n.TLSCert != "" || n.TLSKey != "":
		return nil, configErrorf("a TLS certificate needs its private key, and the key its certificate")
	}
	if n.TLSCA != "" {
		options = append(options, nats.RootCAs(n.TLSCA))
	}
	return options, nil
}

// redact returns NATS URLs without users, passwords and tokens. If a URL cannot be parsed, the
// error does not quote any part of the URL, because a wrong port may be the beginning of a
// password.
func redact(urls string) (string, error) {
	var shown []string
	for server := range strings.SplitSeq(urls, ",") {
		server = strings.TrimSpace(server)
		if !strings.Contains(server, "://") {
			server = "nats://" + server
		}
		u, err := url.Parse(server)
		if err != nil || u.Host == "" {
			return "", configErrorf("read a NATS URL: want nats://HOST:PORT or nats://USER:PASSWORD@HOST:PORT; in a password, write %%2F for /, %%23 for # and so on")
		}
		without := url.URL{Scheme: u.Scheme, Host: u.Host}
		if u.User != nil {
			without.User = url.User("xxxxx")
		}
		shown = append(shown, without.String())
	}
	return strings.Join(shown, ","), nil
}

// isTLS reports whether an error comes from TLS.
func isTLS(err error) bool {
	for _, known := range []error{nats.ErrSecureConnRequired, nats.ErrSecureConnWanted, nats.ErrTLS} {
		if errors.Is(err, known) {
			return true
		}
	}
	alert, ok := errors.AsType[*net.OpError](err) // crypto/tls reports an alert from the server in this way
	return ok && alert.Op == "remote error"
}

// RedactURLs returns URLs of NATS servers, separated by commas, without passwords.
func RedactURLs(urls string) string {
	redacted, err := redact(urls)
	if err != nil {
		return "***"
	}
	return redacted
}
