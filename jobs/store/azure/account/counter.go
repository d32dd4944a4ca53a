package account

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// OK and NoAnswer are outcomes of requests. All others are Azure's error codes,
// or a status where there was none.
const (
	OK       = "ok"
	NoAnswer = "no answer"
)

// Counter counts requests. The zero Counter is ready for use, by several accounts
// and goroutines at once.
type Counter struct {
	mu     sync.Mutex
	counts map[counted]int64
}

type counted struct {
	kind    Kind
	outcome string
}

// Count is how many requests of a kind had an outcome.
type Count struct {
	Kind    Kind
	Outcome string
	N       int64
}

// Counts returns what was counted so far, sorted by kind and outcome.
func (c *Counter) Counts() []Count {
	c.mu.Lock()
	defer c.mu.Unlock()
	counts := make([]Count, 0, len(c.counts))
	for k, n := range c.counts {
		counts = append(counts, Count{k.kind, k.outcome, n})
	}
	slices.SortFunc(counts, func(a, b Count) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Outcome, b.Outcome))
	})
	return counts
}

// Total is how many requests of these kinds were made; of all kinds if none is
// named.
func (c *Counter) Total(kinds ...Kind) (n int64) {
	for _, count := range c.Counts() {
		if len(kinds) == 0 || slices.Contains(kinds, count.Kind) {
			n += count.N
		}
	}
	return n
}

func (c *Counter) add(kind Kind, outcome string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = map[counted]int64{}
	}
	c.counts[counted{kind, outcome}]++
}

// counting is the policy that counts each try.
type counting struct {
	counter *Counter // nil: none
	service Service
}

func (p counting) Do(req *policy.Request) (*http.Response, error) {
	resp, err := req.Next()
	if p.counter != nil {
		p.counter.add(Classify(p.service, req.Raw()), outcome(resp, err))
	}
	return resp, err
}

func outcome(resp *http.Response, err error) string {
	switch {
	case err != nil:
		return NoAnswer
	case resp.StatusCode < http.StatusBadRequest:
		return OK
	default:
		return cmp.Or(resp.Header.Get("X-Ms-Error-Code"), strconv.Itoa(resp.StatusCode))
	}
}
