package answer

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/cmd/internal/human"
)

// textMember is the member of a result that contains a text for people, as in the results of the job exec.
const textMember = "text"

// textOf returns the text of a result, or an empty text if the result has none.
func textOf(result json.RawMessage) string {
	var r struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(result, &r) != nil {
		return "" // the result is no object, or the member is no text
	}
	return r.Text
}

// writeText writes the text of a result after the table. The text is unchanged, unless it goes to a terminal,
// on which control characters could do harm.
func writeText(w io.Writer, text string) error {
	if text == "" {
		return nil
	}
	if f, ok := w.(*os.File); ok && console.IsTerminal(f) {
		text = human.Lines(text)
		if !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
	}
	if _, err := fmt.Fprintf(w, "\n%s", text); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}
