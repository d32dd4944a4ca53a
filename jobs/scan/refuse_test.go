package scan

import (
	"errors"
	"testing"
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
		{more, Params{Having: "count > 1"}, nil},
		{more[:len(more)-1], Params{}, errStates},
	} {
		if err := refuse(test.params, &table{runs: []run{test.run}}); !errors.Is(err, test.want) {
			t.Errorf("%d bytes of groups, limit %d, output %q: got %v, want %v", len(test.run), test.params.Limit, test.params.Output, err, test.want)
		}
	}
}
