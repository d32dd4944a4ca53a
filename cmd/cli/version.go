package cli

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// build says what this program was built from.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified"` // built from files that differ from the revision
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func readBuild() build {
	b := build{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
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
		Args:  takes(0, 0),
		RunE: func(*cobra.Command, []string) error {
			b := readBuild()
			return a.show(b, func(w io.Writer) {
				fmt.Fprintf(w, "bellwether %s, %s, %s\n", b.Version, b.Go, b.Platform)
				if b.Revision != "" {
					fmt.Fprintf(w, "revision %s\n", b.Revision)
				}
			})
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
}
