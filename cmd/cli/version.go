package cli

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// module is the path of Bellwether's module.
const module = "github.com/bellwether-compute/bellwether"

// build is the JSON that the command version prints.
type build struct {
	Program  string `json:"program"`
	Version  string `json:"version"`
	Library  string `json:"bellwether"` // version of the Bellwether module in the program
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified"` // the source files differed from the revision
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func readBuild(program string) build {
	b := build{Program: program, Version: "(devel)", Library: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	b.Library = b.Version
	for _, m := range info.Deps {
		if m.Path == module {
			b.Library = m.Version
		}
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show what this program was built from",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b := readBuild(a.Name)
			return a.Show(b, func(w io.Writer) {
				name := b.Program + " " + b.Version
				if b.Program != defaultName {
					name += ", " + defaultName + " " + b.Library
				}
				fmt.Fprintf(w, "%s, %s, %s\n", name, b.Go, b.Platform)
				if b.Revision != "" {
					fmt.Fprintf(w, "revision %s\n", b.Revision)
				}
			})
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
}
