package jobs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"reflect"
	"slices"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// Attachment is a part of a result that is too large for JSON, such as a vector of numbers. A
// definition whose result has an attachment declares a field of type Attachment in its type R, or
// uses Attachment as R:
//
//	type result struct {
//		Mean    float64         `json:"mean"`
//		Vectors jobs.Attachment `json:"vectors"`
//	}
//
// The bytes go to storage, in pieces. The JSON of the result contains the attachment's name, size
// and SHA-256, so a change of the bytes changes the result's SHA-256 too:
//
//	{"mean": 1.5, "vectors": {"attachment": "vectors.f64", "size": 8000000, "sha256": "5f70…"}}
//
// The command "bellwether result ID --save FILE" and package jobs/client fetch the bytes. When a
// job is removed, its attachment is removed too. The zero Attachment means that there is no
// attachment.
type Attachment struct {
	name, sha256 string
	size         int64
	data         []byte
	spills       []string          // names of what the attachment consists of, if it has no data
	section      *io.SectionReader // section of a file with the bytes, if it has neither data nor spills
}

// NewAttachment returns an attachment with a name, which is shown to the user: 1 to 100 characters
// without slashes and control characters. The caller must not use the slice data after the call.
func NewAttachment(name string, data []byte) Attachment {
	sum := engine.Digest(data)
	return Attachment{name: name, sha256: hex.EncodeToString(sum[:]), size: int64(len(data)), data: data}
}

// AttachSpills returns an attachment that consists of what [PutSpill] has moved to storage, in the order of the names. A
// result can therefore be larger than a worker. AttachSpills is called by Finish. It reads all data once for their
// SHA-256, and needs memory for a few spills.
func AttachSpills(ctx context.Context, name string, spills []string) (Attachment, error) {
	a := Attachment{name: name, spills: spills}
	sum := sha256.New()
	for data, err := range spillsOf(ctx, spills) {
		if err != nil {
			return Attachment{}, fmt.Errorf("attachment %q: %w", name, err)
		}
		a.size += int64(len(data))
		sum.Write(data) // never returns an error
	}
	a.sha256 = hex.EncodeToString(sum.Sum(nil))
	return a, nil
}

// AttachSection returns an attachment that consists of a section of the root that the method Finish of a [Large] has got. It
// reads the section once for the SHA-256.
func AttachSection(name string, section *io.SectionReader) (Attachment, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(section, 0, section.Size())); err != nil {
		return Attachment{}, fmt.Errorf("attachment %q: %w", name, err)
	}
	return Attachment{name: name, sha256: hex.EncodeToString(sum.Sum(nil)), size: section.Size(), section: section}, nil
}

// Name returns the attachment's name, which is empty for the zero Attachment.
func (a Attachment) Name() string { return a.name }

// Size returns the attachment's size in bytes.
func (a Attachment) Size() int64 { return a.size }

// SHA256 returns the SHA-256 of the bytes in hexadecimal.
func (a Attachment) SHA256() string { return a.sha256 }

// Data returns the bytes, or nil if the attachment was decoded from a result or is not in memory. The caller must not
// change the bytes.
func (a Attachment) Data() []byte { return a.data }

// Pieces implements [engine.Attachment].
func (a Attachment) Pieces(ctx context.Context, size int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for piece := range slices.Chunk(a.data, size) {
			if !yield(piece, nil) {
				return
			}
		}
		for at := int64(0); a.section != nil && at < a.size; at += int64(size) {
			piece := make([]byte, min(int64(size), a.size-at))
			if _, err := a.section.ReadAt(piece, at); err != nil && !errors.Is(err, io.EOF) {
				yield(nil, fmt.Errorf("attachment %q: %w", a.name, err))
				return
			}
			if !yield(piece, nil) {
				return
			}
		}
		var piece []byte
		for data, err := range spillsOf(ctx, a.spills) {
			if err != nil {
				yield(nil, fmt.Errorf("attachment %q: %w", a.name, err))
				return
			}
			for len(data) > 0 {
				if piece == nil {
					piece = make([]byte, 0, size)
				}
				n := min(len(data), size-len(piece))
				piece, data = append(piece, data[:n]...), data[n:]
				if len(piece) < size {
					break
				}
				if !yield(piece, nil) {
					return
				}
				piece = nil
			}
		}
		if len(piece) > 0 {
			yield(piece, nil)
		}
	}
}

// inMemory returns the attachment with its bytes in memory.
func (a Attachment) inMemory(ctx context.Context) (Attachment, error) {
	if a.spills == nil {
		return a, nil
	}
	data := make([]byte, 0, a.size)
	for piece, err := range a.Pieces(ctx, 1<<20) {
		if err != nil {
			return Attachment{}, err
		}
		data = append(data, piece...)
	}
	a.data, a.spills = data, nil
	return a, nil
}

