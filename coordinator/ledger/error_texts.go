package ledger

import (
	"cmp"
	"slices"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

const (
	// maxErrorTexts is the largest number of different errors that the ledger keeps for one job. It
	// is needed because errors that contain a partition's number are all different.
	maxErrorTexts = 10
	// maxErrorText is the maximum size in bytes of an error that the ledger keeps. A panic's text
	// ends with its stack, of which the first lines are the most useful.
	maxErrorText = 1 << 10
)

// errorTexts counts the failed attempts of a job by their error. Each checkpoint of the job
// contains the job's errors, so their number and size are bounded.
type errorTexts struct {
	list   []store.ErrorText // errors with different first lines, in the order of arrival
	others uint64            // number of failed attempts with errors that are not in the list
}

// add counts failed attempts with the same error. When the list is full, a new error replaces the
// least frequent error, so the list contains the newest error and the frequent errors.
func (e *errorTexts) add(text string, partition, count uint64) {
	text = strings.ToValidUTF8(text[:min(len(text), maxErrorText)], "")
	line := firstLine(text)
	i := slices.IndexFunc(e.list, func(t store.ErrorText) bool { return firstLine(t.Text) == line })
	if i >= 0 {
		e.list[i].Count += count
		e.list[i].Partition = partition
		return
	}
	if len(e.list) == maxErrorTexts {
		rarest := 0
		for i, t := range e.list {
			if t.Count < e.list[rarest].Count {
				rarest = i
			}
		}
		e.others += e.list[rarest].Count
		e.list = slices.Delete(e.list, rarest, rarest+1)
	}
	e.list = append(e.list, store.ErrorText{Text: text, Count: count, Partition: partition})
}

// resume restores the errors from a manifest.
func (e *errorTexts) resume(list []store.ErrorText, others uint64) {
	for _, t := range list {
		e.add(t.Text, t.Partition, t.Count)
	}
	e.others += others
}

// sorted returns the errors, the most frequent first.
func (e *errorTexts) sorted() []store.ErrorText {
	list := slices.Clone(e.list)
	slices.SortStableFunc(list, func(a, b store.ErrorText) int { return cmp.Compare(b.Count, a.Count) })
	return list
}

// firstLine returns the first line of an error, by which errors are distinguished. Further lines of
// an error may differ, because stacks of the same panic contain different addresses and goroutine
// numbers.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
