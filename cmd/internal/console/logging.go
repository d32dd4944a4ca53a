package console

import (
	"log/slog"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// LogFlags are the level and the format of the log of a long-running process.
type LogFlags struct{ Level, format string }

const (
	LogAuto = "auto" // text if standard error is a terminal, otherwise JSON
	LogText = "text"
	LogJSON = "json"
)

// Register adds the flags to a command, with the default level.
func (f *LogFlags) Register(cmd *cobra.Command, level string) {
	cmd.Flags().StringVar(&f.Level, "log-level", level, "lowest level to log: debug, info, warn or error")
	cmd.Flags().StringVar(&f.format, "log-format", LogAuto, "format of log lines: text, json, or auto (text on a terminal, otherwise JSON)")
	CompleteWords(cmd, "log-level", "debug", "info", "warn", "error")
	CompleteWords(cmd, "log-format", LogAuto, LogText, LogJSON)
}

// Args returns the log flags for a child process, which writes to the same standard error.
func (f *LogFlags) Args() []string {
	return []string{"--log-level", f.Level, "--log-format", f.format}
}

// durationsWithUnit formats durations with a unit, such as "1.5s". Without durationsWithUnit,
// durations in JSON would be numbers without a unit.
func durationsWithUnit(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.String())
	}
	return a
}

// Logger returns a logger that writes to standard error. It replaces the format auto with text
// or JSON, so that Args passes the actual format to child processes.
func (f *LogFlags) Logger(a *App) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.Level)); err != nil {
		return nil, Usagef("--log-level: want debug, info, warn or error, got %q", f.Level)
	}
	if f.format == LogAuto {
		f.format = LogJSON
		if file, ok := a.Err.(*os.File); ok && IsTerminal(file) {
			f.format = LogText
		}
	}
	options := &slog.HandlerOptions{Level: level}
	switch f.format {
	case LogText:
		return slog.New(slog.NewTextHandler(a.Err, options)), nil
	case LogJSON:
		options.ReplaceAttr = durationsWithUnit
		return slog.New(slog.NewJSONHandler(a.Err, options)), nil
	}
	return nil, Usagef("--log-format: want auto, text or json, got %q", f.format)
}

// IsTerminal reports whether f is a terminal that can redraw a line.
func IsTerminal(f *os.File) bool {
	return term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// warnings returns a logger for what goes wrong while a command runs. It writes text to standard error.
func (a *App) warnings() *slog.Logger {
	return slog.New(slog.NewTextHandler(a.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
}
