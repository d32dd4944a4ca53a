package console

import (
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/bellwether-compute/bellwether/cmd/internal/human"
	"github.com/bellwether-compute/bellwether/jobs/client"
)

// Table aligns the cells of rows. On a terminal, states of jobs are coloured.
type Table struct {
	*tabwriter.Writer
	colours bool
}

// NewTable returns a table that Flush writes to w. There are no colours if the environment variable NO_COLOR is set
// (no-color.org), or if TERM is dumb.
func NewTable(w io.Writer) *Table { return newTable(w, showsColours(w)) }

// NewListTable is like NewTable for a table whose lines are cut at the width of the terminal.
func NewListTable(w io.Writer) *Table { return newTable(Fit(w), showsColours(w)) }

func newTable(w io.Writer, colours bool) *Table {
	return &Table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0), colours}
}

func showsColours(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && IsTerminal(f) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// State is a cell with the state of a job, or the header of a column of states.
type State string

// colours are the codes of colours (ECMA-48). All have the same length, because a tabwriter counts their characters.
var colours = map[State]string{
	State(client.Running): "36", State(client.Completed): "32", State(client.Failed): "31", State(client.Cancelled): "33",
}

const defaultColour = "39"

// Row writes one line of a table. Texts from outside, such as errors of jobs, are made harmless for a
// terminal.
func Row(w io.Writer, cells ...any) {
	table, _ := w.(*Table)
	for i, c := range cells {
		if i > 0 {
			fmt.Fprint(w, "\t")
		}
		text := human.Plain(fmt.Sprint(c))
		if state, ok := c.(State); ok && table != nil && table.colours {
			colour, ok := colours[state]
			if !ok {
				colour = defaultColour
			}
			text = "\x1b[" + colour + "m" + text + "\x1b[0m"
		}
		fmt.Fprint(w, text)
	}
	fmt.Fprintln(w)
}
