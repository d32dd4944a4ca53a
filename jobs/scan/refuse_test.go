package scan

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
)

func TestRefuse(t *testing.T) {
	var most run
	for range maxResultGroups {
		most = appendText(appendText(most, []byte("k")), []byte("s"))
	}
	more := appendText(appendText(most[:len(most):len(most)], []byte("k")), []byte("s"))
	for _, test := range []struct {
		run    run
		params Params
		want   error
	}{
		{most, Params{}, nil},
		{more, Params{}, errManyGroups},
		{more, Params{Limit: maxResultGroups + 1}, errManyGroups},
		{more, Params{Limit: maxResultGroups}, nil},
		{more, Params{Output: "folder"}, nil},
		{more[:len(more)-1], Params{}, errStates},
	} {
		if err := refuse(test.params, &table{runs: []run{test.run}}); !errors.Is(err, test.want) {
			t.Errorf("%d bytes of groups, limit %d, output %q: got %v, want %v", len(test.run), test.params.Limit, test.params.Output, err, test.want)
		}
	}
}

// TestRefusesManyRows runs queries on an input whose first quarter has more rows than a result may have. Such a
// query fails before it has read the second half, unless it has a limit.
func TestRefusesManyRows(t *testing.T) {
	const line, lines = "1234567\n", 4 * (maxRows + 1000)
	name := write(t, "keys.csv", "k\n"+strings.Repeat(line, lines))
	const tooMany = "the result has more than 100000 rows: give the parameter limit, where or aggregate"
	for query, want := range map[string]string{
		"columns=k":                    tooMany,
		"columns=k;order=k":            tooMany,
		"columns=k;limit=200000":       tooMany,
		"columns=k;order=k;limit=3":    "",
		"columns=k;where=k == 'other'": "",
	} {
		job := jobs.MustNew(Definition)
		params, err := job.Params(nil, append(strings.Split(query, ";"), "input="+name, fmt.Sprint("block=", lines*len(line)/16))...)
		if err != nil {
			t.Fatal(err)
		}
		var done, all uint64
		_, err = jobs.Local{Grant: files, Slots: 1, Progress: func(d, a uint64) { done, all = d, a }}.Run(t.Context(), job, params)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", query, err)
		case want != "" && (err == nil || !strings.HasSuffix(err.Error(), want) || done > all/2):
			t.Errorf("%s: got %v after %d of %d partitions, want the error %q in the first half", query, err, done, all, want)
		}
	}
}
