// Package answer has the answers that several commands print, as JSON and as tables.
package answer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/cmd/internal/human"
	"github.com/bellwether-compute/bellwether/jobs/client"
)

// Outcome is the output of the commands "run", "submit --wait" and "result" for a job.
type Outcome struct {
	ID         string          `json:"id"`
	Job        string          `json:"job"`
	Version    string          `json:"version"`
	State      client.State    `json:"state"`
	Partitions uint64          `json:"partitions"`        // number of partitions, in each round of a job with rounds
	Rounds     uint64          `json:"rounds,omitempty"`  // number of rounds that have run; absent for a job without rounds
	TimeUp     bool            `json:"time_up,omitempty"` // the job with rounds has ended because its time was up
	Result     json.RawMessage `json:"result"`            // result of the job; null unless the job has completed
	SHA256     string          `json:"sha256"`            // SHA-256 of the printed result
	Builds     []string        `json:"builds"`            // builds of the workers that computed parts of the result
	Epochs     []uint64        `json:"epochs"`            // epochs of the job's leaders
	Executed   uint64          `json:"executed"`          // number of reported executions of partitions, including repeated executions
	Repeated   uint64          `json:"repeated"`          // number of repeated executions of partitions
	Stopped    *client.Stopped `json:"stopped,omitempty"` // the prefix that sufficed; absent if the result contains all partitions
	Skipped    []uint64        `json:"skipped"`           // partitions that are not in the result, because they were skipped
	Error      string          `json:"error"`
	Submitted  *time.Time      `json:"submitted"`
	Started    *time.Time      `json:"started"`
	Finished   *time.Time      `json:"finished"`
	Reuse      *Reuse          `json:"reuse,omitempty"` // only with --reuse

	// SlotSeconds and LostSeconds are those of [client.Status]; absent for a run in one process.
	SlotSeconds float64  `json:"slot_seconds,omitempty"`
	LostSeconds float64  `json:"lost_seconds,omitempty"`
	Cost        *float64 `json:"cost,omitempty"` // price of SlotSeconds; only with --price
	price       Price
	rest        [2]string // see Rest
}

// Rest returns the command that adds to the result what a completed job has skipped, and what this command does. The command is
// empty if the job has not completed or has skipped nothing.
func Rest(s client.Status) (command, does string) {
	switch {
	case s.Completable:
		return "retry", "computes only these"
	case s.State == client.Completed && len(s.Skipped) > 0:
		return "resubmit", "computes all partitions again, with another -p output if any"
	}
	return "", ""
}

// WithPrice returns the outcome with what the time of slots has cost.
func (o Outcome) WithPrice(p Price) Outcome {
	o.price, o.Cost = p, p.Of(o.SlotSeconds)
	return o
}

// Reuse describes what a job has reused and kept.
type Reuse struct {
	client.Reuse
	*Kept
}

// Kept describes what a run in this process has kept for later runs. The workers of a cluster keep partials after the
// job's end.
type Kept struct {
	Partials uint64 `json:"kept"`
	Bytes    int64  `json:"kept_bytes"`
}

// ReuseRows prints what a job has reused, or nothing if r is nil.
func ReuseRows(w io.Writer, r *client.Reuse) {
	if r == nil {
		return
	}
	reused := human.Count(r.Partitions)
	if r.Partitions > 0 {
		reused += fmt.Sprintf(", %.3g s of computing saved", r.SavedSeconds)
	}
	if len(r.From) > 0 {
		reused += ", from " + firstNames(r.From)
	}
	console.Row(w, "reused", reused)
	if r.Lost > 0 {
		console.Row(w, "lost", fmt.Sprintf("%s packs of kept partials, computed again", human.Count(r.Lost)))
	}
}

// firstNames returns the first three of the IDs of jobs, and the number of the others.
func firstNames(ids []string) string {
	const most = 3
	if more := len(ids) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(ids[:most], ", "), more)
	}
	return strings.Join(ids, ", ")
}

func (r *Reuse) table(w io.Writer) {
	ReuseRows(w, &r.Reuse)
	if r.Kept != nil {
		console.Row(w, "kept", fmt.Sprintf("%s partials, %s", human.Count(r.Partials), human.Size(r.Bytes)))
	}
}

