package console

import (
	"fmt"
	"io"
)

// StandardInput names standard input in flags and parameters.
const StandardInput = "-"

// TakeInput returns standard input for a flag or parameter. A later reader of standard input gets an error,
// because it would find nothing.
func (a *App) TakeInput(taker string) io.Reader {
	in := a.In
	a.In = takenInput(taker)
	return in
}

type takenInput string

func (t takenInput) Read([]byte) (int, error) {
	return 0, fmt.Errorf("standard input is read for %s already: want one reader of it", string(t))
}
