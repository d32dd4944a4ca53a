package page

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// policy is the page's Content-Security-Policy. The page may only load its own scripts and styles,
// and send requests to its own server.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Guard returns a handler that refuses requests that a browser sends on behalf of another site, and
// adds headers that deny other sites access to the answers. The handler of [Page.Handler] is guarded.
func (p *Page) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		switch {
		case !p.allowsHost(r.Host):
			writeError(w, http.StatusForbidden, "this name is not known here: use the IP address, or start the worker with --http-host NAME")
		case !sameOrigin(r):
			writeError(w, http.StatusForbidden, "requests from other sites are refused")
		case !p.enter():
			writeError(w, http.StatusServiceUnavailable, "the program is stopping")
		default:
			defer p.running.Done()
			next.ServeHTTP(w, r)
		}
	})
}

// allowsHost reports whether a request's Host may be a name of this server. The owner of another
// site can let the site's name resolve to this address (DNS rebinding), but such a name contains a
// dot.
func (p *Page) allowsHost(host string) bool {
	name := strings.ToLower(host)
	if h, _, err := net.SplitHostPort(name); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.Trim(name, "[]"), ".")
	return net.ParseIP(name) != nil || name != "" && !strings.Contains(name, ".") ||
		strings.EqualFold(name, p.host) || slices.ContainsFunc(p.cfg.Hosts, func(h string) bool { return strings.EqualFold(h, name) })
}

// sameOrigin reports whether a request comes from this page or from a program that is not a
// browser.
func sameOrigin(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "cross-site", "same-site":
		return r.URL.Path == "/" && r.Header.Get("Sec-Fetch-Mode") == "navigate" // the request follows a link to the page
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && strings.EqualFold(u.Host, r.Host)
}
