package wire

import (
	"errors"
	"fmt"

	"github.com/fxamacker/cbor/v2"
)

// formatVersion is the first byte of every message. A change that an older
// program would misread gets the next number; a new optional field does not.
const formatVersion = 1

// MaxMessage is the most bytes a message may have: NATS' own default limit.
const MaxMessage = 1 << 20

// maxElements is the most elements a list in a message may have. Since an empty
// element takes one byte in a message and 150 in memory, it bounds what decoding
// allocates.
const maxElements = 1 << 16

// Errors of Decode and the Validate methods.
var (
	ErrUnknownVersion = errors.New("message of an unknown version")
	ErrMalformed      = errors.New("malformed message")
)

// Message is any message of this package.
type Message interface {
	Report | Receipt | Beacon | Suspicion | Ping | Pong | Nudge | Probe | ProbeAnswer | Offer |
		LeaderInfo | Workers | JobQuery | Jobs | Cancel | Done
}

// Encode writes a message.
func Encode[M Message](m M) []byte {
	data, err := encoding.Marshal(m)
	if err != nil {
		panic(err) // every message is made of types that encode
	}
	return append([]byte{formatVersion}, data...)
}

// Decode reads a message strictly. What it allocates is bounded by the message's
// length: at most 192 bytes for each byte, and 64 MiB altogether.
func Decode[M Message](data []byte) (M, error) {
	var m M
	if len(data) == 0 {
		return m, fmt.Errorf("%w: it is empty", ErrMalformed)
	}
	if data[0] != formatVersion {
		return m, fmt.Errorf("%w: got %d, know %d", ErrUnknownVersion, data[0], formatVersion)
	}
	if len(data) > MaxMessage {
		return m, fmt.Errorf("%w: it has %d bytes, at most %d are allowed", ErrMalformed, len(data), MaxMessage)
	}
	if err := decoding.Unmarshal(data[1:], &m); err != nil {
		return m, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return m, nil
}

var (
	encoding = func() cbor.EncMode {
		mode, err := cbor.EncOptions{Sort: cbor.SortCoreDeterministic, Time: cbor.TimeUnixMicro}.EncMode()
		if err != nil {
			panic(err)
		}
		return mode
	}()
	decoding = func() cbor.DecMode {
		mode, err := cbor.DecOptions{
			DupMapKey:        cbor.DupMapKeyEnforcedAPF,
			IndefLength:      cbor.IndefLengthForbidden,
			TagsMd:           cbor.TagsForbidden,
			MaxNestedLevels:  16,
			MaxArrayElements: maxElements,
			MaxMapPairs:      64,
		}.DecMode()
		if err != nil {
			panic(err)
		}
		return mode
	}()
)
