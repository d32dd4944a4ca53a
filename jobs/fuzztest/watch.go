package fuzztest

import (
	"flag"
	"strings"
	"sync/atomic"
	"testing"
)

// Corpus counts the seeds that a target accepts and refuses.
type Corpus struct{ taken, refused atomic.Int64 }

// Watch fails a target if the target accepts all of its seeds or refuses all of them. The target
// calls Taken or Refused for each input. During fuzzing, or if a single seed is run, Watch checks
// nothing.
func Watch(f *testing.F) *Corpus {
	c := &Corpus{}
	f.Cleanup(func() {
		whole := flag.Lookup("test.fuzz").Value.String() == "" && !strings.Contains(flag.Lookup("test.run").Value.String(), "/")
		if whole && !f.Failed() {
			c.check(f)
		}
	})
	return c
}

// Taken increments the number of inputs that the target has accepted.
func (c *Corpus) Taken() { c.taken.Add(1) }

// Refused increments the number of inputs that the target has refused.
func (c *Corpus) Refused() { c.refused.Add(1) }

func (c *Corpus) check(t interface{ Errorf(string, ...any) }) {
	if taken, refused := c.taken.Load(), c.refused.Load(); taken == 0 || refused == 0 {
		t.Errorf("of the seeds, %d are taken and %d refused: there must be some of both", taken, refused)
	}
}
