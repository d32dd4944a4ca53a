// Package naming checks the names of clusters and elections, which are part of NATS
// subjects, of JetStream names and of Azure container names.
package naming

import (
	"fmt"
	"regexp"
)

var form = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}$`)

// Check returns an error if name is not a valid name. The parameter kind, for example "cluster",
// appears in the error.
func Check(kind, name string) error {
	if !form.MatchString(name) {
		return fmt.Errorf("%s name %q: want 1 to 40 lower-case letters, digits and dashes, the first not a dash", kind, name)
	}
	return nil
}
