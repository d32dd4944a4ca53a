package holdings

import (
	"os"

	"golang.org/x/sys/unix"
)

// unnamed creates a file that never has a name. Some file systems cannot do that.
func unnamed(dir string) (*os.File, error) {
	return os.OpenFile(dir, unix.O_TMPFILE|os.O_RDWR, 0o600)
}
