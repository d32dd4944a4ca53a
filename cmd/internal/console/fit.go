package console

import (
	"bytes"
	"io"
	"os"
	"unicode/utf8"

	"golang.org/x/term"
)

// Fit returns a writer for a table whose lines are cut at the width of the terminal if w is one, and otherwise w.
func Fit(w io.Writer) io.Writer {
	f, ok := w.(*os.File)
	if !ok || !IsTerminal(f) {
		return w
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil || columns < 1 {
		return w
	}
	return &cutter{out: w, columns: columns}
}

// cutter drops the characters of each line behind the given number of columns. It keeps colours, which have no width.
type cutter struct {
	out     io.Writer
	columns int
	at      int  // number of characters of the current line so far
	colour  bool // within the code of a colour
}

func (c *cutter) Write(text []byte) (int, error) {
	var kept bytes.Buffer
	for rest := text; len(rest) > 0; {
		r, width := utf8.DecodeRune(rest)
		switch {
		case r == '\x1b', c.colour:
			c.colour = r != 'm'
			kept.WriteRune(r)
		case r == '\n':
			c.at = 0
			kept.WriteByte('\n')
		case c.at < c.columns:
			c.at++
			kept.Write(rest[:width])
		}
		rest = rest[width:]
	}
	if _, err := c.out.Write(kept.Bytes()); err != nil {
		return 0, err
	}
	return len(text), nil
}
