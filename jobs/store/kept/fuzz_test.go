package kept

import (
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/fuzztest"
)

// FuzzIndex reads an index from any bytes. Each entry must lie in the pack, and a whole index is encoded
// again to the same entries.
func FuzzIndex(f *testing.F) {
	r := indexRecord{Job: "test", Version: "1", Origin: "a job", Used: 1, Bytes: 5 + 2*uint64(keySize), Sum: make([]byte, 32), Count: 2}
	r.Entries = appendEntry(r.Entries, entry{prefix: prefix{1}, length: 2, partitions: 3, work: time.Second})
	r.Entries = appendEntry(r.Entries, entry{prefix: prefix{2}, length: 3, partitions: 1 << 40})
	f.Add(r.encode())
	f.Add(indexRecord{Sum: make([]byte, 32)}.encode())
	r.Bytes--
	f.Add(r.encode())
	f.Add([]byte("\x01"))
	corpus := fuzztest.Watch(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decodeIndex(data)
		var again []byte
		if err == nil {
			err = r.eachEntry(func(_ int, e entry) {
				if uint64(e.offset)+uint64(keySize)+uint64(e.length) > r.Bytes {
					t.Fatalf("entry %+v is not in a pack of %d bytes", e, r.Bytes)
				}
				again = appendEntry(again, e)
			})
		}
		if err != nil {
			corpus.Refused()
			return
		}
		corpus.Taken()
		var list, twice []entry
		_ = r.eachEntry(func(_ int, e entry) { list = append(list, e) })
		r.Entries = again
		if err := r.eachEntry(func(_ int, e entry) { twice = append(twice, e) }); err != nil || len(list) != len(twice) {
			t.Fatalf("the entries are encoded again as %x, %v", again, err)
		}
		for i := range list {
			if list[i] != twice[i] {
				t.Fatalf("entry %+v is encoded again as %+v", list[i], twice[i])
			}
		}
	})
}
