package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

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

func TestStatusOfMergesOfLargePartials(t *testing.T) {
	s := client.Status{
		Spec: client.Spec{ID: "x", Params: []byte(`{}`)}, State: client.Running, Partitions: 10, Done: 10, MergesLeft: 3,
		Live: &client.Live{
			HeldBytes: 4e9, MergedBytes: 7e9, MergeRate: 5e8, MergeLeft: 3e9,
			Merges: []client.Merge{{Node: "1/0", Worker: "w1", Bytes: 2e9, For: 1500 * time.Millisecond}},
		},
	}
	var table strings.Builder
	statusTable(&table, s)
	for _, want := range []string{
		"stage\tmerging, 3 merges left: 7.0 GB merged, 4.0 GB held, merging 500 MB/s\n",
		"merge\tnode 1/0 on worker w1, 2.0 GB, for 1.5s\n",
		"time left\t6s\n",
	} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &table)
		}
	}
	data, err := json.Marshal(newJobStatus(s))
	for _, want := range []string{
		`"seconds_left":6,"held_bytes":4000000000,"merged_bytes":7000000000,"merge_rate":500000000,`,
		`"merges":[{"node":"1/0","worker":"w1","bytes":2000000000,"seconds":1.5}]`,
	} {
		if err != nil || !strings.Contains(string(data), want) {
			t.Errorf("%s, %v, want %s", data, err, want)
		}
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