func NewOutcome(o client.Outcome) Outcome {
	var reuse *Reuse
	if o.Reuse != nil {
		reuse = &Reuse{Reuse: *o.Reuse}
	}
	command, does := Rest(o.Status)
	return Outcome{
		rest:  [2]string{command, does},
		Reuse: reuse, SlotSeconds: o.SlotSeconds, LostSeconds: o.LostSeconds,
		ID: o.ID, Job: o.Job, Version: o.Version,
		State: o.State, Partitions: o.Partitions, Rounds: o.Round, TimeUp: o.TimeUp, Result: o.Result, SHA256: o.SHA256, Epochs: Listed(o.Epochs),
		Executed: o.Executed, Repeated: o.Repeated, Stopped: o.Stopped, Skipped: Listed(o.Skipped), Builds: Listed(o.Builds), Error: o.Error,
		Submitted: Timestamp(o.Submitted), Started: Timestamp(o.Started), Finished: Timestamp(o.Finished),
	}
}

// Listed returns a copy of list that is never nil, so that JSON prints an empty list as [].
func Listed[T any](list []T) []T { return append([]T{}, list...) }

// Show prints the outcome of a job that has ended, and returns an error unless the
// job completed.
func (o Outcome) Show(a *console.App) error {
	if err := o.print(a); err != nil {
		return err
	}
	if command, does := o.rest[0], o.rest[1]; command != "" {
		a.Note("partitions were skipped: '%s %s %s' %s", a.Name, command, o.ID, does)
	}
	return o.Err()
}

// Err returns an error unless the job completed.
func (o Outcome) Err() error {
	return client.Outcome{Status: client.Status{Spec: client.Spec{ID: o.ID}, State: o.State, Error: o.Error}}.Err()
}

func (o Outcome) print(a *console.App) error {
	switch {
	case a.Output == console.OutputJSON:
		return a.Show(o, nil)
	case a.Output != console.OutputCSV:
		if err := a.Show(o, o.Table); err != nil {
			return err
		}
		return writeText(a.Out, textOf(o.Result))
	}
	if len(o.Result) == 0 {
		return nil // only failed jobs have an error text
	}
	t, ok := tableOf(o.Result)
	if !ok {
		return console.Usagef("-o csv: the result of job %s is no table: want -o table or -o json", o.Job)
	}
	if note := t.omitted(); note != "" {
		a.Note("%s", note)
	}
	return t.writeCSV(a.Out)
}

// Table prints an outcome without its error, which the command returns.
func (o Outcome) Table(w io.Writer) {
	console.Row(w, "id", o.ID)
	console.Row(w, "job", o.Job+" "+o.Version)
	console.Row(w, "state", console.State(o.State))
	console.Row(w, "partitions", human.Count(o.Partitions))
	roundsRow(w, o.Rounds, o.TimeUp)
	StoppedRow(w, o.Stopped)
	console.Row(w, "executed", fmt.Sprintf("%s, %s of them repeated", human.Count(o.Executed), human.Count(o.Repeated)))
	if o.Reuse != nil {
		o.Reuse.table(w)
	}
	CostRows(w, o.SlotSeconds, o.LostSeconds, o.price)
	if len(o.Skipped) > 0 {
		console.Row(w, "skipped", Numbers(o.Skipped))
	}
	if len(o.Epochs) > 0 {
		console.Row(w, "epochs", Numbers(o.Epochs))
	}
	if len(o.Builds) > 1 {
		console.Row(w, "builds", Mixed(o.Builds))
	}
	if o.Started != nil && o.Finished != nil {
		console.Row(w, "took", human.Duration(o.Finished.Sub(*o.Started)))
	}
	if o.SHA256 != "" {
		console.Row(w, "sha256", o.SHA256)
	}
	if len(o.Result) == 0 {
		return
	}
	t, isTable := tableOf(o.Result)
	if isTable {
		elsewhere := false // the rows are in objects
		for _, f := range fields(o.Result) {
			elsewhere = elsewhere || f.name == "output"
			if f.name != "columns" && f.name != "rows" {
				console.Row(w, strings.ReplaceAll(f.name, "_", " "), f.value)
			}
		}
		if !elsewhere || len(t.Rows) > 0 {
			fmt.Fprintln(w)
			t.write(w)
		}
		return
	}
	fmt.Fprintln(w)
	for _, f := range fields(o.Result) {
		if f.name != textMember || textOf(o.Result) == "" {
			console.Row(w, f.name, f.value)
		}
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

// Mixed returns a warning if workers of several builds computed the job.
func Mixed(builds []string) string {
	return strings.Join(builds, "; ") + ": floats may differ in their last bits from those of another run"
}

// Numbers formats a list of Numbers; it shortens a long list.
func Numbers(list []uint64) string {
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

// Timestamp returns a pointer to t for JSON, or nil if t is the zero time.
func Timestamp(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
