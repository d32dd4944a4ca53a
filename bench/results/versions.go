package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"github.com/bellwether-compute/bellwether/bench"
)

// versionsOf tells the machine, what the program was built from, and what it ran on.
func versionsOf(program string, onAzurite bool) (string, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return "", fmt.Errorf("read what %s was built from: %w", program, err)
	}
	parts := []string{bench.Machine(), info.GoVersion, "Bellwether " + revision(info)}
	for _, m := range info.Deps {
		if strings.HasPrefix(m.Path, "github.com/nats-io/nats-server") {
			parts = append(parts, "NATS server "+m.Version)
		}
	}
	if onAzurite {
		azurite, err := azuriteVersion()
		if err != nil {
			return "", err
		}
		parts = append(parts, "Azurite "+azurite)
	}
	return strings.Join(parts, ", "), nil
}

// revision is what a program was built from, as far as it was told.
func revision(info *debug.BuildInfo) string {
	revision, changed := "of an unknown revision", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(len(s.Value), 12)]
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = " with changes"
		}
	}
	return revision + changed
}

func azuriteVersion() (string, error) {
	const file = "deploy/azurite/package.json"
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	var pkg struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	if err := json.Unmarshal(data, &pkg); err != nil {
		return "", fmt.Errorf("read %s: %w", file, err)
	}
	return pkg.Dependencies["azurite"], nil
}
