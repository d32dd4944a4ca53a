package wire

import (
	"runtime"
	"runtime/debug"
	"strings"
)

// UnknownBuild is the build of a program that does not contain information on how it was built.
const UnknownBuild = "unknown"

// MaxBuild is the largest number of bytes in the text of a build.
const MaxBuild = 60

// MaxVersion is the largest number of bytes in the version of a program.
const MaxVersion = 80

// ThisBuild describes the compilation of this program, as far as it determines how floats are
// rounded. A build consists of the architecture, its level and the version of Go, such as "amd64/v1
// go1.26.0". Two builds of the same source may compute different bytes: from level v3 on, Go's
// compiler fuses multiplication and addition on amd64. The level is the value of a variable such as
// GOAMD64 or GOARM64. If the build system has omitted the settings from the program, the level is
// "unknown".
func ThisBuild() string {
	info, _ := debug.ReadBuildInfo()
	return describeBuild(runtime.GOARCH, runtime.Version(), info)
}

func describeBuild(arch, version string, info *debug.BuildInfo) string {
	settings := map[string]string{}
	if info != nil {
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
	}
	level := settings["GO"+strings.ToUpper(strings.TrimSuffix(arch, "le"))] // little-endian architectures use the same variables GOMIPS and GOPPC64
	switch {
	case settings["GOARCH"] == "":
		arch += "/unknown"
	case level != "":
		arch += "/" + level
	}
	build := arch + " " + version
	return build[:min(len(build), MaxBuild)]
}

// KnownBuild reports whether a build contains everything that determines how floats are rounded.
func KnownBuild(build string) bool { return build != "" && !strings.Contains(build, UnknownBuild) }
