package wire

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestDescribeBuild(t *testing.T) {
	settings := func(pairs ...string) *debug.BuildInfo {
		info := &debug.BuildInfo{}
		for i := 0; i < len(pairs); i += 2 {
			info.Settings = append(info.Settings, debug.BuildSetting{Key: pairs[i], Value: pairs[i+1]})
		}
		return info
	}
	for _, c := range []struct {
		arch  string
		info  *debug.BuildInfo
		want  string
		known bool
	}{
		{"amd64", settings("GOARCH", "amd64", "GOAMD64", "v3"), "amd64/v3 go1.26.0", true},
		{"arm64", settings("GOARCH", "arm64", "GOARM64", "v8.0,lse"), "arm64/v8.0,lse go1.26.0", true},
		{"ppc64le", settings("GOARCH", "ppc64le", "GOPPC64", "power9"), "ppc64le/power9 go1.26.0", true},
		{"s390x", settings("GOARCH", "s390x"), "s390x go1.26.0", true}, // the architecture s390x has no levels
		{"amd64", settings(), "amd64/unknown go1.26.0", false},
		{"amd64", nil, "amd64/unknown go1.26.0", false},
	} {
		got := describeBuild(c.arch, "go1.26.0", c.info)
		if got != c.want || KnownBuild(got) != c.known {
			t.Errorf("%s: got %q, known: %v, want %q", c.arch, got, KnownBuild(got), c.want)
		}
	}
	if got := describeBuild("amd64", strings.Repeat("x", 100), nil); len(got) != MaxBuild {
		t.Errorf("got a build of %d bytes, want %d", len(got), MaxBuild)
	}
	if KnownBuild("") {
		t.Error("no build is a known build")
	}
}
