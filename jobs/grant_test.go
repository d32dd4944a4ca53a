package jobs

import (
	"path/filepath"
	"slices"
	"testing"
)

// TestRelativeFolders checks that relative folders count from the folder of the process, and that an
// empty name does not stand for that folder.
func TestRelativeFolders(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	ctx, release := WithGrant(t.Context(), Grant{Files: []string{"data", "", "./logs/", "/srv/../data"}})
	defer release()
	if got, want := GrantOf(ctx).Files, []string{here + "/data", here + "/logs", "/data"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
