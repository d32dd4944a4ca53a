package exec

import (
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
)

// TestStoredParams checks that the stored form of parameters, and the identification of the calls that
// the programs see, are those of earlier programs with version 3 of the job.
func TestStoredParams(t *testing.T) {
	const stored = `{"command":"[\"wc\",\"-l\"]","files":"","input":"a.csv","split":"lines","block":1000,"partitions":0,"keep":true,"merge":"sum","finish":false,"timeout":"1m0s","memory":"1GiB","max-output":"64MiB"}`
	params, err := jobs.MustNew(Define(nil)).Params([]byte(stored))
	if err != nil || string(params) != stored {
		t.Errorf("got  %s, %v\nwant %s", params, err, stored)
	}
	p := defaults()
	p.Command, p.Input, p.Block, p.Merge = `["wc","-l"]`, "a.csv", 1000, "sum"
	kind := Kind[Params]{Name: Name, Version: "3", Program: func(p Params) Params { return p }}
	if got := kind.job(p).id; got != "13d0491811cf8c343c5cf01c809805f6" {
		t.Errorf("the identification of the calls is %s", got)
	}
}
