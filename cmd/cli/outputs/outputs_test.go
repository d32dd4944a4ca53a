//go:build unix

package outputs

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A copy has the permissions that the user's umask allows.
func TestCreateFileObeysTheUmask(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	name := filepath.Join(t.TempDir(), "part")
	if err := createFile(name, []byte("rows")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o600 {
		t.Errorf("file has the permissions %o, want 600", got)
	}
}
