package ledger

import (
	"cmp"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

const (
	// maxReason is the maximum size in bytes of the reason why a partition was skipped.
	maxReason = 1 << 10
	// maxReasons is the maximum size in bytes of all reasons of a job, which each checkpoint contains. The
	// partitions whose reasons do not fit are skipped without a reason.
	maxReasons = 256 << 10
	// reasonOverhead is about the number of bytes that a reason takes in a checkpoint beside its text.
	reasonOverhead = 16
)

// skipReasons are the reasons why partitions of a job were skipped.
type skipReasons struct {
	list  sortedList[skipReason]
	bytes int
}

type skipReason struct {
	partition uint64
	text      string
}

func (r skipReason) Compare(s skipReason) int { return cmp.Compare(r.partition, s.partition) }
func (r skipReason) bytes() int               { return len(r.text) + reasonOverhead }

// add adds the reason of a partition, unless the reasons would become too large.
func (r *skipReasons) add(partition uint64, text string) {
	reason := skipReason{partition, abridge(text, maxReason)}
	if r.bytes+reason.bytes() <= maxReasons && r.list.find(reason) == nil {
		r.bytes += reason.bytes()
		r.list.insert(reason)
	}
}

// remove removes the reasons of the partitions of a span.
func (r *skipReasons) remove(span engine.Span) {
	before := r.list.len
	if before == 0 {
		return
	}
	r.list.removeRange(skipReason{partition: span.Lo}, skipReason{partition: span.Hi})
	if r.list.len == before {
		return
	}
	r.bytes = 0
	for reason := range r.list.from(skipReason{}) {
		r.bytes += reason.bytes()
	}
}

// sorted returns the reasons in the order of their partitions.
func (r *skipReasons) sorted() (list []store.ErrorText) {
	for reason := range r.list.from(skipReason{}) {
		list = append(list, store.ErrorText{Text: reason.text, Count: 1, Partition: reason.partition})
	}
	return list
}

// abridge shortens a text to a number of bytes. It keeps the beginning, which says what has failed, and the
// end, which has the last lines that a program wrote.
func abridge(text string, most int) string {
	const gap = "\n…\n"
	if len(text) > most {
		half := (most - len(gap)) / 2
		text = text[:half] + gap + text[len(text)-half:]
	}
	return strings.ToValidUTF8(text, "")
}
