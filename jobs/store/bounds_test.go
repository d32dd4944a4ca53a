package store

import (
	"bytes"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/fuzztest"
)

// TestDecodeAllocatesInProportion checks that decoding allocates at most 80 bytes for each byte of
// a record, even if the record is damaged.
func TestDecodeAllocatesInProportion(t *testing.T) {
	const n = 1 << 18
	list := func(length int, element ...byte) []byte {
		head := []byte{0x9a, byte(length >> 24), byte(length >> 16), byte(length >> 8), byte(length)}
		return append(head, bytes.Repeat(element, n)...)
	}
	text := append([]byte{0x5a, 0, n >> 16, 0, 0}, make([]byte, n)...)
	for name, body := range map[string][]byte{
		"nodes":              append([]byte{0xa2, 3, 0x66, 'q', 'u', 'e', 'u', 'e', 'd', 6}, list(n, 0xa0)...),
		"attempts":           append([]byte{0xa1, 10}, list(n, 0xa0)...),
		"skipped":            append([]byte{0xa1, 9}, list(n, 0)...),
		"bytes":              append([]byte{0xa1, 4}, text...),
		"unknown field":      append([]byte{0xa1, 0x18, 99}, list(n, 0xa0)...),
		"a list not there":   {0xa1, 6, 0x9a, 4, 0, 0, 0},
		"bytes not there":    {0xa1, 4, 0x5a, 0x7f, 0xff, 0xff, 0xff},
		"lists within lists": append([]byte{0xa1, 6}, bytes.Repeat([]byte{0x81}, n)...),
	} {
		data := append([]byte{formatVersion}, body...)
		for _, f := range formats {
			var err error
			used := fuzztest.Allocated(func() { _, err = f.decode(data) })
			// The constant term is for small allocations that do not depend on the length of the
			// record.
			if limit := uint64(80*len(data) + 64<<10); used > limit {
				t.Errorf("%s read as %s: %d bytes made it allocate %d, limit %d", name, f.name, len(data), used, limit)
			}
			if name == "nodes" && f.name == "manifest" && err != nil {
				t.Errorf("%s read as %s: %v", name, f.name, err)
			}
		}
	}
}
