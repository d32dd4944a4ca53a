package cluster

import (
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/fuzztest"
)

// FuzzRedact checks that neither redacted NATS URLs nor errors about NATS URLs contain a
// password.
func FuzzRedact(f *testing.F) {
	const secret = "c2VjcmV0"
	f.Add("nats://", "shepherd", "nats.example:4222")
	f.Add("", "shepherd", "nats.example,nats-1.example")
	f.Add("tls://one,nats://", "", "two")
	f.Add("nats://", "a b", "%zz:x")
	f.Add("nats://", "shepherd", "[::1")
	f.Add("nats:#", "shepherd", "nats.example")
	f.Add("nats://nats.example/", "shepherd", "")
	f.Add("nats://shepherd:#", "", "nats.example")
	corpus := fuzztest.Watch(f)
	f.Fuzz(func(t *testing.T, before, user, host string) {
		if strings.ContainsAny(user, ",/?#@") || strings.Contains(host, secret) || strings.Contains(before, secret) {
			t.Skip("the password is no password there")
		}
		shown, err := redact(before + user + ":" + secret + "@" + host)
		if err != nil {
			if strings.Contains(err.Error(), secret) {
				t.Fatalf("the error tells a password: %v", err)
			}
			corpus.Refused()
			return
		}
		if strings.Contains(shown, secret) {
			t.Fatalf("shown is %s", shown)
		}
		corpus.Taken()
	})
}
