package source

import (
	"fmt"
	"net/url"
	"strings"
)

// CheckSecret returns an error if the name of an object contains a secret: a user or a password in
// a URL, or a query with a signature, a token or a key. The error does not contain the secret.
func CheckSecret(name string) error {
	if !strings.Contains(name, "://") {
		return nil
	}
	base, query, _ := strings.Cut(name, "?")
	_, rest, _ := strings.Cut(base, "://")
	host, _, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		return fmt.Errorf("the URL of host %s contains a user or a password, and parameters of jobs are stored: "+
			"give the credentials to the workers, in their environment", host[at+1:])
	}
	for pair := range strings.FieldsFuncSeq(query, func(r rune) bool { return r == '&' || r == ';' }) {
		field, _, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(field); err == nil {
			field = plain
		}
		lower := strings.ToLower(field)
		for _, word := range []string{"sig", "token", "secret", "password", "key", "credential"} {
			if strings.Contains(lower, word) {
				return fmt.Errorf("the URL %s has a query with %q, a secret, and parameters of jobs are stored: "+
					"give the URL without it, and the credentials to the workers, in their environment", base, field)
			}
		}
	}
	return nil
}
