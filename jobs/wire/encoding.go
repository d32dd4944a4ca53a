package wire

import (
	"errors"
	"fmt"

	"github.com/fxamacker/cbor/v2"

	"github.com/bellwether-compute/bellwether/jobs/internal/record"
)

// MaxMessage is the largest size of a message in bytes: the default limit of NATS.
const MaxMessage = 1 << 20

// MaxInline is the largest size in bytes of a partial or an output in a report. Workers hold larger partials, and
// write larger outputs to storage.
const MaxInline = 256 << 10

// maxElements is the largest number of elements of a list in a message. An empty
// element takes one byte in a message and 150 bytes in memory, so maxElements bounds the
// memory that decoding allocates.
const maxElements = 1 << 16

// The errors of Decode and of the Validate methods wrap one of these errors.
var (
	ErrUnknownVersion = errors.New("message of an unknown version")
	ErrMalformed      = errors.New("malformed message")
)

// Message is any message of this package. A new message is a type, its line here, and its samples in
// the table of encoding_test.go. If the type has a method Validate, Decode calls it.
type Message interface {
	Report | Receipt | Beacon | Suspicion | Ping | Pong | Nudge | Probe | ProbeAnswer | Offer |
		LeaderInfo | WorkerQuery | Workers | JobQuery | Jobs | Cancel | Done | AuditRequest | AuditAnswer
}

// formatVersion is the first byte of each message. It must be incremented for a change that an
// earlier program would misread, but not for a new optional field.
const formatVersion = 1

var format = record.New(formatVersion,
	cbor.EncOptions{Sort: cbor.SortCoreDeterministic, Time: cbor.TimeUnixMicro},
	record.Strict(maxElements, 64))

// Encode returns the encoded message.
func Encode[M Message](m M) []byte { return format.Encode(m) }

// Decode reads a message strictly, and validates it if its type has a method Validate. It allocates
// at most 192 bytes for each byte of the message, and at most 64 MiB.
func Decode[M Message](data []byte) (M, error) {
	var m M
	if len(data) > MaxMessage {
		return m, fmt.Errorf("%w: it has %d bytes, want at most %d", ErrMalformed, len(data), MaxMessage)
	}
	err := format.Decode(data, &m)
	var version *record.VersionError
	switch {
	case err == nil:
		if v, ok := any(m).(interface{ Validate() error }); ok {
			err = v.Validate()
		}
		return m, err
	case errors.As(err, &version):
		return m, fmt.Errorf("%w: %w", ErrUnknownVersion, err)
	default:
		return m, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
}
