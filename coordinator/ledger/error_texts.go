package ledger

import (
	"cmp"
	"slices"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

const (
	// maxErrorTexts is how many different errors the ledger keeps for one job. Errors that
	// name their partition all differ, so their number has no other limit.
	maxErrorTexts = 10
	// maxErrorText is how many bytes of an error the ledger keeps. The text of a panic is
	// followed by its stack, whose first lines are the useful ones.
	maxErrorText = 1 << 10
)

// errorTexts counts the failed attempts of a job by their error. Each checkpoint of the job
// contains the errors, so their number and size are bounded.
type errorTexts struct {
	list   []store.ErrorText // by the first line of the text, in the order of arrival
	others uint64            // failed attempts with errors that are not in the list
}

// add counts failed attempts. If the list is full, a new error replaces the least
// frequent error, so the list always contains the newest error and the frequent ones.
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

// resume adds the errors in a manifest.
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

// firstLine distinguishes errors, because the stacks of one panic differ in addresses
// and numbers of goroutines.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
