package page

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/client"
)

// TestJobAnswerAsJSON compares all members, because the page's script and other programs read them by name.
func TestJobAnswerAsJSON(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.FixedZone("", 3600))
	for name, c := range map[string]struct {
		s    client.Status
		want string
	}{
		"filled": {
			client.Status{
				Spec: client.Spec{
					ID: "x", Job: "pi", Version: "2", Params: []byte(`{"a":1}`), Priority: 3, MaxAttempts: 4, MaxSkipped: 5, Submitted: at,
					StrictBuilds: true, Timeout: time.Second, PartitionTimeout: time.Second, Audit: 6,
				},
				State: client.Running, Partitions: 100, Done: 60, MergesLeft: 7, Executed: 70, Repeated: 8, Skipped: make([]uint64, maxSkipped+1),
				Epochs: []uint64{1, 2}, Builds: []string{"b"}, Error: "e", SHA256: "f", SlotSeconds: 21.5, LostSeconds: 22.5, Started: at, Finished: at,
				Estimates: []client.Estimated{{Partitions: 3, Value: []byte("0.5")}}, Stopped: &client.Stopped{At: 3, Rung: 3},
				Errors: []client.ErrorText{{Text: "no", Count: 10, Partition: 11}}, OtherErrors: 12, Epoch: 13, Live: &client.Live{Workers: 14},
			},
			`{"id":"x","job":"pi","version":"2","params":{"a":1},"priority":3,"max_attempts":4,"max_skipped":5,"strict_builds":true,
			"state":"running","partitions":100,"done":60,"merges_left":7,"executed":70,"repeated":8,
			"skipped":[0` + strings.Repeat(",0", maxSkipped-1) + `],"all_skipped":101,"epochs":[1,2],"builds":["b"],"error":"e",
			"estimates":[{"partitions":3,"value":0.5}],"stopped":{"partitions":3,"rung":3,"timed":false},
			"errors":[{"error":"no","count":10,"partition":11}],"other_errors":12,"epoch":13,"again":"bw run pi -p a=1 --partition ","result":null,
			"sha256":"f","slot_seconds":21.5,"lost_seconds":22.5,"submitted":"2026-01-02T02:04:05.000006Z","started":"2026-01-02T02:04:05.000006Z","finished":"2026-01-02T02:04:05.000006Z"}`,
		},
		"empty, with large parameters": {
			client.Status{Spec: client.Spec{ID: "y", Params: make([]byte, maxShown+1)}, State: client.Queued},
			`{"id":"y","job":"","version":"","params":null,"priority":0,"max_attempts":0,"max_skipped":0,"strict_builds":false,
			"state":"queued","partitions":0,"done":0,"merges_left":0,"executed":0,"repeated":0,"skipped":[],"all_skipped":0,"epochs":[],"builds":[],
			"error":"","estimates":[],"stopped":null,"errors":[],"other_errors":0,"epoch":0,"again":"","result":null,"sha256":"","slot_seconds":0,"lost_seconds":0,"submitted":null,"started":null,"finished":null}`,
		},
	} {
		got, err := json.Marshal(newJobAnswer(c.s, "bw"))
		var members, want map[string]any
		if err := errors.Join(err, json.Unmarshal(got, &members), json.Unmarshal([]byte(c.want), &want)); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(members, want) {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}
