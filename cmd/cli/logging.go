package cli

import (
	"log/slog"
	"os"

	"github.com/spf13/cobra"
)

// logFlags are the level and the format of the log of a long-running process.
type logFlags struct{ level, format string }

const (
	logAuto = "auto" // text if standard error is a terminal, otherwise JSON
	logText = "text"
	logJSON = "json"
)

func (f *logFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.level, "log-level", "info", "lowest level to log: debug, info, warn or error")
	cmd.Flags().StringVar(&f.format, "log-format", logAuto, "format of log lines: text, json, or auto (text on a terminal, otherwise JSON)")
	completeWords(cmd, "log-level", "debug", "info", "warn", "error")
	completeWords(cmd, "log-format", logAuto, logText, logJSON)
}

// args returns the log flags for a child process, which writes to the same standard error.
func (f *logFlags) args() []string {
	return []string{"--log-level", f.level, "--log-format", f.format}
}

// durationsWithUnit formats durations with a unit, such as "1.5s". Without durationsWithUnit,
// durations in JSON would be numbers without a unit.
func durationsWithUnit(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.String())
	}
	return a
}

// logger returns a logger that writes to standard error. logger replaces the format auto with text
// or JSON, so that args passes the actual format to child processes.
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
