package wire

import (
	"errors"
	"strings"
	"testing"
)

func TestCheckStorage(t *testing.T) {
	for _, same := range [][2]string{{"aa", "aa"}, {"", "aa"}, {"aa", ""}, {"", ""}} {
		if err := CheckStorage("leader w1", same[0], "worker w2", same[1]); err != nil {
			t.Errorf("%q and %q: %v", same[0], same[1], err)
		}
	}
	err := CheckStorage("leader w1", "aa", "worker w2", "bb")
	if !errors.Is(err, ErrOtherStorage) {
		t.Fatalf("got %v, want ErrOtherStorage", err)
	}
	for _, want := range []string{"leader w1 uses storage aa", "worker w2 uses storage bb", "give all processes of a cluster the same storage"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	if err := CheckStorage("x", strings.Repeat("s", 1<<20), "y", "bb"); len(err.Error()) > 500 {
		t.Errorf("the error has %d bytes", len(err.Error()))
	}
}
