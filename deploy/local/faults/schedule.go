package faults

import (
	"net/http"
	"slices"
	"sync"

	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

// Times lets a fault happen to the first n requests of these kinds, or of any if
// none is named, and to no others.
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

// Always lets a fault happen to all requests of these kinds, or to all.
func Always(fault Fault, kinds ...account.Kind) Decide { return Times(-1, fault, kinds...) }
