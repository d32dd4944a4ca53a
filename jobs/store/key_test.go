package store_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// TestValidKey compares ValidKey with the regular expression of keys, for all texts of up to four
// of the characters that matter.
func TestValidKey(t *testing.T) {
	form := regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*(/[a-z0-9][a-z0-9.-]*)*$`)
	valid := 0
	var check func(key string)
	check = func(key string) {
		want := form.MatchString(key)
		if got := store.ValidKey(key); got != want {
			t.Errorf("ValidKey(%q): got %v, want %v", key, got, want)
		}
		if want {
			valid++
		}
		if len(key) >= 4 {
			return
		}
		for _, c := range "az09/.-A`{:\n\x00" {
			check(key + string(c))
		}
	}
	check("")
	if valid == 0 {
		t.Error("no key is valid")
	}
	for n, want := range map[int]bool{store.MaxKey: true, store.MaxKey + 1: false} {
		if got := store.ValidKey(strings.Repeat("a", n)); got != want {
			t.Errorf("a key of %d bytes: got %v, want %v", n, got, want)
		}
	}
}
