package cli

import (
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
)

func TestDescribeMissing(t *testing.T) {
	same := earlierJob{known: true, compares: true}
	for want, c := range map[string]struct {
		missing jobs.Missing
		earlier earlierJob
	}{
		"0 of 11,680": {jobs.Missing{}, earlierJob{}},
		"2 of 11,680; nothing is known of an earlier job":                                             {jobs.Missing{Partitions: 2}, earlierJob{}},
		"2 of 11,680; which part of the input has changed is unknown":                                 {jobs.Missing{Partitions: 2}, earlierJob{known: true}},
		"2 of 11,680; objects: 1 new, 0 changed (b.csv)":                                              {jobs.Missing{Partitions: 2, Compared: true, New: 1, Names: []string{"b.csv"}}, same},
		"2 of 11,680; objects: 1 new, 2 changed (a, b and 1 more)":                                    {jobs.Missing{Partitions: 2, Compared: true, New: 1, Changed: 2, Names: []string{"a", "b"}}, same},
		"2 of 11,680; differs from the most similar job that is known: version (was 1), parameter by": {jobs.Missing{Partitions: 2}, earlierJob{known: true, differs: []string{"version (was 1)", "parameter by"}}},
		"2 of 11,680; objects: 0 new, 0 changed; 2 whose input is as before, but which are not kept":  {jobs.Missing{Partitions: 2, Compared: true, Unexplained: 2}, same},
		"2 of 11,680; objects: 0 new, 0 changed; 2 whose input may still change without a trace":      {jobs.Missing{Partitions: 2, Compared: true, Uncertain: 2}, same},
	} {
		if got := describeMissing(c.missing, 11_680, c.earlier); got != want {
			t.Errorf("%+v: got %q, want %q", c, got, want)
		}
	}
}
