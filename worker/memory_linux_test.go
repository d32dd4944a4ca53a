package worker

import (
	"bytes"
	"log/slog"
	"os"
	"strings"
	"testing"
)

// TestSpillDirInMemory checks that there is a warning if, and only if, the spill folder is a tmpfs.
func TestSpillDirInMemory(t *testing.T) {
	const shared = "/dev/shm" // a tmpfs
	if f, err := os.CreateTemp(shared, ""); err != nil {
		t.Skip(err)
	} else if err := os.Remove(f.Name()); err != nil {
		t.Error(err)
	}
	for name, c := range map[string]struct {
		flag, tmp, want string
		warns           bool
	}{
		"flag":                       {flag: shared, want: shared, warns: true},
		"folder for temporary files": {tmp: shared, want: shared, warns: true},
		"another file system":        {flag: "/proc", want: "/proc"},
		"missing folder":             {flag: "/missing", want: "/missing"},
	} {
		var logged bytes.Buffer
		t.Setenv("TMPDIR", c.tmp)
		if got := spillDir(c.flag, slog.New(slog.NewTextHandler(&logged, nil))); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
		if got := strings.Contains(logged.String(), "the spill folder is in memory"); got != c.warns {
			t.Errorf("%s: logged %q, want a warning: %v", name, &logged, c.warns)
		}
	}
}
