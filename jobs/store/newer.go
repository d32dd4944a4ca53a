package store

import (
	"bytes"

	"github.com/fxamacker/cbor/v2"

	"github.com/bellwether-compute/bellwether/jobs/internal/record"
)

// newerFields keeps the fields of a manifest that a later version wrote and that this version does
// not know, including fields of list elements. When a leader of this version replaces the manifest,
// it writes these fields again.
type newerFields struct {
	stored map[uint64]cbor.RawMessage // fields in their stored form
	known  map[uint64]cbor.RawMessage // fields as this version encodes them after decoding, which drops unknown parts
}

// completeFormat decodes records like recordFormat, but refuses records with unknown fields.
var completeFormat = func() record.Format {
	options := recordOptions
	options.ExtraReturnErrors = cbor.ExtraDecErrorUnknownField
	return record.New(formatVersion, cbor.CoreDetEncOptions(), options)
}()

// newNewerFields returns the unknown fields of a stored manifest. The parameter known is the
// manifest after this version has decoded and encoded it.
func newNewerFields(stored, known []byte) *newerFields {
	var n newerFields
	if recordFormat.Decode(stored, &n.stored) != nil || recordFormat.Decode(known, &n.known) != nil {
		return nil // unreachable: in every version all fields have numbers
	}
	return &n
}

// restore completes the encoding of a changed manifest: each field that did not change is replaced by its
// stored form, which includes unknown parts. If this version changes a list whose elements have unknown fields,
// the unknown fields of the list are lost.
func (n *newerFields) restore(changed []byte) []byte {
	var fields map[uint64]cbor.RawMessage
	if err := recordFormat.Decode(changed, &fields); err != nil {
		panic(err) // unreachable: this version has encoded the manifest
	}
	for number, stored := range n.stored {
		before, known := n.known[number]
		now, present := fields[number]
		if known == present && bytes.Equal(before, now) {
			fields[number] = stored
		}
	}
	return encode(fields)
}
