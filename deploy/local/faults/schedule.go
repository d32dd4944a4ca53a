package faults

import (
	"net/http"
	"slices"
	"sync"

	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

// Times injects a fault into the first n requests of the given kinds, or of any kind if kinds is
// empty.
func Times(n int, fault Fault, kinds ...account.Kind) Decide {
	var mu sync.Mutex
	return func(kind account.Kind, _ *http.Request) Fault {
		mu.Lock()
		defer mu.Unlock()
		if n == 0 || len(kinds) > 0 && !slices.Contains(kinds, kind) {
			return Fault{}
		}
		n--
		return fault
	}
}

// Always injects a fault into every request of the given kinds, or of any kind if kinds is empty.
func Always(fault Fault, kinds ...account.Kind) Decide { return Times(-1, fault, kinds...) }
