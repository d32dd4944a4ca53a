package dataset

import "fmt"

// Fault is an error in the content of an object.
type Fault struct {
	_ struct{} `cbor:",toarray"`

	Object string // name of the object
	Offset int64  // as of Record.Offset
	Text   string // description of the fault and of valid content
}

func (f *Fault) Error() string {
	return fmt.Sprintf("%s: %s: %s", f.Object, position(f.Offset), f.Text)
}

// sample returns the fault of a skipped record for Totals.
func (f *Fault) sample() Fault {
	return Fault{Object: f.Object, Offset: f.Offset &^ virtualOffset, Text: firstLine(f.Text)}
}

// maxQuoted is the number of bytes of a record that an error quotes.
const maxQuoted = 80

// quoted returns the beginning of a text, in quotes, for an error message.
func quoted(text []byte) string {
	if len(text) > maxQuoted {
		return fmt.Sprintf("%q…", text[:maxQuoted])
	}
	return fmt.Sprintf("%q", text)
}
