package exec

import (
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
)

// TestStoredParams checks that the parameters of earlier programs are accepted, and that the identification
// of the calls that the programs see does not change within a version.
func TestStoredParams(t *testing.T) {
	const version4 = `{"command":"[\"wc\",\"-l\"]","files":"","input":"a.csv","split":"lines","block":1000,"partitions":0,"keep":true,"merge":"sum","finish":false,"timeout":"1m0s","memory":"1GiB","max-output":"64MiB"}`
	want := strings.Replace(version4, `"block":1000,`, `"block":1000,"lines":0,"items":"",`, 1)
	want = strings.Replace(want, `"merge":"sum",`, `"merge":"sum","output":"",`, 1)
	want = strings.Replace(want, `"finish":false,`, `"finish":false,"estimate":false,`, 1)
	params, err := jobs.MustNew(Define(nil)).Params([]byte(version4))
	if err != nil || string(params) != want {
		t.Errorf("got  %s, %v\nwant %s", params, err, want)
	}
	p := defaults()
	p.Command, p.Input, p.Block, p.Merge = `["wc","-l"]`, "a.csv", 1000, "sum"
	kind := Kind[Params]{Name: Name, Version: "6", Program: func(p Params) Params { return p }}
	if got := kind.job(p).id; got != "59bf8213007a261a4663f7e053f27960" {
		t.Errorf("the identification of the calls is %s", got)
	}
}
