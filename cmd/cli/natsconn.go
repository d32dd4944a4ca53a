package cli

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/pflag"
)

// natsFlags is how NATS is reached: the flags and variables of the nats tool,
// each preceded by Bellwether's own variable.
type natsFlags struct {
	url, creds, nkey, user, password string
	tlsCert, tlsKey, tlsCA           string

	local bool // a server of this program's own: the environment does not count
}

// credentialVariables say how to prove oneself to NATS, each also with
// BELLWETHER_ before it.
var credentialVariables = []string{"NATS_CREDS", "NATS_NKEY", "NATS_USER", "NATS_PASSWORD", "NATS_CERT", "NATS_KEY", "NATS_CA"}

// withoutCredentials is an environment for processes that talk to a server of
// this program's own, which knows no credentials.
func withoutCredentials() []string {
	var env []string
	for _, name := range credentialVariables {
		env = append(env, name+"=", "BELLWETHER_"+name+"=")
	}
	return env
}

func (f *natsFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.url, "nats", "", "NATS URLs, separated by commas (env "+envNATSURL+", NATS_URL; default \""+nats.DefaultURL+"\")")
	flags.StringVar(&f.creds, "creds", "", "NATS credentials file (env NATS_CREDS)")
	flags.StringVar(&f.nkey, "nkey", "", "NATS NKey seed file (env NATS_NKEY)")
	flags.StringVar(&f.user, "user", "", "NATS user, or a token where no password is given (env NATS_USER)")
	flags.StringVar(&f.password, "password", "", "NATS password (env NATS_PASSWORD)")
	flags.StringVar(&f.tlsCert, "tlscert", "", "TLS certificate file (env NATS_CERT)")
	flags.StringVar(&f.tlsKey, "tlskey", "", "TLS private key file (env NATS_KEY)")
	flags.StringVar(&f.tlsCA, "tlsca", "", "TLS authority file (env NATS_CA)")
}

// resolve fills in what the environment says: BELLWETHER_NATS_X, then NATS_X.
func (f natsFlags) resolve() natsFlags {
	if f.local {
		return f
	}
	env := func(flag, name string) string {
		return cmp.Or(flag, os.Getenv("BELLWETHER_"+name), os.Getenv(name))
	}
	return natsFlags{
		url:      cmp.Or(env(f.url, "NATS_URL"), nats.DefaultURL),
		creds:    env(f.creds, "NATS_CREDS"),
		nkey:     env(f.nkey, "NATS_NKEY"),
		user:     env(f.user, "NATS_USER"),
		password: env(f.password, "NATS_PASSWORD"),
		tlsCert:  env(f.tlsCert, "NATS_CERT"),
		tlsKey:   env(f.tlsKey, "NATS_KEY"),
		tlsCA:    env(f.tlsCA, "NATS_CA"),
	}
}

const (
	// A dead link is noticed after pingInterval × pingsUnanswered. NATS' own
	// defaults are 2 minutes and 2.
	pingInterval    = 2 * time.Second
	pingsUnanswered = 3
	connectTimeout  = 2 * time.Second
)

// options are the connection options of a resolved natsFlags.
func (f natsFlags) options(name string) ([]nats.Option, error) {
	options := []nats.Option{
		nats.Name(name),
		nats.Timeout(connectTimeout),
		nats.PingInterval(pingInterval),
		nats.MaxPingsOutstanding(pingsUnanswered),
	}
	for _, file := range []string{f.creds, f.nkey, f.tlsCert, f.tlsKey, f.tlsCA} {
		if file == "" {
			continue
		}
		if _, err := os.Stat(file); err != nil {
			return nil, usagef("read NATS credentials: %w", err)
		}
	}
	if f.creds != "" {
		options = append(options, nats.UserCredentials(f.creds))
	}
	if f.nkey != "" {
		nkey, err := nats.NkeyOptionFromSeed(f.nkey)
		if err != nil {
			return nil, usagef("read NKey seed %s: %w", f.nkey, err)
		}
		options = append(options, nkey)
	}
	switch {
	case f.user != "" && f.password != "":
		options = append(options, nats.UserInfo(f.user, f.password))
	case f.user != "":
		options = append(options, nats.Token(f.user))
	case f.password != "":
		return nil, usagef("a NATS password needs a user: give --user or set NATS_USER")
	}
	switch {
	case f.tlsCert != "" && f.tlsKey != "":
		options = append(options, nats.ClientCert(f.tlsCert, f.tlsKey))
	case f.tlsCert != "" || f.tlsKey != "":
		return nil, usagef("a TLS certificate and its key go together: give both --tlscert and --tlskey")
	}
	if f.tlsCA != "" {
		options = append(options, nats.RootCAs(f.tlsCA))
	}
	return options, nil
}

// connect connects to NATS under a name that the server shows.
func (a *app) connect(name string, more ...nats.Option) (*nats.Conn, error) {
	f := a.nats.resolve()
	shown, err := redact(f.url)
	if err != nil {
		return nil, err
	}
	options, err := f.options(name)
	if err != nil {
		return nil, err
	}
	nc, err := nats.Connect(f.url, append(options, more...)...)
	if err != nil {
		return nil, a.explainConnect(shown, err)
	}
	return nc, nil
}

// redact returns NATS URLs as they may be shown: without users, passwords and
// tokens. An error about one shows nothing of it: what stands where a port should
// may be the beginning of a password.
func redact(urls string) (string, error) {
	var shown []string
	for server := range strings.SplitSeq(urls, ",") {
		server = strings.TrimSpace(server)
		if !strings.Contains(server, "://") {
			server = "nats://" + server
		}
		u, err := url.Parse(server)
		if err != nil || u.Host == "" {
			return "", usagef("read a NATS URL: it is not of the form nats://HOST:PORT or nats://USER:PASSWORD@HOST:PORT; in a password, write %%2F for /, %%23 for # and so on")
		}
		without := url.URL{Scheme: u.Scheme, Host: u.Host}
		if u.User != nil {
			without.User = url.User("xxxxx")
		}
		shown = append(shown, without.String())
	}
	return strings.Join(shown, ","), nil
}

// aboutTLS reports whether an error comes of the two sides' TLS.
func aboutTLS(err error) bool {
	for _, is := range []error{nats.ErrSecureConnRequired, nats.ErrSecureConnWanted, nats.ErrTLS} {
		if errors.Is(err, is) {
			return true
		}
	}
	alert, ok := errors.AsType[*net.OpError](err) // crypto/tls calls an alert that the server sent so
	return ok && alert.Op == "remote error"
}

// explainConnect says what to do about a connection that failed.
func (a *app) explainConnect(server string, err error) error {
	switch {
	case errors.Is(err, nats.ErrNoServers), errors.Is(err, nats.ErrTimeout):
		return absentf("no NATS server at %s: start one with '%s dev', or give --nats URL", server, a.name)
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked):
		return absentf("NATS at %s refuses these credentials (%w): give --creds, --nkey, or --user and --password", server, err)
	case aboutTLS(err):
		return absentf("NATS at %s and this command disagree about TLS (%w): see --tlsca, --tlscert and --tlskey", server, err)
	}
	return &statusError{statusAbsent, fmt.Errorf("connect to NATS at %s: %w: is --nats right?", server, err)}
}
