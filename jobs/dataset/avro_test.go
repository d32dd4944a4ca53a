package dataset

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset/avro/avrotest"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/memory"
)

// captureSchema is the schema of Azure Event Hubs Capture.
const captureSchema = `{"type":"record","name":"EventData","namespace":"Microsoft.ServiceBus.Messaging","fields":[
	{"name":"SequenceNumber","type":"long"},{"name":"Offset","type":"string"},{"name":"EnqueuedTimeUtc","type":"string"},
	{"name":"SystemProperties","type":{"type":"map","values":["long","double","string","bytes"]}},
	{"name":"Properties","type":{"type":"map","values":["long","double","string","bytes","null"]}},
	{"name":"Body","type":["null","bytes"]}]}`

var captureColumns = []string{"SequenceNumber", "Properties.key", "SystemProperties", "Body"}

// capture returns an object with the given number of records, and the texts of captureColumns.
func capture(codec string, size, n int) (object []byte, want []string) {
	long, text := avrotest.Long, avrotest.Text
	var records [][]byte
	for i := range n {
		key := avrotest.Record(long(1), text("key"), long(2), text(fmt.Sprint("k", i%3)), long(0))
		body := fmt.Sprintf(`{"n":%d,"at":"%s"}`, i, strings.Repeat("x", i%40))
		records = append(records, avrotest.Record(long(int64(i)), text(fmt.Sprint(i*100)), text("11/22/2026 9:04:00 PM"),
			long(1), text("x-opt-sequence"), long(0), long(int64(-i)), long(0), key, long(1), text(body)))
		want = append(want, fmt.Sprintf(`%d|k%d|{"x-opt-sequence":%d}|%s`, i, i%3, -i, body))
	}
	return avrotest.Object(captureSchema, codec, size, records...), want
}

// TestAvroOfRandomSplits reads random objects, also compressed ones, with and without rounds. No other test reads compressed
// blocks of Avro with the race detector.
func TestAvroOfRandomSplits(t *testing.T) {
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 4))
		d := &memory.Driver{}
		var want []string
		for i := range 1 + random.IntN(3) {
			object, lines := capture([]string{"null", "deflate", "snappy", "zstandard"}[random.IntN(4)], 1+random.IntN(40), random.IntN(300))
			name := fmt.Sprintf("mem://%d.avro", i)
			if random.IntN(4) == 0 {
				name, object = name+".gz", []byte(gzipped(string(object)))
			}
			d.Put(name, object)
			want = append(want, lines...)
		}
		in := Defaults()
		in.Source, in.Block = "mem://*", 1+random.Int64N(4000)
		got, err := merged(t, fieldsJob(captureColumns...), d, in, random)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("seed %d: got %d records, %v, want %d", seed, len(got), err, len(want))
		}
		rounds, totals, err := pass(t, d, in, 2)
		if err != nil || len(rounds) != len(want) || totals.Records != uint64(len(want)) {
			t.Fatalf("seed %d: got %d records in rounds, %v, want %d", seed, len(rounds), err, len(want))
		}
	}
}

// TestAvroColumns reads all columns, and refuses names that the object does not have.
func TestAvroColumns(t *testing.T) {
	object, _ := capture("null", 10, 1)
	d := &memory.Driver{}
	d.Put("mem://y=2026/a.avro", object)
	for _, c := range []struct {
		columns []string
		want    string
	}{
		{[]string{"Offset", "y", "_object"}, "0|2026|mem://y=2026/a.avro"},
		{[]string{"y"}, "2026"},
		{[]string{"Properties.other", "Properties"}, `|{"key":"k0"}`},
		{[]string{"Body.n"}, `there is no column "Body.n": the columns are SequenceNumber, Offset, EnqueuedTimeUtc, SystemProperties, Properties, Body`},
		{[]string{"body"}, `there is no column "body"`},
	} {
		in := Defaults()
		in.Source, in.Block = "mem://y=2026/", 50
		got, err := merged(t, fieldsJob(c.columns...), d, in, rand.New(rand.NewPCG(1, 5)))
		text := strings.Join(got, "\n")
		if err != nil {
			text = err.Error()
		}
		if !strings.Contains(text, c.want) {
			t.Errorf("%s: got %s, want %s", c.columns, text, c.want)
		}
	}
}

