package cli

import (
	"fmt"
	"os"
	"sync"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/cmd/internal/human"
	"github.com/bellwether-compute/bellwether/jobs"
)

// maxPrinted bounds the memory for lines that repeated attempts are compared with.
const maxPrinted = 10_000

// printLog returns a function that prints what the code and the programs of a job log. It leaves out the lines of a
// repeated attempt that are equal to lines of earlier attempts.
func (a *app) printLog() func(jobs.LogLine) {
	begin := ""
	if f, ok := a.Err.(*os.File); ok && console.IsTerminal(f) {
		begin = "\r\x1b[K" // replaces the progress bar, which is drawn again
	}
	var (
		mu      sync.Mutex
		printed = map[string]bool{}
	)
	return func(l jobs.LogLine) {
		mu.Lock()
		defer mu.Unlock()
		if l.Again && printed[l.Text] {
			return
		}
		if len(printed) < maxPrinted {
			printed[l.Text] = true
		}
		fmt.Fprintf(a.Err, "%s%s\n", begin, human.Plain(l.Text))
	}
}
