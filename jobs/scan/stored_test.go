package scan

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// storedParams is the stored form of parameters of version 7 of the job.
const storedParams = `{"input":"trips.csv","format":"auto","header":true,"names":"","delimiter":"","quote":"\"","where":"vendor != 'C'","by":"vendor",` +
	`"aggregate":"count,count(fare),sum(fare),min(fare),max(fare),mean(fare),var(fare),stddev(fare),distinct(city),p90(fare),median(fare),top(city,2)",` +
	`"columns":"","order":"","limit":0,"output":"","output-format":"csv","on-error":"fail","block":33554432}`

// wantParams is the form of these parameters since version 11.
var wantParams = strings.NewReplacer(`"by"`, `"let":"","by"`, `"columns"`, `"having":"","columns"`, `"output":`, `"offset":0,"output":`).Replace(storedParams)

// TestStored checks that the stored form of parameters, and the bytes of a partial's parts and of a result,
// are those of earlier programs: of version 11 for the parameters and the setup, which contains them, and otherwise of
// version 7. A difference needs another version of the job.
func TestStored(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("trips.csv", []byte(trips), 0o666); err != nil {
		t.Fatal(err)
	}
	job := jobs.MustNew(Definition)
	params, err := job.Params([]byte(storedParams))
	if err != nil || string(params) != wantParams {
		t.Fatalf("got  %s, %v\nwant %s", params, err, wantParams)
	}
	plan, err := job.Plan(granted(t), params)
	if err != nil {
		t.Fatal(err)
	}
	task, err := job.Engine().Open(granted(t), params, plan.Partitions, plan.Data)
	if err != nil {
		t.Fatal(err)
	}
	defer task.Close()
	s := task.NewStack()
	if _, err := s.Run(granted(t), jobs.Span{Lo: 0, Hi: 1}, new(atomic.Bool)); err != nil {
		t.Fatal(err)
	}
	partials, err := s.Drain(1)
	if err != nil {
		t.Fatal(err)
	}
	partial, err := Definition.Codec.Decode(partials[0].Data)
	if err != nil {
		t.Fatal(err)
	}
	rest, groups, err := partial.Readings[0].Accs[0].Split()
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := rest.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	result, _, err := job.Engine().Finish(granted(t), params, engine.Operand{Data: partials[0].Data})
	if err != nil {
		t.Fatal(err)
	}
	hash := func(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }
	var names []string
	for _, p := range job.Parameters() {
		names = append(names, p.Name)
	}
	for what, c := range map[string][2]string{
		"setup":      {hash(partial.Setup), "8c6b583313c886aec22985c5d5a0b85bb56f8eacb2690ed8f8faf2d250f3e463"},
		"table":      {hash(encoded), "b0da240aa51df99776bc4e92e08c5ca31fcd1ff347f073fc9d494328d15f6361"},
		"groups":     {hash(groups), "370af8aa84f57be09bcbbb566ac756d9e2549815fa62459073aa8404b472b27d"},
		"result":     {hash(result), "5b610bde31b64ab7f3a48e9e6220e71b815868d1066bd48165d0e55a2db587cb"},
		"parameters": {strings.Join(names, " "), "input format header names delimiter quote encoding null comment trim decimal thousands union where let by aggregate having columns order limit offset output output-format types on-error block"},
	} {
		if c[0] != c[1] {
			t.Errorf("%s: got %s, want %s", what, c[0], c[1])
		}
	}
}
