package executor

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// failure is what is reported of an error at a partition.
func failure(partition uint64, err error) wire.Failure {
	var at *jobs.PartitionError
	if errors.As(err, &at) {
		err = at.Err // the partition is told beside it
	}
	return wire.Failure{Partition: partition, Error: bounded(err.Error()), Permanent: jobs.IsPermanent(err)}
}

// bounded cuts a text to the length that a message may carry. It keeps the
// beginning, where a panic has its value and the innermost calls.
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

// firstLine is an error for a log line.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return bounded(line)
}

// logPanic logs the stack of a task's first panic. Other failures are the
// leader's to log.
func (t *task) logPanic(partition uint64, err error) {
	var p *jobs.PanicError
	if errors.As(err, &p) {
		t.panics.Do(func() {
			t.w.cfg.Logger.Error("A job's code panicked; later panics of this job are reported without a line here",
				"job", t.opening.Job, "partition", partition, "error", firstLine(p), "stack", string(p.Stack))
		})
	}
}
