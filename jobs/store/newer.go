package store

import (
	"bytes"

	"github.com/fxamacker/cbor/v2"

	"github.com/bellwether-compute/bellwether/jobs/internal/record"
)

// newerFields keeps the fields of a manifest that a later version wrote and this version
// does not know, also within lists. A leader of this version that replaces the manifest
// writes them again.
type newerFields struct {
	stored map[uint64]cbor.RawMessage // the fields as stored
	known  map[uint64]cbor.RawMessage // the fields without the parts that this version does not know
}

// completeFormat is recordFormat, but refuses to decode a record with unknown fields.
var completeFormat = func() record.Format {
	options := recordOptions
	options.ExtraReturnErrors = cbor.ExtraDecErrorUnknownField
	return record.New(formatVersion, cbor.CoreDetEncOptions(), options)
}()

// newNewerFields returns the unknown fields of a stored manifest. Known is the encoding of
// the decoded manifest.
func newNewerFields(stored, known []byte) *newerFields {
	var n newerFields
	if recordFormat.Decode(stored, &n.stored) != nil || recordFormat.Decode(known, &n.known) != nil {
		return nil // no version of the program has fields without a number
	}
	return &n
}

// restore returns the encoding of a changed manifest, with the stored form of each field that
// did not change. If a later version changed what a list contains, and this version
// changes the list, the unknown parts of the list are lost.
func (n *newerFields) restore(changed []byte) []byte {
	var fields map[uint64]cbor.RawMessage
	if err := recordFormat.Decode(changed, &fields); err != nil {
		panic(err) // a manifest that this version has encoded
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
