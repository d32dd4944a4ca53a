package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/internal/record"
)

// These types are the stored forms of records. Stored forms contain times as integers. Each integer
// field has the CBOR key of a time field of the embedded struct, and the encoder writes the integer
// field instead.
type (
	specRecord struct {
		Spec
		Submitted int64 `cbor:"8,keyasint"`
	}
	planRecord struct {
		Partitions uint64 `cbor:"1,keyasint"`
		Data       []byte `cbor:"2,keyasint,omitempty"`
		Found      string `cbor:"20,keyasint,omitempty"`
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
		ID   string  `cbor:"1,keyasint"`
		Spec Version `cbor:"2,keyasint,omitempty"`
	}
	identityRecord struct {
		Identity string `cbor:"1,keyasint"`
	}
)

// specFormat returns the format of a spec. Earlier versions cannot read a guarded spec.
func specFormat(guarded bool) record.Format {
	if guarded {
		return guardedFormat
	}
	return recordFormat
}

// guarded reports whether a leader of an earlier version would run the job in another way: it knows neither estimates nor
// rounds.
func (s Spec) guarded() bool { return s.Estimates || s.Rounds > 0 }

func encodeSpec(s Spec) []byte {
	return specFormat(s.guarded()).Encode(specRecord{s, micros(s.Submitted)})
}

func decodeSpec(data []byte) (Spec, error) {
	guarded := len(data) > 0 && data[0] == guardedVersion
	r, err := decodeAs[specRecord](specFormat(guarded), data)
	r.Spec.Submitted = fromMicros(r.Submitted)
	if err == nil && guarded && !r.guarded() {
		err = fmt.Errorf("%w: spec of a job without estimates and rounds in format %d", ErrCorrupt, guardedVersion)
	}
	if err == nil {
		if err = r.Spec.check(); err != nil {
			err = fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
	}
	return r.Spec, err
}

func encodePlan(p Plan) []byte { return encode(planRecord{p.Partitions, p.Data, p.Found}) }

func decodePlan(data []byte) (Plan, error) {
	r, err := decode[planRecord](data)
	if err == nil {
		if _, treeErr := engine.NewTree(r.Partitions); treeErr != nil {
			err = fmt.Errorf("%w: %w", ErrCorrupt, treeErr)
		}
	}
	return Plan{jobs.Plan{Partitions: r.Partitions, Data: r.Data}, r.Found}, err
}

func encodeManifest(m Manifest) []byte {
	data := encode(manifestRecord{m, micros(m.Started), micros(m.Finished)})
	if m.newer != nil {
		return m.newer.restore(data)
	}
	return data
}

func decodeManifest(data []byte) (Manifest, error) {
	var r manifestRecord
	err := completeFormat.Decode(data, &r)
	complete := err == nil
	if !complete {
		r, err = decode[manifestRecord](data)
	}
	r.Manifest.Started, r.Manifest.Finished = fromMicros(r.Started), fromMicros(r.Finished)
	if err == nil && !r.State.valid() {
		err = fmt.Errorf("%w: state %q", ErrCorrupt, r.State)
	}
	if err == nil && !complete {
		r.newer = newNewerFields(data, encodeManifest(r.Manifest))
	}
	return r.Manifest, err
}

// partialHeader is the size of the header of a partial: one byte for the node's level
// and eight bytes for the node's index, big-endian.
const partialHeader = 9

func encodePartial(n engine.Node, data []byte) []byte {
	value := make([]byte, partialHeader+len(data))
	value[0] = n.Level
	binary.BigEndian.PutUint64(value[1:], n.Index)
	copyTo(value[partialHeader:], data)
	return value
}

// decodePartial returns the data of a partial. decodePartial moves the data to the beginning of
// value, so that the data is aligned and can be decoded in place.
func decodePartial(value []byte) ([]byte, error) {
	if len(value) < partialHeader {
		return nil, fmt.Errorf("%w: partial of %d bytes, want at least %d", ErrCorrupt, len(value), partialHeader)
	}
	copyTo(value, value[partialHeader:])
	return value[:len(value)-partialHeader], nil
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

func encodeSubmission(s submissionRecord) []byte { return encode(s) }

func decodeSubmission(data []byte) (submissionRecord, error) {
	r, err := decode[submissionRecord](data)
	if err == nil && !ValidID(r.ID) {
		err = fmt.Errorf("%w: job ID %q", ErrCorrupt, r.ID)
	}
	return r, err
}

func encodeIdentity(id string) []byte { return encode(identityRecord{id}) }

func decodeIdentity(data []byte) (id string, err error) {
	r, err := decode[identityRecord](data)
	if err == nil && !identityForm.MatchString(r.Identity) {
		err = fmt.Errorf("%w: identity %.100q", ErrCorrupt, r.Identity)
	}
	return r.Identity, err
}

// formatVersion is the first byte of each record, except partials and results. A change that an
// earlier program would misread needs a new version; a new optional field does not.
const formatVersion = 1

// guardedVersion is the first byte of the spec of a job with estimates or rounds. A leader of a version without them would
// complete all partitions of the job once, and the result would depend on which version led. It cannot read this format,
// so it parks the job, and the next leader loads the job again. Specs of jobs with estimates that were written before
// this format have formatVersion.
const guardedVersion = 2

var (
	recordOptions = record.Strict(
		1<<27, // bounds the skipped partitions that a manifest can list
		256,
	)
	recordFormat  = record.New(formatVersion, cbor.CoreDetEncOptions(), recordOptions)
	guardedFormat = record.New(guardedVersion, cbor.CoreDetEncOptions(), recordOptions)
)

func encode(value any) []byte { return recordFormat.Encode(value) }

func decode[R any](data []byte) (R, error) { return decodeAs[R](recordFormat, data) }

func decodeAs[R any](format record.Format, data []byte) (R, error) {
	var value R
	err := format.Decode(data, &value)
	var version *record.VersionError
	switch {
	case err == nil:
		return value, nil
	case errors.As(err, &version) && version.Got > version.Known:
		return value, fmt.Errorf("%w: %w", ErrNewer, err)
	default:
		return value, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
}

// micros returns t in microseconds since 1970, or 0 for the zero time.
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
