package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
)

// AnyHost in the hosts of [NewClient] allows all servers.
const AnyHost = "*"

// NewClient returns a client that sends requests only to servers that jobs may read from: by https
// to public addresses, and by http or https to the given hosts at whatever address. A host has the
// form HOST, for the ports 80 and 443, or HOST:PORT. The client checks each redirect too, and checks
// addresses when it dials, so that a name cannot be resolved to another address after the check.
//
// Requests to the given hosts use the proxy of the environment (HTTPS_PROXY). Other requests use no
// proxy, because the proxy would resolve the name, and could reach private addresses.
//
// Errors do not say whether a port is open or what a server that does not speak HTTP has sent,
// because a submitter could examine the workers' network with them. A client for AnyHost belongs to
// the submitter's own process, and its errors are complete.
func NewClient(hosts []string) *http.Client {
	given, public := newTransport(), newTransport()
	dialer := net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive, ControlContext: refusePrivate}
	public.DialContext, public.Proxy = dialer.DialContext, nil
	return &http.Client{Transport: &guard{hosts, given, public}}
}

const (
	dialTimeout = 10 * time.Second
	keepAlive   = 15 * time.Second
)

func newTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive}).DialContext
	t.ResponseHeaderTimeout = 30 * time.Second
	t.MaxIdleConnsPerHost = 32
	return t
}

// guard sends each request with the transport for its host. The client calls it for each redirect.
type guard struct {
	hosts         []string
	given, public *http.Transport
}

func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	transport := g.public
	switch {
	case g.allows(r.URL):
		transport = g.given
	case r.URL.Scheme != "https":
		return nil, denied(r.URL)
	}
	answer, err := transport.RoundTrip(r)
	if slices.Contains(g.hosts, AnyHost) {
		return answer, err
	}
	if err != nil {
		return nil, discreet(r, err)
	}
	answer.Body = discreetBody{answer.Body, r}
	return answer, nil
}

// CloseIdleConnections is called by the method of the client.
func (g *guard) CloseIdleConnections() {
	g.given.CloseIdleConnections()
	g.public.CloseIdleConnections()
}

// allows reports whether the server of a URL is one of the given hosts.
func (g *guard) allows(u *url.URL) bool {
	host, port := strings.TrimSuffix(u.Hostname(), "."), u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	names := []string{net.JoinHostPort(host, port)}
	if port == "80" || port == "443" {
		names = append(names, host, "["+host+"]")
	}
	return slices.ContainsFunc(g.hosts, func(given string) bool {
		return given == AnyHost || slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(given, name) })
	})
}

// errPrivate means that the address of a server is not public.
var errPrivate = errors.New("the address is not public")

func denied(u *url.URL) error {
	return fmt.Errorf("%w: jobs may read only https:// URLs of servers with public addresses: start the worker with --web %s, or set BELLWETHER_WEB; "+
		"in Go, set Grant.Web of worker.Config or jobs.Local", source.ErrDenied, u.Host)
}

// refusePrivate is called between the resolution of a name and the connection to one of its
// addresses.
func refusePrivate(_ context.Context, _, address string, _ syscall.RawConn) error {
	if at, err := netip.ParseAddrPort(address); err != nil || !isPublic(at.Addr()) {
		return errPrivate
	}
	return nil
}

// Addresses in reserved are not those of servers in the public Internet, although they look like
// such addresses (the registries of special-purpose addresses of IANA).
var reserved = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"),    // networks of providers (CGNAT)
	netip.MustParsePrefix("168.63.129.16/32"), // service for the virtual machines of Azure
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("192.88.99.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("2001::/23"), // Teredo and others
	netip.MustParsePrefix("2001:db8::/32"),
	netip.MustParsePrefix("2002::/16"), // 6to4, which contains an IPv4 address
	netip.MustParsePrefix("3fff::/20"),
}

var (
	globalIPv6 = netip.MustParsePrefix("2000::/3")
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
)

// isPublic reports whether an address is that of a server in the public Internet.
func isPublic(a netip.Addr) bool {
	a = a.Unmap()
	if nat64.Contains(a) { // the address of an IPv4 server in a network that has only IPv6
		bytes := a.As16()
		a = netip.AddrFrom4([4]byte(bytes[12:]))
	}
	return a.IsGlobalUnicast() && !a.IsPrivate() && (a.Is4() || globalIPv6.Contains(a)) &&
		!slices.ContainsFunc(reserved, func(p netip.Prefix) bool { return p.Contains(a) })
}

// discreet returns the error of a request in a form that a submitter may see.
func discreet(r *http.Request, err error) error {
	_, invalid := errors.AsType[*tls.CertificateVerificationError](err)
	dns, unresolved := errors.AsType[*net.DNSError](err)
	switch {
	case errors.Is(err, errPrivate):
		return denied(r.URL)
	case r.Context().Err() != nil:
		return r.Context().Err()
	case unresolved && dns.IsNotFound:
		return fmt.Errorf("no such host: %s", r.URL.Hostname())
	case invalid:
		return fmt.Errorf("the certificate of %s is not valid, or its authority is not known", r.URL.Host)
	}
	return fmt.Errorf("%s does not answer, or not as a web server does", r.URL.Host)
}

// discreetBody is the body of a response with discreet errors.
type discreetBody struct {
	io.ReadCloser
	request *http.Request
}

func (b discreetBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF && b.request.Context().Err() == nil {
		err = fmt.Errorf("%s has ended the answer early", b.request.URL.Host)
	}
	return n, err
}
