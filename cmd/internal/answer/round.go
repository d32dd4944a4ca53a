package answer

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/cmd/internal/human"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
)

// Round describes the current or last round of a job with rounds. It returns "" if the job has no rounds, or before
// round 1.
func Round(s client.Status) string {
	if s.Round == 0 {
		return ""
	}
	text := fmt.Sprintf("%s of at most %s", human.Count(s.Round), human.Count(s.Rounds))
	if n := len(s.FinishedRounds); n > 0 {
		if measure := Measure(s.Measure, s.FinishedRounds[n-1]); measure != "" {
			text += ", " + measure
		}
		text += ", " + human.Duration(perRound(s.FinishedRounds)) + " a round"
	}
	if s.TimeUp {
		text += "; " + timeUp
	}
	return text
}

// Measure describes the number that a finished round has for people. It returns "" if the job has no such number.
func Measure(name string, r jobs.Rounded) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf("%s %s after round %d", name, strconv.FormatFloat(r.Value, 'g', 6, 64), r.Round)
}

// perRound returns the mean time of rounds.
func perRound(list []jobs.Rounded) (mean time.Duration) {
	for _, r := range list {
		mean += r.Took
	}
	return mean / time.Duration(len(list))
}

const timeUp = "the time was up: another run may end elsewhere"

// roundsRow writes how many rounds a job has run, unless it has no rounds.
func roundsRow(w io.Writer, rounds uint64, stopped bool) {
	if rounds == 0 {
		return
	}
	text := human.Count(rounds)
	if stopped {
		text += "; " + timeUp
	}
	console.Row(w, "rounds", text)
}
