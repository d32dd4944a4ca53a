package montecarlo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// command finds the README's command that anybody can reproduce, and the SHA-256 below it.
var command = regexp.MustCompile(`(?m)^ +bellwether run montecarlo((?: -p [a-z]+=\S+)*)\n(?:.*\n)*? +sha256 +([0-9a-f]{64})$`)

// TestReadmeHash runs the README's example as native code and as a WebAssembly module. Both
// results must have the SHA-256 in the README.
func TestReadmeHash(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := command.FindSubmatch(readme)
	if found == nil {
		t.Fatal("the README has no command 'bellwether run montecarlo' with a SHA-256 below it")
	}
	pairs := strings.Fields(strings.ReplaceAll(string(found[1]), " -p ", " "))
	for name, run := range map[string]func(*testing.T, []string) []byte{"native": native, "WebAssembly": webAssembly} {
		t.Run(name, func(t *testing.T) {
			result := run(t, pairs)
			if sum := sha256.Sum256(result); hex.EncodeToString(sum[:]) != string(found[2]) {
				t.Errorf("SHA-256 %x of %s, want %s as in the README", sum, result, found[2])
			}
		})
	}
}

func native(t *testing.T, pairs []string) []byte { return []byte(runJSON(t, pairs...)) }

func webAssembly(t *testing.T, pairs []string) []byte {
	file := filepath.Join(t.TempDir(), "portable.wasm")
	build := exec.Command("go", "build", "-o", file, "./testdata/portable")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("compile the module: %v\n%s", err, out)
	}
	module, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	runtime := wazero.NewRuntime(ctx)
	defer runtime.Close(ctx)
	wasi_snapshot_preview1.MustInstantiate(ctx, runtime)
	var result, log bytes.Buffer
	config := wazero.NewModuleConfig().WithArgs(append([]string{"portable"}, pairs...)...).
		WithStdout(&result).WithStderr(&log)
	if _, err := runtime.InstantiateWithConfig(ctx, module, config); err != nil {
		t.Fatalf("run the module: %v\n%s", err, &log)
	}
	return result.Bytes()
}
