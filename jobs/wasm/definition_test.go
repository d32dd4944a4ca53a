package wasm

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/exec"
)

// TestStoredParams checks that both encodings of parameters do not change within a version of the job: the
// stored form, and the JSON from which package exec computes the identification that
// the modules see.
func TestStoredParams(t *testing.T) {
	const files = `[{\"name\":\"m.wasm\",\"sha256\":\"0000000000000000000000000000000000000000000000000000000000000000\",\"size\":1}]`
	const head = `{"command":"[\"m.wasm\"]","files":"` + files + `","input":"","split":"lines","block":1000,"lines":0,"items":"","partitions":5,"merge":"sum","finish":true,"estimate":false,"timeout":`
	const tail = `,"memory":"512MiB","max-output":"64MiB"}`
	const stored = head + `"1m0s"` + tail
	params, err := jobs.MustNew(Define(nil)).Params([]byte(stored))
	if err != nil || string(params) != stored {
		t.Errorf("got  %s, %v\nwant %s", params, err, stored)
	}
	p := Define(nil).Defaults
	p.Command, p.Block, p.Partitions, p.Merge, p.Finish, p.Timeout = `["m.wasm"]`, 1000, 5, "sum", true, time.Minute
	list, err := json.Marshal([]exec.FileInfo{{Name: "m.wasm", SHA256: "0000000000000000000000000000000000000000000000000000000000000000", Size: 1}})
	if err != nil {
		t.Fatal(err)
	}
	p.Files = string(list)
	data, err := json.Marshal(p)
	if want := head + "60000000000" + tail; err != nil || string(data) != want {
		t.Errorf("got  %s, %v\nwant %s", data, err, want)
	}
}
