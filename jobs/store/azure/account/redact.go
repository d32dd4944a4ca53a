package account

import (
	"errors"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// hidden is the text that replaces secrets in errors.
const hidden = "REDACTED"

// secretForm matches the secret fields of a SAS and of a connection string. secretForm also matches
// secrets of other accounts, because a redirect may lead to another account.
var secretForm = regexp.MustCompile(`(?i)\b(sig|AccountKey|SharedAccessSignature)(=|%3D)[^&;\s"'<>]+`)

// secrets returns the account's secrets in all forms in which a text may contain them.
func (a *Account) secrets() []string {
	list := append([]string{a.key.secret}, a.hidden...)
	for field := range strings.SplitSeq(a.sas, "&") {
		if name, value, _ := strings.Cut(field, "="); strings.EqualFold(name, "sig") {
			list = append(list, value)
			if plain, err := url.QueryUnescape(value); err == nil {
				list = append(list, plain, url.QueryEscape(plain))
			}
		}
	}
	return list
}

// redact returns the text of an error without secrets. Errors of Go's HTTP client contain the URL
// of the request, and errors and responses may contain other parts of the request.
func (a *Account) redact(err error, text string) string {
	var request *url.Error
	if errors.As(err, &request) {
		base, _, _ := strings.Cut(request.URL, "?")
		text = strings.ReplaceAll(text, strconv.Quote(request.URL), strconv.Quote(base))
	}
	text = secretForm.ReplaceAllString(text, "$1="+hidden)
	for _, secret := range a.secrets() {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, hidden)
		}
	}
	return text
}
