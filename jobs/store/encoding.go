package store

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/bellwether-compute/bellwether/jobs"
)

// formatVersion is the first byte of every record. A change that an older
// program would misread gets the next number; a new optional field does not.
const formatVersion = 1

// The records as they are stored. An outer field hides the one of the same
// number in the struct it embeds: that is how times become integers.
type (
	specRecord struct {
		Spec
		Submitted int64 `cbor:"8,keyasint"`
	}
	planRecord struct {
		Partitions uint64 `cbor:"1,keyasint"`
		Data       []byte `cbor:"2,keyasint,omitempty"`
	}
	manifestRecord struct {
		Manifest
		Started  int64 `cbor:"13,keyasint,omitempty"`
		Finished int64 `cbor:"14,keyasint,omitempty"`
	}
	termRecord struct {
		TermRecord
		At int64 `cbor:"4,keyasint"`
	}
	poisonRecord struct {
		Poisoned
		At int64 `cbor:"5,keyasint"`
	}
	submissionRecord struct {
		ID string `cbor:"1,keyasint"`
	}
)

func encodeSpec(s Spec) []byte { return encode(specRecord{s, micros(s.Submitted)}) }

func decodeSpec(data []byte) (Spec, error) {
	r, err := decode[specRecord](data)
	r.Spec.Submitted = fromMicros(r.Submitted)
	if err == nil && !ValidID(r.ID) {
		err = fmt.Errorf("%w: job ID %q", ErrCorrupt, r.ID)
	}
	return r.Spec, err
}

func encodePlan(p jobs.Plan) []byte { return encode(planRecord{p.Partitions, p.Data}) }

func decodePlan(data []byte) (jobs.Plan, error) {
	r, err := decode[planRecord](data)
	if err == nil {
		if _, treeErr := jobs.NewTree(r.Partitions); treeErr != nil {
			err = fmt.Errorf("%w: %w", ErrCorrupt, treeErr)
		}
	}
	return jobs.Plan{Partitions: r.Partitions, Data: r.Data}, err
}

func encodeManifest(m Manifest) []byte {
	return encode(manifestRecord{m, micros(m.Started), micros(m.Finished)})
}

func decodeManifest(data []byte) (Manifest, error) {
	r, err := decode[manifestRecord](data)
	r.Manifest.Started, r.Manifest.Finished = fromMicros(r.Started), fromMicros(r.Finished)
	if err == nil && !r.State.valid() {
		err = fmt.Errorf("%w: state %q", ErrCorrupt, r.State)
	}
	return r.Manifest, err
}

// partialHeader is what goes before the bytes of a partial: the node, its level
// in one byte and its index in eight, big-endian.
const partialHeader = 9

func encodePartial(n jobs.Node, data []byte) []byte {
	value := make([]byte, 0, partialHeader+len(data))
	value = binary.BigEndian.AppendUint64(append(value, n.Level), n.Index)
	return append(value, data...)
}

func decodePartial(value []byte) ([]byte, error) {
	if len(value) < partialHeader {
		return nil, fmt.Errorf("%w: %d bytes are no partial", ErrCorrupt, len(value))
	}
	return value[partialHeader:], nil
}

func encodeTerm(t TermRecord) []byte { return encode(termRecord{t, micros(t.At)}) }

func decodeTerm(data []byte) (TermRecord, error) {
	r, err := decode[termRecord](data)
	r.TermRecord.At = fromMicros(r.At)
	return r.TermRecord, err
}

func encodePoisoned(p Poisoned) []byte { return encode(poisonRecord{p, micros(p.At)}) }

func decodePoisoned(data []byte) (Poisoned, error) {
	r, err := decode[poisonRecord](data)
	r.Poisoned.At = fromMicros(r.At)
	return r.Poisoned, err
}

func encodeSubmission(id string) []byte { return encode(submissionRecord{id}) }

func decodeSubmission(data []byte) (id string, err error) {
	r, err := decode[submissionRecord](data)
	if err == nil && !ValidID(r.ID) {
		err = fmt.Errorf("%w: job ID %q", ErrCorrupt, r.ID)
	}
	return r.ID, err
}

func encode(record any) []byte {
	data, err := encoding.Marshal(record)
	if err != nil {
		panic(err) // every record is made of types that encode
	}
	return append([]byte{formatVersion}, data...)
}

func decode[R any](data []byte) (R, error) {
	var record R
	if len(data) == 0 {
		return record, fmt.Errorf("%w: it is empty", ErrCorrupt)
	}
	if data[0] > formatVersion {
		return record, fmt.Errorf("%w: it is of format %d, this program knows %d", ErrNewer, data[0], formatVersion)
	}
	if data[0] != formatVersion {
		return record, fmt.Errorf("%w: it is of format %d, this program knows %d", ErrCorrupt, data[0], formatVersion)
	}
	if err := decoding.Unmarshal(data[1:], &record); err != nil {
		return record, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return record, nil
}

// micros turns the zero time into 0.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

var (
	encoding = func() cbor.EncMode {
		mode, err := cbor.CoreDetEncOptions().EncMode()
		if err != nil {
			panic(err) // the options are constants
		}
		return mode
	}()
	decoding = func() cbor.DecMode {
		mode, err := cbor.DecOptions{
			DupMapKey:        cbor.DupMapKeyEnforcedAPF,
			IndefLength:      cbor.IndefLengthForbidden,
			TagsMd:           cbor.TagsForbidden,
			MaxNestedLevels:  16,
			MaxArrayElements: 1 << 27, // a manifest lists every skipped partition
			MaxMapPairs:      256,
		}.DecMode()
		if err != nil {
			panic(err) // the options are constants
		}
		return mode
	}()
)
