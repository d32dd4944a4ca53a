package wire

import (
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/fuzztest"
)

// FuzzMessages checks that a message that was decoded from arbitrary bytes can be encoded and decoded
// again. The first byte of the input chooses the type of the message.
func FuzzMessages(f *testing.F) {
	var seeds [][]byte
	for i, k := range kinds {
		for _, sample := range append(k.encoded, []byte{formatVersion, 0xa0}) {
			seeds = append(seeds, append([]byte{byte(i)}, sample...))
		}
	}
	recode := func(data []byte) ([]byte, error) {
		if len(data) == 0 {
			return nil, ErrMalformed
		}
		again, err := kinds[int(data[0])%len(kinds)].again(data[1:])
		if err != nil {
			return nil, err
		}
		if len(again) > MaxMessage { // encoding adds fields that the input omitted
			return nil, ErrMalformed
		}
		return append(data[:1:1], again...), nil
	}
	fuzztest.Recode(f, recode, []error{ErrMalformed, ErrUnknownVersion}, seeds...)
}
