package importtest

import (
	"path/filepath"
	"slices"
	"testing"
)

func TestCheck(t *testing.T) {
	allowed := map[string][]string{"fmt": nil, "time": {"Time"}}
	machine := []string{
		`machine.go:5:2: imports "os"`,
		"machine.go:9:33: uses time.Now",
		"machine.go:11:15: uses a channel",
		"machine.go:12:2: starts a goroutine",
		"machine.go:13:2: receives from a channel",
		"machine.go:14:2: uses a channel",
		"machine.go:14:14: uses a map, whose order is random",
	}
	for i := range machine {
		machine[i] = filepath.Join("testdata", machine[i])
	}
	for name, test := range map[string]struct {
		rules Rules
		want  []string
	}{
		"maps forbidden": {Rules{Allowed: allowed, NoMaps: true}, machine},
		"maps allowed":   {Rules{Allowed: allowed}, machine[:6]},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := check("testdata", test.rules)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if _, err := check("testdata", Rules{Files: 2}); err == nil {
		t.Error("accepts 1 file, want at least 2")
	}
}
