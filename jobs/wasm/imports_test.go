package wasm

import (
	"testing"

	"github.com/bellwether-compute/bellwether/deploy/local/importtest"
)

// TestImports checks that the package starts no goroutines, because its tests run without the race
// detector: the detector makes the compilation of a module 15 times as slow. Only the library that
// compiles modules and package exec, whose tests use the detector, start goroutines.
func TestImports(t *testing.T) {
	importtest.Check(t, importtest.Rules{Files: 5, Allowed: map[string][]string{
		"bufio": nil, "bytes": nil, "cmp": nil, "context": nil, "crypto/sha256": nil, "encoding/json": nil, "errors": nil, "fmt": nil, "io": nil, "io/fs": nil, "math/rand/v2": nil, "os": nil, "path/filepath": nil, "runtime": nil, "runtime/debug": nil, "slices": nil, "strconv": nil, "strings": nil, "testing/fstest": nil, "time": nil,
		"github.com/dustin/go-humanize":                                nil,
		"github.com/tetratelabs/wazero":                                nil,
		"github.com/tetratelabs/wazero/api":                            nil,
		"github.com/tetratelabs/wazero/experimental":                   nil,
		"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1": nil,
		"github.com/tetratelabs/wazero/sys":                            nil,
		importtest.Module + "jobs":                                     nil,
		importtest.Module + "jobs/exec":                                nil,
	}})
}
