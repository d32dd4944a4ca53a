package report

import (
	"runtime/debug"
	"strings"
)

// ModuleVersion returns the version of a module with which this program was built.
func ModuleVersion(path string) string {
	name := moduleName(path)
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == path {
				return name + " " + strings.TrimPrefix(m.Version, "v")
			}
		}
	}
	return name + " of an unknown version"
}

// moduleName returns the last two elements of a path without the major version, such as hashicorp/raft.
func moduleName(path string) string {
	words := strings.Split(path, "/")
	if last := words[len(words)-1]; len(last) > 1 && last[0] == 'v' && strings.Trim(last[1:], "0123456789") == "" {
		words = words[:len(words)-1]
	}
	return strings.Join(words[max(0, len(words)-2):], "/")
}
