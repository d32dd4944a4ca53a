package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/fxamacker/cbor/v2"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
)

// rope is a contiguous part of an object's text. It consists of pieces, which come from several
// partials.
type rope struct {
	_ struct{} `cbor:",toarray"`

	Object source.Object
	Offset int64 // offset of the text in the object
	Parts  []strand

	Header int // index of the object's list of columns; 0 if columns are not read by name
}

// storedRope and storedUnion are the encodings of a rope whose Header is 0, and of another.
type (
	storedRope struct {
		_ struct{} `cbor:",toarray"`

		Object source.Object
		Offset int64
		Parts  []strand
	}
	storedUnion struct {
		_ struct{} `cbor:",toarray"`

		Object source.Object
		Offset int64
		Parts  []strand
		Header int
	}
)

// MarshalCBOR implements cbor.Marshaler. Ropes without Header are encoded as earlier programs do.
func (r rope) MarshalCBOR() ([]byte, error) {
	if r.Header == 0 {
		return typesEncoding.Marshal(storedRope{Object: r.Object, Offset: r.Offset, Parts: r.Parts})
	}
	return typesEncoding.Marshal(storedUnion{Object: r.Object, Offset: r.Offset, Parts: r.Parts, Header: r.Header})
}

var errRope = errors.New("damaged rope")

// UnmarshalCBOR implements cbor.Unmarshaler.
func (r *rope) UnmarshalCBOR(data []byte) error {
	const three = 4<<5 | 3 // first byte of an array of three elements
	if len(data) > 0 && data[0] == three {
		var s storedRope
		err := cbor.Unmarshal(data, &s)
		*r = rope{Object: s.Object, Offset: s.Offset, Parts: s.Parts}
		return err
	}
	var s storedUnion
	err := cbor.Unmarshal(data, &s)
	if err == nil && s.Header < 0 {
		err = errRope
	}
	*r = rope{Object: s.Object, Offset: s.Offset, Parts: s.Parts, Header: s.Header}
	return err
}

// strand is one piece of a rope. If Bytes is nil, the piece has only a length, and the text is read
// again when it is needed.
type strand struct {
	_ struct{} `cbor:",toarray"`

	Bytes  []byte
	Length int64
}

// maxStrand is the maximum size in bytes up to which neighbouring strands are joined into one
// strand.
const maxStrand = 64 << 10

func (r rope) empty() bool { return len(r.Parts) == 0 }

// length returns the number of bytes of the text.
func (r rope) length() (n int64) {
	for _, s := range r.Parts {
		n += s.Length
	}
	return n
}

// append appends a copy of bytes.
func (r *rope) append(text []byte) {
	if len(text) == 0 {
		return
	}
	if n := len(r.Parts); n > 0 {
		if last := &r.Parts[n-1]; last.Bytes != nil && len(last.Bytes)+len(text) <= maxStrand {
			last.Bytes = append(last.Bytes, text...)
			last.Length = int64(len(last.Bytes))
			return
		}
	}
	r.Parts = append(r.Parts, strand{Bytes: slices.Clone(text), Length: int64(len(text))})
}

// join returns the text of left followed by right. It may change left.
func join(left, right rope) rope {
	if left.empty() {
		return right
	}
	for _, s := range right.Parts {
		if s.Bytes != nil {
			left.append(s.Bytes)
		} else {
			left.Parts = append(left.Parts, s)
		}
	}
	return left
}

// text returns the text of the rope. It returns false if the text of a strand must first be read
// again.
func (r rope) text() ([]byte, bool) {
	if len(r.Parts) == 1 {
		return r.Parts[0].Bytes, r.Parts[0].Bytes != nil
	}
	var all []byte
	for _, s := range r.Parts {
		if s.Bytes == nil {
			return nil, false
		}
		all = append(all, s.Bytes...)
	}
	return all, true
}

// load returns the text of the rope. It reads the strands that have only a length. Of compressed objects, only those of bgzip have
// such strands, and their offsets are known only at the beginning of the rope.
func (r rope) load(ctx context.Context, from reader) ([]byte, error) {
	if compressionOf(r.Object.Name) == gzip {
		return from.loadMembers(ctx, r.Object, r.Offset, r.length())
	}
	var all []byte
	at := r.Offset
	for _, s := range r.Parts {
		if s.Bytes != nil {
			all = append(all, s.Bytes...)
		} else {
			part := make([]byte, s.Length)
			body := from.open(ctx, r.Object, at, at+s.Length)
			_, err := io.ReadFull(body, part)
			body.Close()
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", r.Object.Name, err)
			}
			all = append(all, part...)
		}
		at += s.Length
	}
	return all, nil
}
