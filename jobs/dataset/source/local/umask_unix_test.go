//go:build unix

package local

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestCreateObeysTheUmask checks that other users can read a created file if the umask lets them.
func TestCreateObeysTheUmask(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o022))
	name := filepath.Join(t.TempDir(), "part")
	if _, err := (Driver{Folders: []string{"/"}}).Create(t.Context(), name, []byte("rows")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o644 {
		t.Errorf("file has the permissions %o, want 644", got)
	}
}
