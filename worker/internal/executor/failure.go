package executor

import (
	"errors"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// failure converts the error of a partition to its form in a report.
func failure(partition uint64, err error) wire.Failure {
	var at *jobs.PartitionError
	if errors.As(err, &at) {
		partition, err = at.Partition, at.Err // partition and err are separate fields of the reported failure
	}
	return wire.Failure{Partition: partition, Error: bounded(err.Error()), Permanent: jobs.IsPermanent(err)}
}

// bounded truncates a text to the maximum length in a message. It keeps the beginning, which
// contains the value of a panic and its innermost calls.
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

// logPanic logs the stack of a task's first panic. The leader logs all other failures.
func (t *task) logPanic(partition uint64, err error) {
	var p *jobs.PanicError
	if errors.As(err, &p) {
		t.panics.Do(func() {
			t.cfg.Logger.Error("A job's code panicked; later panics of this job are reported and not logged here",
				"job", t.opening.Job, "partition", partition, "error", firstLine(p), "stack", string(p.Stack))
		})
	}
}

// exhaustedPause is how long a slot rests after a partition failed because the process has no more
// file descriptors, memory or processes. Without the pause, the worker would fail the partitions of
// its spans as fast as it can, although another worker can run them.
const exhaustedPause = 2 * time.Second

// isExhausted reports whether a partition failed because of a limit of this process or machine.
func isExhausted(err error) bool {
	for _, limit := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EAGAIN} {
		if errors.Is(err, limit) {
			return true
		}
	}
	return false
}

// pauseExhausted logs the first such failure of the job, and waits until the slot may continue.
func (t *task) pauseExhausted(err error) {
	t.exhausted.Do(func() {
		t.cfg.Logger.Error("This worker lacks file descriptors, memory or processes, its slots pause after each failure",
			"job", t.opening.Job, "pause", exhaustedPause, "error", firstLine(err))
	})
	select {
	case <-t.ctx.Done():
	case <-time.After(exhaustedPause):
	}
}
