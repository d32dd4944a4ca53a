package cli

import (
	"encoding/json"
	"errors"
	"reflect"
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
	statusTable(&table, s, 0)
	if got := table.String(); !strings.Contains(got, "stage\tmerging, 3 merges left\n") || strings.Contains(got, "rate") || strings.Contains(got, "time left") {
		t.Errorf("got\n%s", got)
	}
	data, err := json.Marshal(newJobStatus(s, 0))
	if want := `"merges_left":3,`; err != nil || !strings.Contains(string(data), want) || !strings.Contains(string(data), `"stage":"merging",`) || !strings.Contains(string(data), `"seconds_left":-1`) {
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
	statusTable(&table, s, 0)
	for _, want := range []string{
		"stage\tmerging, 3 merges left: 7.0 GB merged, 4.0 GB held, merging 500 MB/s\n",
		"merge\tnode 1/0 on worker w1, 2.0 GB, for 1.5s\n",
		"time left\t6s\n",
	} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &table)
		}
	}
	data, err := json.Marshal(newJobStatus(s, 0))
	for _, want := range []string{
		`"held_bytes":4000000000,"merged_bytes":7000000000,"merge_rate":500000000,`, `"seconds_left":6,`,
		`"merges":[{"node":"1/0","worker":"w1","bytes":2000000000,"seconds":1.5}]`,
	} {
		if err != nil || !strings.Contains(string(data), want) {
			t.Errorf("%s, %v, want %s", data, err, want)
		}
	}
}

func TestStatusShowsSkippedPartitions(t *testing.T) {
	var table strings.Builder
	statusTable(&table, client.Status{State: client.Completed, Partitions: 400, Done: 400, Skipped: []uint64{3, 5}}, 0)
	if want := "partitions\t400, 400 done (100%), of which 2 skipped\n"; !strings.Contains(table.String(), want) {
		t.Errorf("%q is missing in\n%s", want, &table)
	}
}

// status and list propose a retry only for a job of which it is accepted.
func TestRestOfASkippingJob(t *testing.T) {
	s := client.Status{State: client.Completed, Partitions: 400, Done: 400, Skipped: []uint64{3, 5}}
	for completable, want := range map[bool]string{true: "'retry' computes only these", false: "'resubmit' computes all partitions again, with another -p output if any"} {
		s.Completable = completable
		var table strings.Builder
		statusTable(&table, s, 0)
		if !strings.Contains(table.String(), "left\t"+want+"\n") {
			t.Errorf("status: %q is missing in\n%s", want, &table)
		}
		if got, want := reason(s), "2 skipped: "+want; got != want {
			t.Errorf("list: got %q, want %q", got, want)
		}
	}
}

func TestStatusShowsErrors(t *testing.T) {
	s := client.Status{
		Spec: client.Spec{ID: "x", Params: []byte(`{}`)}, State: client.Running, Partitions: 10,
		Errors: []client.ErrorText{{Text: "no disk\nstack", Count: 1200, Partition: 7}}, OtherErrors: 3,
	}
	var table strings.Builder
	statusTable(&table, s, 0)
	for _, want := range []string{"failures\t1,200, such as partition 7: no disk\n", "failures\t3 with other errors\n"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &table)
		}
	}
	data, err := json.Marshal(newJobStatus(s, 0))
	if want := `"errors":[{"error":"no disk\nstack","count":1200,"partition":7}],"other_errors":3,`; err != nil || !strings.Contains(string(data), want) {
		t.Errorf("%s, %v, want %s", data, err, want)
	}
}

// TestStatusAsJSON compares all members with recorded ones, because scripts read them by name.
func TestStatusAsJSON(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 1, 2, 3, minute, 5, 6000, time.FixedZone("", 3600)) }
	for _, c := range []struct {
		name string
		s    client.Status
		want string
	}{
		{"filled", client.Status{
			Spec: client.Spec{
				ID: "x", Job: "pi", Version: "2", Params: []byte(`{"a": 1}`), Priority: 3, MaxAttempts: 4, MaxSkipped: 5, Submitted: at(0),
				StrictBuilds: true, Timeout: 1500 * time.Millisecond, PartitionTimeout: 2 * time.Second, Audit: 6,
			},
			State: client.Running, Partitions: 100, Done: 60, MergesLeft: 7, Executed: 70, Repeated: 8, Skipped: []uint64{9}, Epochs: []uint64{1, 2},
			Builds: []string{"b"}, Error: "e", SHA256: "f", SlotSeconds: 21.5, LostSeconds: 22.5, Started: at(1), Finished: at(2),
			Estimates: []client.Estimated{{Partitions: 5, Value: []byte(`{"value":1}`)}}, Stopped: &client.Stopped{At: 80, Rung: 21, Timed: true},
			Errors: []client.ErrorText{{Text: "no", Count: 10, Partition: 11}}, OtherErrors: 12, Epoch: 13,
			Live: &client.Live{
				Workers: 14, Rate: 20, Trouble: "t", Unreported: 10, HeldBytes: 15, MergedBytes: 16, MergeRate: 17.5, MergeLeft: 18,
				Merges: []client.Merge{{Node: "1/0", Worker: "w", Bytes: 19, For: 1500 * time.Millisecond}},
			},
		}, `{"id":"x","job":"pi","version":"2","params":{"a":1},"priority":3,"max_attempts":4,"max_skipped":5,"strict_builds":true,"timeout":1.5,"partition_timeout":2,"state":"running","partitions":100,"done":60,"stage":"mapping","merges_left":7,"executed":70,"repeated":8,"skipped":[9],"epochs":[1,2],"builds":["b"],"live":true,"epoch":13,"workers":14,"rate":20,"seconds_left":0.5,"stop_after":0,"estimates":[{"partitions":5,"value":{"value":1}}],"stopped":{"partitions":80,"rung":21,"timed":true},"held_bytes":15,"merged_bytes":16,"merge_rate":17.5,"merges":[{"node":"1/0","worker":"w","bytes":19,"seconds":1.5}],"trouble":"t","error":"e","errors":[{"error":"no","count":10,"partition":11}],"other_errors":12,"sha256":"f","slot_seconds":21.5,"lost_seconds":22.5,"submitted":"2026-01-02T02:00:05.000006Z","started":"2026-01-02T02:01:05.000006Z","finished":"2026-01-02T02:02:05.000006Z"}`},
		{"empty", client.Status{Spec: client.Spec{ID: "y", Params: []byte(`{}`)}, State: client.Queued}, `{"id":"y","job":"","version":"","params":{},"priority":0,"max_attempts":0,"max_skipped":0,"strict_builds":false,"timeout":0,"partition_timeout":0,"state":"queued","partitions":0,"done":0,"stage":"","merges_left":0,"executed":0,"repeated":0,"skipped":[],"epochs":[],"builds":[],"live":false,"epoch":0,"workers":0,"rate":0,"seconds_left":-1,"stop_after":0,"estimates":[],"stopped":null,"held_bytes":0,"merged_bytes":0,"merge_rate":0,"merges":[],"trouble":"","error":"","errors":[],"other_errors":0,"sha256":"","slot_seconds":0,"lost_seconds":0,"submitted":null,"started":null,"finished":null}`},
	} {
		got, err := json.Marshal(newJobStatus(c.s, 0))
		if err != nil {
			t.Fatal(err)
		}
		var members, want map[string]any
		if err := errors.Join(json.Unmarshal(got, &members), json.Unmarshal([]byte(c.want), &want)); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(members, want) {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}