// attachmentJSON is the form of an attachment in the JSON of a result.
type attachmentJSON struct {
	Name   *string `json:"attachment"`
	Size   *int64  `json:"size"`
	SHA256 *string `json:"sha256"`
}

// MarshalJSON returns the attachment's name, size and SHA-256, or null for the zero
// Attachment.
func (a Attachment) MarshalJSON() ([]byte, error) {
	if a.name == "" {
		return []byte("null"), nil
	}
	return json.Marshal(attachmentJSON{&a.name, &a.size, &a.sha256})
}

// UnmarshalJSON decodes the output of MarshalJSON. The decoded attachment has no data.
func (a *Attachment) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*a = Attachment{}
		return nil
	}
	decoded, ok := decodeAttachment(data)
	if !ok {
		return fmt.Errorf("decode attachment %.100q: want its attachment, size and sha256", data)
	}
	*a = decoded
	return nil
}

// decodeAttachment decodes the JSON form of an attachment. The result ok is false if data has
// another form.
func decodeAttachment(data []byte) (a Attachment, ok bool) {
	var j attachmentJSON
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if d.Decode(&j) != nil || j.Name == nil || j.Size == nil || j.SHA256 == nil {
		return a, false
	}
	a = Attachment{name: *j.Name, size: *j.Size, sha256: *j.SHA256}
	sum, err := hex.DecodeString(a.sha256)
	return a, err == nil && len(sum) == sha256.Size && a.size >= 0 && a.check() == nil
}

const maxAttachmentName = 100

func (a Attachment) check() error {
	if a.name == "" || len(a.name) > maxAttachmentName || strings.ContainsFunc(a.name, func(r rune) bool { return r < ' ' || r == '/' || r == '\\' || r == 0x7f }) {
		return fmt.Errorf("attachment %.100q: want a name of 1 to %d characters without slashes and control characters", a.name, maxAttachmentName)
	}
	return nil
}

// complete returns an error if the attachment of a result cannot be stored.
func (a Attachment) complete() error {
	if a.name == "" && a.data == nil {
		return nil
	}
	if a.spills == nil && a.section == nil && int64(len(a.data)) != a.size {
		return fmt.Errorf("attachment %q has %d of its %d bytes: want one that NewAttachment returned", a.name, len(a.data), a.size)
	}
	return a.check()
}

// FindAttachment returns the attachment that the JSON of a result describes, without its data. If the result
// has no attachment, FindAttachment returns false.
func FindAttachment(result json.RawMessage) (Attachment, bool) {
	text := bytes.TrimSpace(result)
	if len(text) == 0 || text[0] != '{' || !bytes.Contains(text, []byte(`"attachment"`)) {
		return Attachment{}, false
	}
	if a, ok := decodeAttachment(text); ok {
		return a, true
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		return Attachment{}, false
	}
	for d.More() {
		var value json.RawMessage
		if _, err := d.Token(); err != nil || d.Decode(&value) != nil {
			break
		}
		if a, ok := FindAttachment(value); ok {
			return a, true
		}
	}
	return Attachment{}, false
}

var attachmentType = reflect.TypeFor[Attachment]()

// attachmentField returns the indices of the struct fields that lead to the only Attachment in a
// result's type. The result ok is false if the type has no Attachment.
func attachmentField(t reflect.Type) (index []int, ok bool, err error) {
	places, hidden := findAttachments(t, nil, nil)
	switch {
	case hidden:
		return nil, false, errors.New("an Attachment is in a slice, an array, a map or behind a pointer: want one in a field")
	case len(places) > 1:
		return nil, false, errors.New("there are several fields of type Attachment: want one")
	case len(places) == 0:
		return nil, false, nil
	}
	return places[0], true, nil
}

// findAttachments returns the field indices of all attachments in struct fields. The result hidden
// is true if the type also has attachments in slices, maps or other types that are not structs.
func findAttachments(t reflect.Type, at []int, within []reflect.Type) (places [][]int, hidden bool) {
	if t == attachmentType {
		return [][]int{at}, false
	}
	for _, w := range within {
		if w == t {
			return nil, false
		}
	}
	within = append(within[:len(within):len(within)], t)
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		found, inner := findAttachments(t.Elem(), nil, within)
		return nil, inner || len(found) > 0
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if !f.IsExported() || f.Tag.Get("json") == "-" {
				continue
			}
			found, inner := findAttachments(f.Type, append(at[:len(at):len(at)], i), within)
			places, hidden = append(places, found...), hidden || inner
		}
	}
	return places, hidden
}
