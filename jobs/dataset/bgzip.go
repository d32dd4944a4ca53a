package dataset

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	flatelib "github.com/klauspost/compress/flate"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
)

// An object that bgzip has written consists of members of gzip. The header of each member has the size of the member, so
// the object can be cut between members without an index. The format is BGZF in the SAM specification, section 4.1.
const (
	maxMember     = 64 << 10 // maximum size in bytes of a member, and of its content
	memberHeader  = 18       // size of a header in bytes
	memberTrailer = 8        // size of the CRC and the length of the content, in bytes

	// memberWindow is the number of bytes that show where the first member at or after an offset begins: the header is in the
	// first maxMember bytes, and the chain of the next members in the other bytes.
	memberWindow = 3*maxMember + memberHeader
)

// memberMagic is the beginning of each member: gzip, deflate, with extra fields alone.
const memberMagic = "\x1f\x8b\x08\x04"

// memberSize returns the size of the member that begins with the header at the beginning of b, or 0 if there is no such header.
func memberSize(b []byte) int {
	if len(b) < memberHeader || string(b[:4]) != memberMagic || binary.LittleEndian.Uint16(b[10:]) != 6 || string(b[12:16]) != "BC\x02\x00" {
		return 0
	}
	size := int(binary.LittleEndian.Uint16(b[16:])) + 1
	if size <= memberHeader+memberTrailer {
		return 0
	}
	return size
}

// virtualOffset is set in the offsets of records that do not begin in the first member of an object of bgzip. The other bits are
// the virtual offset of htslib: the offset of the member in the stored object, and in the last 16 bits the offset in its content.
// Offsets in the whole content are not known when an object is read from its middle.
const (
	virtualOffset = 1 << 62
	memberBits    = 16
)

// offsetOf returns the offset of the first byte of a member's content.
func offsetOf(member int64) int64 {
	if member == 0 {
		return 0
	}
	return virtualOffset | member<<memberBits
}

// position describes an offset for an error message.
func position(offset int64) string {
	if offset&virtualOffset == 0 {
		return fmt.Sprintf("byte %d", offset)
	}
	return fmt.Sprintf("byte %d of the content of the bgzip member at byte %d", offset&(1<<memberBits-1), offset&^virtualOffset>>memberBits)
}

// memberReader reads the members of an object that begin in a range of the stored bytes.
//
//	range          from                                to
//	members   …───┤├─────────┤├─────────┤├────────┤├───────────┤├──────…
//	                 read       read       read        read
//
// The range may begin in the middle of a member. The next member begins where the first header is whose chain, the offsets to
// which the sizes lead, has headers for maxMember bytes. Compressed data that contain headers, as those of an object of bgzip
// in another one, do not have such a chain, because it would have to cross the border of the members. The reader of a range
// also finds the next member after the end of the range in this way, and fails if that is not where its last member ends. So
// the readers of all ranges together have either read each member once, or one of them has failed.
type memberReader struct {
	raw    io.Reader // stored bytes of the object, from the beginning of the range
	object source.Object
	from   int64
	to     int64

	begun  bool
	at     int64  // offset of the next member
	memory []byte // memory for buffer
	buffer []byte // stored bytes that were read from raw
	base   int64  // offset of buffer
	ended  bool   // true if raw has no more bytes

	compressed bytes.Reader
	inflate    io.Reader
	content    []byte // memory for Read
	rest       []byte // content that Read has not returned
}

// memberMemory is the size of the memory for stored bytes. It is larger than memberWindow, so that bytes are moved rarely.
const memberMemory = 512 << 10

func newMemberReader(raw io.Reader, o source.Object, from, to int64) *memberReader {
	m := &memberReader{raw: raw, object: o, from: from, to: to, base: from, memory: make([]byte, min(memberMemory, storedEnd(o, to)-from))}
	m.buffer = m.memory[:0]
	return m
}

// storedEnd returns the offset up to which a memberReader reads the stored bytes of a range that ends at an offset.
func storedEnd(o source.Object, to int64) int64 { return min(o.Size, to+memberWindow) }

// load returns the stored bytes [from, to), or fewer if the object ends before. It forgets the bytes before from.
func (m *memberReader) load(from, to int64) ([]byte, error) {
	drop := min(int64(len(m.buffer)), from-m.base)
	m.buffer, m.base = m.buffer[drop:], m.base+drop
	want := int(min(to, m.object.Size) - from)
	if cap(m.buffer) < want {
		m.buffer = m.memory[:copy(m.memory, m.buffer)]
	}
	for len(m.buffer) < want && !m.ended {
		n, err := m.raw.Read(m.buffer[len(m.buffer):cap(m.buffer)])
		m.buffer = m.buffer[:len(m.buffer)+n]
		if m.ended = errors.Is(err, io.EOF); err != nil && !m.ended {
			return nil, err
		}
	}
	return m.buffer[:min(len(m.buffer), want)], nil
}

// isBgzip reports whether the object begins with a member of bgzip.
func (m *memberReader) isBgzip() (bool, error) {
	text, err := m.load(0, memberHeader)
	return memberSize(text) > 0, err
}

