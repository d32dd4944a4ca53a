package executor

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// failure converts the error of a partition to the form that a report carries.
func failure(partition uint64, err error) wire.Failure {
	var at *jobs.PartitionError
	if errors.As(err, &at) {
		partition, err = at.Partition, at.Err // the failure has the partition in its own field
	}
	return wire.Failure{Partition: partition, Error: bounded(err.Error()), Permanent: jobs.IsPermanent(err)}
}

// bounded cuts a text to the length that a message may carry. bounded keeps the beginning
// of the text, which has a panic's value and innermost calls.
func bounded(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= wire.MaxErrorText {
		return text
	}
	end := wire.MaxErrorText
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// firstLine returns the first line of an error, for the log.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return bounded(line)
}

// logPanic logs the stack of a task's first panic. The leader logs other failures.
func (t *task) logPanic(partition uint64, err error) {
	var p *jobs.PanicError
	if errors.As(err, &p) {
		t.panics.Do(func() {
			t.w.cfg.Logger.Error("A job's code panicked; later panics of this job are reported and not logged here",
				"job", t.opening.Job, "partition", partition, "error", firstLine(p), "stack", string(p.Stack))
		})
	}
}
