package memory_test

import (
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source/memory"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/sourcetest"
)

func open(*testing.T) sourcetest.Place {
	d := new(memory.Driver)
	return sourcetest.Place{
		Driver: d, Base: "mem://",
		Put:    func(_ *testing.T, name string, content []byte) { d.Put(name, content) },
		Delete: func(_ *testing.T, name string) { d.Delete(name) },
	}
}

func TestConformance(t *testing.T) {
	sourcetest.Test(t, open)
	sourcetest.TestListing(t, open)
	sourcetest.TestCreator(t, open)
	sourcetest.TestReplacer(t, open)
}
