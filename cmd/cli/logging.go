package cli

import (
	"log/slog"

	"github.com/spf13/cobra"
)

// logFlags is what a process that goes on for long logs.
type logFlags struct{ level string }

func (f *logFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.level, "log-level", "info", "what to log: debug, info, warn or error")
	completeWords(cmd, "log-level", "debug", "info", "warn", "error")
}

// args passes the flags on to a process of this program.
func (f *logFlags) args() []string { return []string{"--log-level", f.level} }

// logger logs to standard error: text, or JSON where that is asked for.
func (f *logFlags) logger(a *app) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.level)); err != nil {
		return nil, usagef("--log-level: want debug, info, warn or error, got %q", f.level)
	}
	options := &slog.HandlerOptions{Level: level}
	if a.output == outputJSON {
		return slog.New(slog.NewJSONHandler(a.Err, options)), nil
	}
	return slog.New(slog.NewTextHandler(a.Err, options)), nil
}
