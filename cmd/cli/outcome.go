package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// outcome is what run, submit --wait and result print of a job.
type outcome struct {
	ID         string          `json:"id"`
	Job        string          `json:"job"`
	Version    string          `json:"version"`
	State      store.State     `json:"state"`
	Partitions uint64          `json:"partitions"`
	Result     json.RawMessage `json:"result"`   // null unless completed
	SHA256     string          `json:"sha256"`   // of the result as it is printed
	Epochs     []uint64        `json:"epochs"`   // that led the job
	Executed   uint64          `json:"executed"` // partition executions reported, duplicates included
	Repeated   uint64          `json:"repeated"` // of those, beyond once each
	Skipped    []uint64        `json:"skipped"`  // partitions left out of the result
	Error      string          `json:"error"`
	Submitted  *time.Time      `json:"submitted"`
	Started    *time.Time      `json:"started"`
	Finished   *time.Time      `json:"finished"`
}

// listed is a list as it is printed: [] rather than null where it is empty.
func listed(numbers []uint64) []uint64 { return append([]uint64{}, numbers...) }

// sum is the fingerprint of a result.
func sum(result []byte) string {
	hash := sha256.Sum256(result)
	return hex.EncodeToString(hash[:])
}

// showOutcome prints the outcome of a job that has ended, and returns an error
// unless it completed.
func (a *app) showOutcome(o outcome) error {
	if err := a.show(o, o.table); err != nil {
		return err
	}
	switch o.State {
	case store.Completed:
		return nil
	case store.Cancelled:
		return fmt.Errorf("job %s was cancelled", o.ID)
	}
	return fmt.Errorf("job %s %s: %s", o.ID, o.State, firstLine(o.Error))
}

func (o outcome) table(w io.Writer) {
	row(w, "id", o.ID)
	row(w, "job", o.Job+" "+o.Version)
	row(w, "state", o.State)
	row(w, "partitions", humanize.Comma(int64(o.Partitions)))
	row(w, "executed", fmt.Sprintf("%s, %s of them repeated", humanize.Comma(int64(o.Executed)), humanize.Comma(int64(o.Repeated))))
	if len(o.Skipped) > 0 {
		row(w, "skipped", numbers(o.Skipped))
	}
	if len(o.Epochs) > 0 {
		row(w, "epochs", numbers(o.Epochs))
	}
	if o.Started != nil && o.Finished != nil {
		row(w, "took", duration(o.Finished.Sub(*o.Started)))
	}
	if o.Error != "" {
		row(w, "error", firstLine(o.Error))
	}
	if o.SHA256 != "" {
		row(w, "sha256", o.SHA256)
	}
	if len(o.Result) == 0 {
		return
	}
	fmt.Fprintln(w)
	for _, f := range fields(o.Result) {
		row(w, f.name, f.value)
	}
}

type field struct{ name, value string }

// fields are the members of a result that is a JSON object, in its own order;
// any other result is one field.
func fields(result json.RawMessage) []field {
	dec := json.NewDecoder(bytes.NewReader(result))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return []field{{"result", string(result)}}
	}
	var list []field
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return []field{{"result", string(result)}}
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return []field{{"result", string(result)}}
		}
		list = append(list, field{fmt.Sprint(name), strings.Trim(string(value), `"`)})
	}
	return list
}

// numbers lists numbers, the first of them where they are many.
func numbers(list []uint64) string {
	const most = 20
	var words []string
	for i, n := range list {
		if i == most {
			words = append(words, fmt.Sprintf("… %d in all", len(list)))
			break
		}
		words = append(words, fmt.Sprint(n))
	}
	return strings.Join(words, " ")
}

// firstLine leaves out what follows, such as the stack of a panic.
func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
