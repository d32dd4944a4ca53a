package source

import (
	"path"
	"slices"
	"strings"
)

// IsGlob reports whether a name contains special characters of path.Match and therefore is a
// pattern.
func IsGlob(name string) bool { return strings.ContainsAny(name, "*?[") }

// GlobPrefix returns the part of a pattern before its first special character. All names that match
// the pattern begin with GlobPrefix(pattern).
func GlobPrefix(pattern string) string {
	if i := strings.IndexAny(pattern, `*?[\`); i >= 0 {
		return pattern[:i]
	}
	return pattern
}

// Match reports whether a name matches a pattern. The pattern is either in the form of path.Match,
// or is a prefix that ends in a slash or is empty. A name does not match a prefix if one of the
// name's elements after the prefix is [Hidden].
func Match(pattern, name string) (bool, error) {
	if IsGlob(pattern) {
		return path.Match(pattern, name)
	}
	rest, ok := strings.CutPrefix(name, pattern)
	return ok && !slices.ContainsFunc(strings.Split(rest, "/"), Hidden), nil
}

// Hidden reports whether an element of a name is left out of the listing of a folder: a name that begins
// with a dot, or with an underscore unless it names a partition such as _date=2026-11-22. Spark and Hadoop
// give such names to markers, logs and temporary files.
func Hidden(element string) bool {
	return strings.HasPrefix(element, ".") || strings.HasPrefix(element, "_") && !strings.Contains(element, "=")
}
