package bloblease

import (
	"errors"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/jobs/fuzztest"
)

// FuzzRecord decodes arbitrary metadata, with names missing or changed in case.
func FuzzRecord(f *testing.F) {
	f.Add("1", "worker-a", "a", uint8(0))
	f.Add("18446744073709551615", "worker-a", "a", uint8(8))
	f.Add("1", "worker-a", "a", uint8(4))
	f.Add("", "", "", uint8(7))
	f.Add("0", "worker-a", "a", uint8(0))
	corpus := fuzztest.Watch(f)
	f.Fuzz(func(t *testing.T, epoch, holder, lease string, how uint8) {
		metadata := map[string]*string{}
		for i, cell := range []struct{ name, value string }{{epochName, epoch}, {holderName, holder}, {leaseName, lease}} {
			if how&8 != 0 {
				cell.name = strings.ToUpper(cell.name)
			}
			if how>>i&1 == 0 {
				metadata[cell.name] = &cell.value
			}
		}
		record, err := decode(metadata)
		if err != nil {
			if !errors.Is(err, errFormat) {
				t.Fatalf("error %v is not errFormat", err)
			}
			corpus.Refused()
			return
		}
		corpus.Taken()
		if record == (election.Record{}) {
			return // there is no record yet
		}
		again, err := decode(encode(record))
		if err != nil || again != record {
			t.Fatalf("%+v was decoded as %+v, %v", record, again, err)
		}
	})
}
