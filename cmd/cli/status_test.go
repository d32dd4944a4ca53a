package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/client"
)

func TestStatusOfAMergingJob(t *testing.T) {
	s := client.Status{
		Spec: client.Spec{ID: "x", Params: []byte(`{}`)}, State: client.Running, Partitions: 10, Done: 10, MergesLeft: 3,
		Live: &client.Live{Rate: 0},
	}
	var table strings.Builder
	statusTable(&table, s)
	if got := table.String(); !strings.Contains(got, "stage\tmerging, 3 merges left\n") || strings.Contains(got, "rate") || strings.Contains(got, "time left") {
		t.Errorf("got\n%s", got)
	}
	data, err := json.Marshal(newJobStatus(s))
	if want := `"stage":"merging","merges_left":3,`; err != nil || !strings.Contains(string(data), want) || !strings.Contains(string(data), `"seconds_left":-1`) {
		t.Errorf("%s, %v, want %s", data, err, want)
	}
}

func TestStatusShowsErrors(t *testing.T) {
	s := client.Status{
		Spec: client.Spec{ID: "x", Params: []byte(`{}`)}, State: client.Running, Partitions: 10,
		Errors: []client.ErrorText{{Text: "no disk\nstack", Count: 1200, Partition: 7}}, OtherErrors: 3,
	}
	var table strings.Builder
	statusTable(&table, s)
	for _, want := range []string{"failures\t1,200, such as partition 7: no disk\n", "failures\t3 with other errors\n"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &table)
		}
	}
	data, err := json.Marshal(newJobStatus(s))
	if want := `"errors":[{"error":"no disk\nstack","count":1200,"partition":7}],"other_errors":3,`; err != nil || !strings.Contains(string(data), want) {
		t.Errorf("%s, %v, want %s", data, err, want)
	}
}
