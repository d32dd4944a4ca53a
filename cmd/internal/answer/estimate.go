package answer

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/cmd/internal/human"
	"github.com/bellwether-compute/bellwether/jobs/client"
)

// Estimate describes the last estimate of a job, or returns "" if the job has no estimate.
func Estimate(list []client.Estimated) string {
	if len(list) == 0 {
		return ""
	}
	last := list[len(list)-1]
	if string(last.Value) == "null" {
		return ""
	}
	return fmt.Sprintf("%s from %s partitions", value(last.Value), human.Count(last.Partitions))
}

// value returns the JSON of an estimate as text. An interval is written with six significant digits.
func value(estimate json.RawMessage) string {
	var interval struct{ Value, Low, High *float64 }
	if json.Unmarshal(estimate, &interval) != nil || interval.Value == nil {
		return human.Plain(string(estimate))
	}
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
	text := number(*interval.Value)
	if interval.Low != nil && interval.High != nil {
		text += fmt.Sprintf(" (%s to %s)", number(*interval.Low), number(*interval.High))
	}
	return text
}

// StoppedRow writes the row of a job whose first partitions suffice.
func StoppedRow(w io.Writer, s *client.Stopped) {
	if s == nil {
		return
	}
	text := fmt.Sprintf("after %s partitions, rung %d", human.Count(s.At), s.Rung)
	if s.Timed {
		text += ", because the time was up: another run may stop elsewhere"
	}
	console.Row(w, "stopped", text)
}
