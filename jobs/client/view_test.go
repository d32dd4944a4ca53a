package client

import "testing"

func TestQuerySelects(t *testing.T) {
	j := Summary{ID: "1k8c", Job: "scan", Name: "Nightly", Labels: map[string]string{"team": "ads"}, State: Failed, Trouble: "no space left"}
	for _, test := range []struct {
		q    Query
		want bool
	}{
		{Query{Show: ShowAll}, true},
		{Query{Show: ShowFailed}, true},
		{Query{Show: ShowEnded}, true},
		{Query{Show: ShowActive}, false},
		{Query{Show: ShowAll, Find: "nightly"}, true},
		{Query{Show: ShowAll, Find: "TEAM=ads"}, true},
		{Query{Show: ShowAll, Find: "space"}, true},
		{Query{Show: ShowAll, Find: "k8"}, true},
		{Query{Show: ShowAll, Find: "failed"}, true},
		{Query{Show: ShowAll, Find: "scan\nNightly x"}, false},
		{Query{Show: ShowActive, Find: "nightly"}, false},
	} {
		if got := test.q.selects(j); got != test.want {
			t.Errorf("%+v: got %t", test.q, got)
		}
	}
	if (Query{Show: ShowFailed}).selects(Summary{State: Running}) || (Query{Show: ShowEnded}).selects(Summary{State: Queued}) {
		t.Error("a job that has not ended is selected")
	}
}