// TestBadAvro reads damaged objects. Each is refused with its name and an offset, for every block size.
func TestBadAvro(t *testing.T) {
	object, _ := capture("null", 10, 30)
	second := bytes.LastIndex(object[:bytes.LastIndex(object, []byte(avrotest.Marker))], []byte(avrotest.Marker)) + len(avrotest.Marker)
	changed := func(at int, text string) []byte {
		other := bytes.Clone(object)
		copy(other[at:], text)
		return other
	}
	short := avrotest.Block("null", []byte("x"))
	short[0] = 4 // two records
	long, text := avrotest.Long, avrotest.Text
	record := func(body string) []byte {
		return avrotest.Record(long(1), text("1"), text("t"), long(0), long(0), long(1), text(body))
	}
	other := avrotest.Object(`{"type":"record","name":"r","fields":[{"name":"x","type":"long"}]}`, "null", 1, long(1))
	for name, c := range map[string]struct {
		object []byte
		want   string
	}{
		"no Avro":        {[]byte("id,text\n1,a\n"), "byte 0: the object is not Avro or is damaged (the object does not begin like an Avro object container)"},
		"header":         {object[:100], "byte 0: the object is not Avro or is damaged (the object is truncated)"},
		"truncated":      {object[:len(object)-20], fmt.Sprintf("byte %d: the object is not Avro or is damaged (the object is truncated)", second)},
		"marker":         {changed(len(object)-3, "?"), fmt.Sprintf("byte %d: the sync marker after a block is wrong", second)},
		"count":          {changed(second, "\x12"), fmt.Sprintf("byte %d: the object is not Avro or is damaged (a block has ", second)},
		"more":           {changed(second, "\x16"), fmt.Sprintf("byte %d: the object is not Avro or is damaged (the records of a block are damaged", second)},
		"short":          {append(slices.Clone(object), short...), fmt.Sprintf("byte %d: the object is not Avro or is damaged (the records", len(object))},
		"codec":          {avrotest.Header(captureSchema, "xz"), `byte 0: the codec "xz" cannot be read`},
		"UTF-8":          {append(slices.Clone(object), avrotest.Block("null", record("\xff"))...), fmt.Sprintf("byte %d: record 1 of the block: \"\\xff\" is not UTF-8", len(object))},
		"nothing":        {nil, "all objects are empty"},
		"another schema": {other, `there is no column "SequenceNumber": the columns are x`},
	} {
		for _, block := range []int64{7, 100, 1 << 20} {
			d := &memory.Driver{}
			d.Put("mem://a.avro", c.object)
			in := Defaults()
			in.Source, in.Block = "mem://*.avro", block
			if got, err := merged(t, fieldsJob(captureColumns...), d, in, rand.New(rand.NewPCG(1, 6))); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, blocks of %d bytes: got %d records, %v, want %s", name, block, len(got), err, c.want)
			}
		}
	}
}

// TestMarkerInBlock reads an object with a record that contains the sync marker and looks like a block. A reader that began at
// that marker would read records that do not exist, so cutting the block there is refused.
func TestMarkerInBlock(t *testing.T) {
	inner := avrotest.Block("null", avrotest.Text("wrong"))
	content := avrotest.Marker + string(inner)
	object := avrotest.Object(`{"type":"record","name":"r","fields":[{"name":"x","type":"string"}]}`, "null", 1, avrotest.Text("a"), avrotest.Text(content), avrotest.Text("b"))
	d := &memory.Driver{}
	d.Put("mem://a.avro", object)
	refused, read := 0, 0
	for block := int64(1); block < int64(len(object))+10; block++ {
		in := Defaults()
		in.Source, in.Block = "mem://*.avro", block
		got, err := merged(t, fieldsJob("x"), d, in, rand.New(rand.NewPCG(1, 7)))
		switch {
		case err == nil && slices.Equal(got, []string{"a", content, "b"}):
			read++
		case err != nil && strings.Contains(err.Error(), "the block contains the sync marker of the object"):
			refused++
		default:
			t.Fatalf("blocks of %d bytes: got %q, %v", block, got, err)
		}
	}
	if refused == 0 || read == 0 {
		t.Errorf("%d block sizes were refused and %d read: want some of both", refused, read)
	}
}

// TestSkippedAvro skips a record that is not text, but not damage.
func TestSkippedAvro(t *testing.T) {
	schema := `{"type":"record","name":"r","fields":[{"name":"x","type":"bytes"}]}`
	object := avrotest.Object(schema, "snappy", 2, avrotest.Text("a"), avrotest.Text("\xff"), avrotest.Text("b"))
	d := &memory.Driver{}
	d.Put("mem://a.avro", object)
	in := Defaults()
	in.Source, in.OnError = "mem://*.avro", "skip"
	got := runFields(t, jobs.MustNew(defineOn(fieldsJob("x"), d)), in)
	if !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("got %q, want a and b", got)
	}
	object[len(object)-1]++
	d.Put("mem://a.avro", object)
	if _, err := merged(t, fieldsJob("x"), d, in, rand.New(rand.NewPCG(1, 8))); err == nil || !strings.Contains(err.Error(), "sync marker") {
		t.Errorf("got %v, want that the marker is wrong", err)
	}
}
