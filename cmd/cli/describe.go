package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/cmd/internal/human"
	"github.com/bellwether-compute/bellwether/jobs/client"
)

// description is the JSON that the command describe prints.
type description struct {
	jobStatus
	Events []event `json:"events"`
}

func (a *app) describeCommand() *cobra.Command {
	var price priceFlag
	cmd := &cobra.Command{
		Use:   "describe ID",
		Short: "Show all that is known of a job",
		Long: `Show all that is known of a job, for people: its state as 'status' shows it, its options and
parameters, the whole text of its errors, and its last events.`,
		Args: console.WantArgs(1, 1),
		RunE: a.OnJob(func(ctx context.Context, c *client.Client, id string) error {
			if err := price.check(); err != nil {
				return err
			}
			s, err := c.Status(ctx, id)
			if err != nil {
				return err
			}
			events, err := a.readEvents(ctx, c, id)
			if err != nil {
				return err
			}
			if isOutdated(s) {
				a.Note("%s: this is what the last checkpoint says", noLeader)
			}
			return a.Show(description{newJobStatus(s, price), events}, func(w io.Writer) { describeTable(w, s, price, events) })
		}),
		ValidArgsFunction: a.CompleteID,
	}
	price.register(cmd)
	return cmd
}

// maxDescribed is the number of events that the command describe shows.
const maxDescribed = 20

func describeTable(w io.Writer, s client.Status, price priceFlag, events []event) {
	statusTable(w, s, price)
	section := func(name string) { fmt.Fprintf(w, "\n%s\n", name) }
	section("Options")
	console.Row(w, "  priority", s.Priority)
	console.Row(w, "  max attempts", s.MaxAttempts)
	console.Row(w, "  max skipped", human.Count(s.MaxSkipped))
	for _, limit := range []struct {
		name string
		d    time.Duration
	}{{"timeout", s.Timeout}, {"partition timeout", s.PartitionTimeout}, {"stop after", s.StopAfter}} {
		if limit.d > 0 {
			console.Row(w, "  "+limit.name, limit.d)
		}
	}
	console.Row(w, "  strict builds", s.StrictBuilds)
	section("Parameters")
	parameterRows(w, s.Params)
	if s.Error != "" {
		section("Error")
		textRows(w, s.Error)
	}
	for _, e := range s.Errors {
		section(fmt.Sprintf("Failures: %s, such as partition %d", human.Count(e.Count), e.Partition))
		textRows(w, e.Text)
	}
	if more := len(events) - maxDescribed; more > 0 {
		section(fmt.Sprintf("Events, without %s earlier ones", human.Count(more)))
		events = events[more:]
	} else {
		section("Events")
	}
	for _, e := range events {
		cells := e.cells()
		console.Row(w, append([]any{"  " + fmt.Sprint(cells[0])}, cells[1:]...)...)
	}
}

// parameterRows writes a row for each parameter, in the order of the JSON.
func parameterRows(w io.Writer, params []byte) {
	in := json.NewDecoder(bytes.NewReader(params))
	if _, err := in.Token(); err != nil {
		return
	}
	for in.More() {
		name, err := in.Token()
		var value json.RawMessage
		if err != nil || in.Decode(&value) != nil {
			return
		}
		console.Row(w, "  "+fmt.Sprint(name), string(value))
	}
}

// textRows writes a text of several lines.
func textRows(w io.Writer, text string) {
	for line := range bytes.Lines([]byte(text)) {
		console.Row(w, "  "+string(bytes.TrimRight(line, "\r\n")))
	}
}
