package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/bellwether-compute/bellwether/jobs/client"
)

// outcome is the output of the commands "run", "submit --wait" and "result" for a job.
type outcome struct {
	ID         string          `json:"id"`
	Job        string          `json:"job"`
	Version    string          `json:"version"`
	State      client.State    `json:"state"`
	Partitions uint64          `json:"partitions"`
	Result     json.RawMessage `json:"result"`   // result of the job; null unless the job has completed
	SHA256     string          `json:"sha256"`   // SHA-256 of the printed result
	Builds     []string        `json:"builds"`   // builds of the workers that computed parts of the result
	Epochs     []uint64        `json:"epochs"`   // epochs of the job's leaders
	Executed   uint64          `json:"executed"` // number of reported executions of partitions, including repeated executions
	Repeated   uint64          `json:"repeated"` // number of repeated executions of partitions
	Skipped    []uint64        `json:"skipped"`  // partitions that are not in the result, because they were skipped
	Error      string          `json:"error"`
	Submitted  *time.Time      `json:"submitted"`
	Started    *time.Time      `json:"started"`
	Finished   *time.Time      `json:"finished"`
}

func newOutcome(o client.Outcome) outcome {
	return outcome{
		ID: o.ID, Job: o.Job, Version: o.Version,
		State: o.State, Partitions: o.Partitions, Result: o.Result, SHA256: o.SHA256, Epochs: listed(o.Epochs),
		Executed: o.Executed, Repeated: o.Repeated, Skipped: listed(o.Skipped), Builds: append([]string{}, o.Builds...), Error: o.Error,
		Submitted: timestamp(o.Submitted), Started: timestamp(o.Started), Finished: timestamp(o.Finished),
	}
}

// listed returns a copy of numbers that is never nil, so that JSON prints an empty list as [].
func listed(numbers []uint64) []uint64 { return append([]uint64{}, numbers...) }

// showOutcome prints the outcome of a job that has ended, and returns an error unless the
// job completed.
func (a *app) showOutcome(o outcome) error {
	if err := a.printOutcome(o); err != nil {
		return err
	}
	return client.Outcome{Status: client.Status{Spec: client.Spec{ID: o.ID}, State: o.State, Error: o.Error}}.Err()
}

func (a *app) printOutcome(o outcome) error {
	if a.output != outputCSV {
		return a.show(o, o.table)
	}
	if len(o.Result) == 0 {
		return nil // only failed jobs have an error text
	}
	t, ok := tableOf(o.Result)
	if !ok {
		return usagef("-o csv: the result of job %s is no table: want -o table or -o json", o.Job)
	}
	return t.writeCSV(a.Out)
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
	if len(o.Builds) > 1 {
		row(w, "builds", mixed(o.Builds))
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
	t, isTable := tableOf(o.Result)
	if isTable {
		for _, f := range fields(o.Result) {
			if f.name != "columns" && f.name != "rows" {
				row(w, strings.ReplaceAll(f.name, "_", " "), f.value)
			}
		}
		fmt.Fprintln(w)
		t.write(w)
		return
	}
	fmt.Fprintln(w)
	for _, f := range fields(o.Result) {
		row(w, f.name, f.value)
	}
}

type field struct{ name, value string }

// fields returns the members of a JSON object in the order of the text. fields returns a single
// field if the result is not an object.
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

// mixed returns a warning if workers of several builds computed the job.
func mixed(builds []string) string {
	return strings.Join(builds, "; ") + ": floats may differ in their last bits from those of another run"
}

// numbers formats a list of numbers; it shortens a long list.
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

// firstLine returns the first line of s. The first line of a panic's error omits the stack trace.
func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
