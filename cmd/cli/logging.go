package cli

import (
	"log/slog"
	"os"

	"github.com/spf13/cobra"
)

// logFlags is what a process that goes on for long logs.
type logFlags struct{ level, format string }

// Forms of log lines.
const (
	logAuto = "auto" // text for people, JSON for whatever else reads
	logText = "text"
	logJSON = "json"
)

func (f *logFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.level, "log-level", "info", "what to log: debug, info, warn or error")
	cmd.Flags().StringVar(&f.format, "log-format", logAuto, "what lines look like: text, json, or auto: text on a terminal and JSON elsewhere")
	completeWords(cmd, "log-level", "debug", "info", "warn", "error")
	completeWords(cmd, "log-format", logAuto, logText, logJSON)
}

// args passes the flags on to a process of this program, whose lines go where
// those of this one do.
func (f *logFlags) args() []string {
	return []string{"--log-level", f.level, "--log-format", f.format}
}

// durationsWithUnit writes durations as text has them: in JSON they would be
// numbers that do not say of what.
func durationsWithUnit(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.String())
	}
	return a
}

// logger logs to standard error. Where that decides about the form, args passes
// on what it is.
func (f *logFlags) logger(a *app) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.level)); err != nil {
		return nil, usagef("--log-level: want debug, info, warn or error, got %q", f.level)
	}
	if f.format == logAuto {
		f.format = logJSON
		if file, ok := a.Err.(*os.File); ok && isTerminal(file) {
			f.format = logText
		}
	}
	options := &slog.HandlerOptions{Level: level}
	switch f.format {
	case logText:
		return slog.New(slog.NewTextHandler(a.Err, options)), nil
	case logJSON:
		options.ReplaceAttr = durationsWithUnit
		return slog.New(slog.NewJSONHandler(a.Err, options)), nil
	}
	return nil, usagef("--log-format: want auto, text or json, got %q", f.format)
}
