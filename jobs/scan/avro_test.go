package scan

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/dataset/avro/avrotest"
)

// avroObject is an object with a decimal, a time, a float, a boolean and a text that is JSON.
func avroObject() string {
	const schema = `{"type":"record","name":"r","fields":[
		{"name":"money","type":["null",{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}]},
		{"name":"at","type":{"type":"long","logicalType":"timestamp-millis"}},
		{"name":"f","type":"double"},{"name":"yes","type":"boolean"},
		{"name":"in","type":{"type":"record","name":"q","fields":[{"name":"n","type":"int"},{"name":"list","type":{"type":"array","items":"int"}}]}},
		{"name":"body","type":"bytes"}]}`
	long, text := avrotest.Long, avrotest.Text
	list := avrotest.Record(long(2), long(1), long(2), long(0))
	var records [][]byte
	for i := range int64(10) {
		money := avrotest.Record(long(1), text(string([]byte{byte(i)})))
		if i == 3 {
			money = long(0)
		}
		records = append(records, avrotest.Record(money, long(1500*i), avrotest.Double(float64(i)/4), []byte{byte(i % 2)}, long(i), list, text(`{"k":{"t":`+hex.EncodeToString([]byte{byte(i)})[1:]+`}}`)))
	}
	return string(avrotest.Object(schema, "snappy", 3, records...))
}

func TestAvro(t *testing.T) {
	checkRows(t, write(t, "a.avro", avroObject()), map[string]string{
		"limit=2": `[["0.00","1970-01-01T00:00:00Z","0","false","{\"n\":0,\"list\":[1,2]}","{\"k\":{\"t\":0}}"],["0.01","1970-01-01T00:00:01.5Z","0.25","true","{\"n\":1,\"list\":[1,2]}","{\"k\":{\"t\":1}}"]]`,
		"aggregate=sum(money),count(money),mean(f)":              `[["0.42",9,1.125]]`,
		"by=yes;aggregate=sum(in.n)":                             `[["false","20"],["true","25"]]`,
		"by=in.list;aggregate=count":                             `[["[1,2]",10]]`,
		"where=at >= '1970-01-01 00:00:12';columns=in.n":         `[["8"],["9"]]`,
		"where=$env[\"in.n\"] > 8;columns=in.n":                  `[["9"]]`,
		"let=t = json(body, 'k.t');where=t > 7;aggregate=sum(t)": `[["17"]]`,
		"columns=in.n;order=-in.n;limit=1":                       `[["9"]]`,
	})
}

// TestTypedAvro writes values of Avro with their types.
func TestTypedAvro(t *testing.T) {
	name, folder := write(t, "a.avro", avroObject()), filepath.Join(t.TempDir(), "out")
	if _, err := scan(t, "input="+name, "columns=money,at,f,yes,in.n,body", "output="+folder, "output-format=ndjson"); err != nil {
		t.Fatal(err)
	}
	wantSchema(t, folder, "money:decimal(9,2) at:timestamp f:float yes:boolean in.n:integer body:text")
	files, err := filepath.Glob(folder + "/*.ndjson")
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	content, err := os.ReadFile(files[0])
	if want := `{"money":0.01,"at":"1970-01-01T00:00:01.5Z","f":0.25,"yes":true,"in.n":1,"body":"{\"k\":{\"t\":1}}"}`; err != nil || !strings.Contains(string(content), want) {
		t.Errorf("got %s, %v, want %s", content, err, want)
	}
}
