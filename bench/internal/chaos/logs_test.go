//go:build unix

package chaos

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
)

// spilled and stored are in log lines of workers about held partials. checkLogs counts these lines.
const (
	spilled = "Moved a partial to the spill folder"
	stored  = "Wrote a held partial to storage"
)

// checkLogs records data races and panics in the logs as violations, and counts spilled and stored partials.
func (c *cluster) checkLogs() {
	files, err := filepath.Glob(filepath.Join(c.dir.logs, "*"))
	if err != nil {
		c.history.violation("%w", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			c.history.violation("%w", err)
		}
		c.history.moved(bytes.Count(text, []byte(spilled)), bytes.Count(text, []byte(stored)))
		for line := range bytes.Lines(text) {
			for _, never := range []string{"DATA RACE", "| panic: ", "| fatal error: "} {
				if strings.Contains(string(line), never) {
					c.history.violation("%s: %s", filepath.Base(name), bytes.TrimSpace(line))
				}
			}
		}
	}
}