// find returns the offset of the first member that begins at or after an offset, or the size of the object if no such member exists.
func (m *memberReader) find(from int64) (int64, error) {
	text, err := m.load(from, from+memberWindow)
	if err != nil {
		return 0, err
	}
	ends, truncated := from+int64(len(text)) == m.object.Size, int64(-1)
	for i := 0; i < maxMember; i++ {
		next := bytes.Index(text[min(i, len(text)):], []byte(memberMagic))
		if i += next; next < 0 || i >= maxMember {
			break
		}
		whole, ok := chain(text[i:], ends)
		if whole {
			return from + int64(i), nil
		}
		if ok && truncated < 0 {
			truncated = from + int64(i)
		}
	}
	switch {
	case truncated >= 0:
		return truncated, nil
	case ends && len(text) < maxMember:
		return m.object.Size, nil
	}
	return 0, m.fault(from, "no member of bgzip begins in the %d stored bytes from here", maxMember)
}

// chain reports whether the text begins with a member of which the chain is whole, or whether it could be, but the object ends in
// one of its members. The parameter ends is true if the text ends at the end of the object.
func chain(text []byte, ends bool) (whole, ok bool) {
	for at := 0; ; {
		if ends && at >= len(text) {
			return at == len(text), true
		}
		size := memberSize(text[at:])
		switch {
		case size == 0:
			return false, false
		case at >= maxMember:
			return true, true
		}
		at += size
	}
}

func (m *memberReader) fault(at int64, format string, args ...any) error {
	return &Fault{Object: m.object.Name, Offset: at, Text: fmt.Sprintf(format, args...) + ": write the object again"}
}

// next decompresses the next member to the given memory of at least maxMember bytes. It returns the content and the offset of
// the member. After the last member of the range, it returns io.EOF.
func (m *memberReader) next(memory []byte) (content []byte, at int64, err error) {
	if !m.begun && m.from > 0 {
		if m.at, err = m.find(m.from); err != nil {
			return nil, 0, err
		}
	}
	m.begun = true
	if m.at >= m.to {
		return nil, 0, m.end()
	}
	text, err := m.load(m.at, m.at+maxMember)
	if err != nil {
		return nil, 0, err
	}
	size := memberSize(text)
	switch {
	case size > len(text) || size == 0 && len(text) < memberHeader:
		return nil, 0, m.fault(m.at, "the member of bgzip that begins at this stored byte is truncated")
	case size == 0:
		return nil, 0, m.fault(m.at, "no member of bgzip begins at this stored byte, after members of bgzip: other members of gzip, padding and damage are refused")
	}
	if content, err = m.decompress(text[:size], memory[:maxMember]); err != nil {
		return nil, 0, m.fault(m.at, "the member of bgzip that begins at this stored byte is damaged (%v)", err)
	}
	at, m.at = m.at, m.at+int64(size)
	return content, at, nil
}

// end returns io.EOF if the next range begins with the member after this range.
func (m *memberReader) end() error {
	if m.to >= m.object.Size {
		return io.EOF
	}
	next, err := m.find(m.to)
	if err == nil && next != m.at {
		err = m.fault(m.at, "a member of bgzip should begin at this stored byte, but the next one that can be found from byte %d on begins at %d", m.to, next)
	}
	if err != nil {
		return err
	}
	return io.EOF
}

var (
	errMemberSize = errors.New("its size is wrong")
	errMemberSum  = errors.New("its CRC is wrong")
)

// decompress decompresses a member, and checks its size and its CRC.
func (m *memberReader) decompress(member, memory []byte) ([]byte, error) {
	body, trailer := member[memberHeader:len(member)-memberTrailer], member[len(member)-memberTrailer:]
	sum, size := binary.LittleEndian.Uint32(trailer), binary.LittleEndian.Uint32(trailer[4:])
	if size > maxMember {
		return nil, errMemberSize
	}
	m.compressed.Reset(body)
	if m.inflate == nil {
		m.inflate = flatelib.NewReader(&m.compressed)
	} else if err := m.inflate.(flatelib.Resetter).Reset(&m.compressed, nil); err != nil {
		return nil, err
	}
	content := memory[:size]
	if _, err := io.ReadFull(m.inflate, content); err != nil {
		return nil, err
	}
	if n, err := m.inflate.Read(make([]byte, 1)); n > 0 || !errors.Is(err, io.EOF) || m.compressed.Len() > 0 {
		return nil, errMemberSize
	}
	if crc32.ChecksumIEEE(content) != sum {
		return nil, errMemberSum
	}
	return content, nil
}

// Read implements io.Reader.
func (m *memberReader) Read(p []byte) (n int, err error) {
	if m.content == nil {
		m.content = make([]byte, maxMember)
	}
	for len(m.rest) == 0 {
		if m.rest, _, err = m.next(m.content); err != nil {
			return 0, err
		}
	}
	n = copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// loadMembers returns a number of bytes of the content of an object of bgzip, from the offset of a record on.
func (r reader) loadMembers(ctx context.Context, o source.Object, offset, length int64) ([]byte, error) {
	member, skip := offset&^virtualOffset>>memberBits, offset&(1<<memberBits-1)
	stream := r.open(ctx, o, member, o.Size)
	defer stream.Close()
	m := newMemberReader(stream, o, member, o.Size)
	m.begun, m.at = true, member
	all := make([]byte, skip+length)
	_, err := io.ReadFull(m, all)
	return all[skip:], err
}
