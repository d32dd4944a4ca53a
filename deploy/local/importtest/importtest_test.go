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
		"machine.go:15:2: uses shell, which an exempt file declares",
	}
	shell := `shell.go:3:8: imports "net"`
	for name, test := range map[string]struct {
		rules Rules
		want  []string
	}{
		"shell exempt":   {Rules{Allowed: allowed, NoMaps: true, Exempt: []string{"shell.go"}}, machine},
		"maps allowed":   {Rules{Allowed: allowed, Exempt: []string{"shell.go"}}, slices.Delete(slices.Clone(machine), 6, 7)},
		"nothing spared": {Rules{Allowed: allowed, NoMaps: true}, append(slices.Clone(machine[:7]), shell)},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := check("testdata", test.rules)
			if err != nil {
				t.Fatal(err)
			}
			for i := range test.want {
				test.want[i] = filepath.Join("testdata", test.want[i])
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if _, err := check("testdata", Rules{Files: 3}); err == nil {
		t.Error("accepts 2 files, want at least 3")
	}
	if _, err := check("testdata", Rules{Exempt: []string{"missing.go"}}); err == nil {
		t.Error("accepts an exempt file that does not exist")
	}
}
