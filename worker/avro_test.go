package worker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset/avro/avrotest"
	"github.com/bellwether-compute/bellwether/jobs/scan"
	"github.com/bellwether-compute/bellwether/worker"
)

// TestAvroOnWorkers scans an Avro object in one process and on 2 workers, with several block sizes. All results have the same
// bytes.
func TestAvroOnWorkers(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"record","name":"EventData","fields":[{"name":"SequenceNumber","type":"long"},
		{"name":"Properties","type":{"type":"map","values":["long","string"]}},{"name":"Body","type":"bytes"}]}`
	var records [][]byte
	for i := range 3000 {
		properties := avrotest.Record(avrotest.Long(1), avrotest.Text("host"), avrotest.Long(1), avrotest.Text(fmt.Sprint("h", i%7)), avrotest.Long(0))
		records = append(records, avrotest.Record(avrotest.Long(int64(i)), properties, avrotest.Text(fmt.Sprintf(`{"device":{"t":%d.5}}`, i%50))))
	}
	folder := t.TempDir()
	for name, codec := range map[string]string{"a.avro": "null", "b.avro": "deflate", "c.avro": "snappy", "d.avro": "zstandard"} {
		if err := os.WriteFile(filepath.Join(folder, name), avrotest.Object(schema, codec, 40, records...), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	grant := jobs.Grant{Files: []string{folder}}
	job := jobs.MustNew(scan.Definition)
	pairs := []string{"input=" + folder + "/*.avro", `let=t = json(Body, "device.t")`, "where=t > 3", "by=Properties.host", "aggregate=count,mean(t),sum(SequenceNumber),distinct(t)"}
	c := newCluster(t)
	for range 2 {
		c.start(func(cfg *worker.Config) { cfg.Jobs, cfg.Grant = []jobs.Job{job}, grant })
	}
	var want string
	for _, block := range []int{1000, 4567, 100_000, 1 << 25} {
		block := fmt.Sprint("block=", block)
		params, err := job.Params(nil, append(pairs, block)...)
		if err != nil {
			t.Fatal(err)
		}
		done, err := jobs.Local{Slots: 2, Attempts: 1, Grant: grant}.Run(t.Context(), job, params)
		if err != nil {
			t.Fatal(err)
		}
		if want == "" {
			want = string(done.Result)
		}
		if string(done.Result) != want {
			t.Errorf("%s, one process: got %s, want %s", block, done.Result, want)
		}
		if got := c.result(job, append(pairs, block)...); got != want {
			t.Errorf("%s, 2 workers: got %s, want %s", block, got, want)
		}
	}
}
