package source

import (
	"path"
	"strings"
)

// IsGlob reports whether a name is a pattern of path.Match.
func IsGlob(name string) bool { return strings.ContainsAny(name, "*?[") }

// GlobPrefix returns the part of a pattern before its first special character. All names that
// match the pattern begin with it.
func GlobPrefix(pattern string) string {
	if i := strings.IndexAny(pattern, `*?[\`); i >= 0 {
		return pattern[:i]
	}
	return pattern
}

// Match reports whether a name matches a pattern, which is a glob, or a prefix that ends in a
// slash or is empty. Below a prefix, names with an element that begins with a dot do not match.
func Match(pattern, name string) (bool, error) {
	if IsGlob(pattern) {
		return path.Match(pattern, name)
	}
	rest, ok := strings.CutPrefix(name, pattern)
	return ok && !strings.HasPrefix(rest, ".") && !strings.Contains(rest, "/."), nil
}
