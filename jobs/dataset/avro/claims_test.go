package avro

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/dataset/avro/avrotest"
	"github.com/bellwether-compute/bellwether/jobs/fuzztest"
)

// TestClaims reads small objects that claim much. None of them may make the reader allocate what it claims.
func TestClaims(t *testing.T) {
	long, text, record := avrotest.Long, avrotest.Text, avrotest.Record
	object := func(typ, codec string, block ...[]byte) []byte {
		return append(avrotest.Header(fmt.Sprintf(one, typ), codec), record(block...)...)
	}
	wide := `"null"`
	for i := range 40 {
		wide = fmt.Sprintf(`{"type":"record","name":"r%d","fields":[{"name":"x","type":%s},{"name":"y","type":"%s"}]}`, i, wide, map[bool]string{true: "null", false: fmt.Sprintf("r%d", i-1)}[i == 0])
	}
	for name, c := range map[string]struct {
		object []byte
		want   string
	}{
		"records":   {object(`"null"`, "null", long(1<<60), long(0), []byte(avrotest.Marker)), "values for each byte"},
		"block":     {object(`"long"`, "null", long(1), long(1<<40)), "more than the limit"},
		"negative":  {object(`"long"`, "null", long(-1), long(1), []byte{0}), "is damaged"},
		"text":      {object(`"string"`, "null", long(1), long(6), long(1<<50)), "truncated"},
		"array":     {object(`{"type":"array","items":"null"}`, "null", long(1), text(string(record(long(1<<60), long(0)))), []byte(avrotest.Marker)), "values for each byte"},
		"symbols":   {object(fmt.Sprintf(`{"type":"array","items":{"type":"enum","name":"e","symbols":["%s"]}}`, strings.Repeat("x", 1<<20)), "null", long(1), text(string(record(long(1000), make([]byte, 1000), long(0)))), []byte(avrotest.Marker)), "the texts of a record have more than"},
		"snappy":    {object(`"long"`, "snappy", long(1), text("\xff\xff\xff\xff\x01\x00\x00\x00\x00"), []byte(avrotest.Marker)), "is damaged"},
		"fixed":     {object(`{"type":"fixed","name":"f","size":100000000}`, "null", long(1), text("x"), []byte(avrotest.Marker)), "damaged"},
		"header":    {record([]byte("Obj\x01"), long(1<<60)), "truncated"},
		"header -1": {record([]byte("Obj\x01"), long(-1<<63), long(0)), "damaged"},
		"key":       {record([]byte("Obj\x01"), long(1), long(1<<60)), "truncated"},
		"wide":      {object(wide, "null", long(1), long(0), []byte(avrotest.Marker)), "values for each byte"},
	} {
		allocated := fuzztest.Allocated(func() {
			if _, err := read(c.object); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: got %v, want %s", name, err, c.want)
			}
		})
		if allocated > 512<<20 {
			t.Errorf("%s: %d bytes were allocated for an object of %d", name, allocated, len(c.object))
		}
	}
}

// TestBomb refuses blocks whose content is larger than the limit.
func TestBomb(t *testing.T) {
	const limit = 1 << 20
	for _, codec := range []string{"deflate", "snappy", "zstandard"} {
		for _, size := range []int{limit - 10, limit + 1} {
			object := avrotest.Object(fmt.Sprintf(one, `"string"`), codec, 1, avrotest.Text(strings.Repeat("x", size)))
			f, err := ReadHeader(object)
			if err != nil {
				t.Fatal(err)
			}
			f.limit = limit
			block := object[f.Size:]
			b, err := f.Block(block)
			if err != nil {
				t.Fatal(err)
			}
			s, _ := f.Select(nil)
			if _, err := f.Rows(s, b, block); (err == nil) != (size < limit) || err != nil && !strings.Contains(err.Error(), "after decompression") {
				t.Errorf("%s: got %v for %d bytes, want the limit of %d", codec, err, size, limit)
			}
		}
	}
}

// FuzzObject reads damaged objects. Reading may fail, but must end.
func FuzzObject(f *testing.F) {
	for _, codec := range []string{"null", "deflate", "snappy", "zstandard"} {
		object, err := os.ReadFile("testdata/hamba-" + codec + ".avro")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(object)
		f.Add(object[:len(object)-1])
	}
	corpus := fuzztest.Watch(f)
	f.Fuzz(func(_ *testing.T, object []byte) {
		if _, err := read(object); err == nil {
			corpus.Taken()
		} else {
			corpus.Refused()
		}
	})
}
