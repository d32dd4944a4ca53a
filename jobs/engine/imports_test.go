package engine

import (
	"testing"

	"github.com/bellwether-compute/bellwether/deploy/local/importtest"
)

// TestImports checks that the package imports nothing of package jobs, which imports it, and that
// the arithmetic of the tree needs neither clocks nor I/O: of package io it names types of parameters.
func TestImports(t *testing.T) {
	importtest.Check(t, importtest.Rules{Files: 8, NoMaps: true, Allowed: map[string][]string{
		"cmp": {"Compare"}, "context": {"Context", "WithValue"}, "crypto/sha256": nil, "encoding/binary": nil, "encoding/json": {"RawMessage"}, "errors": {"New"}, "fmt": {"Errorf", "Sprintf"}, "io": {"Reader", "SectionReader", "Writer"}, "iter": nil,
		"math/bits": nil, "regexp": {"MustCompile"}, "slices": {"Backward", "Chunk", "Clone", "SortStableFunc"}, "strconv": {"FormatUint", "ParseUint"}, "strings": {"Cut"}, "sync/atomic": nil, "time": {"Duration", "Microsecond"},
	}})
}
