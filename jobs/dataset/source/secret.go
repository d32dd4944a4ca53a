package source

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// secretWords are parts of the names of query parameters with secrets, and secretNames are such names.
var (
	secretWords = []string{"sig", "token", "secret", "passw", "passphrase", "pwd", "key", "credential", "jwt", "oauth", "authorization"}
	secretNames = []string{"auth", "code", "pass", "session", "sid"}
)

// CheckSecret returns an error if the name of an object, or a list of names with commas between them,
// contains a secret: a user or a password in a URL, or a query or a fragment with a signature, a token
// or a key. The error does not contain the secret.
func CheckSecret(names string) error {
	urls := strings.Split(names, "://")
	for i, rest := range urls[1:] {
		host := rest
		if end := strings.IndexAny(rest, "/?#"); end >= 0 {
			host = rest[:end]
		}
		at := strings.LastIndexByte(host, '@')
		isContainer := strings.HasSuffix(urls[i], "abfss") && at >= 0 && !strings.Contains(host[:at], ":") // abfss://CONTAINER@HOST
		if at >= 0 && !isContainer {
			return fmt.Errorf("the URL of host %s contains a user or a password, and parameters of jobs are stored: "+
				"give the credentials to the workers, in their environment", host[at+1:])
		}
		query := strings.IndexAny(rest, "?#")
		if query < 0 {
			continue
		}
		for i, part := range strings.Split(rest[query:], ",") {
			for field := range strings.FieldsFuncSeq(part, func(r rune) bool { return strings.ContainsRune("?#&;", r) }) {
				field, _, assigned := strings.Cut(field, "=")
				if i > 0 && !assigned { // the name of the next object
					continue
				}
				if plain, err := url.QueryUnescape(field); err == nil {
					field = plain
				}
				if isSecret(strings.ToLower(field)) {
					return fmt.Errorf("the URL %s has a query with %q, a secret, and parameters of jobs are stored: "+
						"give the URL without it, and the credentials to the workers, in their environment", rest[:query], field)
				}
			}
		}
	}
	return nil
}

// isSecret reports whether the value of a field of a query may be a secret.
func isSecret(field string) bool {
	return slices.Contains(secretNames, field) || slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(field, word) })
}
