package avro

import (
	"bytes"
	"compress/bzip2"
	"compress/flate"
	encoding "encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

const (
	magic      = "Obj\x01"
	markerSize = 16

	// MaxHeader is the largest size of a header in bytes.
	MaxHeader  = 16 << 20
	maxBlock   = 128 << 20
	maxContent = 512 << 20
	maxWindow  = 128 << 20 // of zstandard
)

// DamagedError is the error for an object that is not Avro, or is damaged.
type DamagedError struct{ text string }

func (e *DamagedError) Error() string { return e.text }

func damaged(format string, args ...any) error { return &DamagedError{fmt.Sprintf(format, args...)} }

// ErrShort is the error for bytes that end before the end of a header or of a block.
var ErrShort = errors.New("the object is truncated")

// File is the header of an object.
type File struct {
	Size   int64            // size of the header in bytes: the offset of the first block
	Marker [markerSize]byte // sync marker, with which the header and each block end

	schema *typ
	codec  string
	limit  int // largest size in bytes of a block after decompression
}

// ReadHeader reads the header at the beginning of an object. It returns ErrShort if the header needs more bytes.
func ReadHeader(object []byte) (*File, error) {
	if n := min(len(object), len(magic)); string(object[:n]) != magic[:n] {
		return nil, damaged("the object does not begin like an Avro object container")
	}
	if len(object) < len(magic) {
		return nil, ErrShort
	}
	r := raw{rest: object[len(magic):]}
	meta := map[string][]byte{}
	for {
		n := r.long()
		if n < 0 {
			r.long() // size in bytes
			n = -n
		}
		if n < 0 {
			return nil, errHeader
		}
		if n == 0 || r.short {
			break
		}
		for ; n > 0 && !r.short; n-- {
			key := string(r.bytes())
			meta[key] = r.bytes()
		}
	}
	if r.bad {
		return nil, errHeader
	}
	if r.short || len(r.rest) < markerSize {
		if len(object) >= MaxHeader {
			return nil, fmt.Errorf("the header has more than %d bytes, which is the limit", MaxHeader)
		}
		return nil, ErrShort
	}
	f := &File{Size: int64(len(object)-len(r.rest)) + markerSize, codec: string(meta["avro.codec"]), limit: maxContent}
	copy(f.Marker[:], r.rest)
	if f.codec == "" {
		f.codec = "null"
	}
	if _, ok := codecs[f.codec]; !ok {
		return nil, fmt.Errorf("the codec %.80q cannot be read: write the object with null, deflate, snappy, zstandard or bzip2", f.codec)
	}
	var err error
	f.schema, err = parseSchema(meta["avro.schema"])
	return f, err
}

var errHeader = damaged("the header of the object is damaged")

// raw reads numbers and bytes. After the end of the bytes, short is true.
type raw struct {
	rest       []byte
	short, bad bool
}

func (r *raw) long() int64 {
	if r.short {
		return 0
	}
	n, size := encoding.Varint(r.rest)
	if size <= 0 {
		r.short, r.bad = true, r.bad || size < 0
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *raw) bytes() []byte {
	n := r.long()
	if r.short || n < 0 || n > int64(len(r.rest)) {
		r.short, r.bad = true, r.bad || n < 0
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

// Block is the beginning of a block.
type Block struct {
	Records int64
	Begin   int // offset of the stored records after the beginning of the block
	Size    int // number of bytes from the beginning of the block to its sync marker
}

// Block reads the beginning of a block. It returns ErrShort if more bytes are needed.
func (f *File) Block(b []byte) (Block, error) {
	r := raw{rest: b}
	records, size := r.long(), r.long()
	switch {
	case r.bad || records < 0 || size < 0:
		return Block{}, damaged("the number of records or the size of a block is damaged")
	case r.short:
		return Block{}, ErrShort
	case size > maxBlock:
		return Block{}, fmt.Errorf("a block has %d bytes, more than the limit of %d: write smaller blocks", size, maxBlock)
	}
	begin := len(b) - len(r.rest)
	return Block{Records: records, Begin: begin, Size: begin + int(size)}, nil
}

// codecs are the functions that decompress a block, whose content has at most a number of bytes.
var codecs = map[string]func(stored []byte, limit int) ([]byte, error){
	"null": func(stored []byte, _ int) ([]byte, error) { return stored, nil },
	"deflate": func(stored []byte, limit int) ([]byte, error) {
		return readAll(flate.NewReader(bytes.NewReader(stored)), limit)
	},
	"bzip2": func(stored []byte, limit int) ([]byte, error) {
		return readAll(bzip2.NewReader(bytes.NewReader(stored)), limit)
	},
	"snappy":    fromSnappy,
	"zstandard": fromZstd,
}

// content decompresses the stored records of a block.
func (f *File) content(stored []byte) ([]byte, error) {
	content, err := codecs[f.codec](stored, f.limit)
	if err != nil && !errors.Is(err, errContent) {
		err = damaged("a block is not %s, or is damaged: %v", f.codec, err)
	}
	return content, err
}

var errContent = fmt.Errorf("a block has more than %d bytes after decompression: write smaller blocks", maxContent)

// readAll reads the content of a block.
func readAll(from io.Reader, limit int) ([]byte, error) {
	var out bytes.Buffer
	n, err := out.ReadFrom(io.LimitReader(from, int64(limit)+1))
	if n > int64(limit) {
		return nil, errContent
	}
	return out.Bytes(), err
}

// fromSnappy decompresses a block, which ends in the CRC of its content.
func fromSnappy(stored []byte, limit int) ([]byte, error) {
	if len(stored) < 4 {
		return nil, errors.New("it has no checksum")
	}
	stored, sum := stored[:len(stored)-4], encoding.BigEndian.Uint32(stored[len(stored)-4:])
	n, err := snappy.DecodedLen(stored)
	switch {
	case err != nil:
		return nil, err
	case n > 32*len(stored): // an element of three bytes has at most 64 bytes of content
		return nil, snappy.ErrCorrupt
	case n > limit:
		return nil, errContent
	}
	content, err := snappy.Decode(nil, stored)
	if err == nil && crc32.ChecksumIEEE(content) != sum {
		err = errors.New("its checksum is wrong")
	}
	return content, err
}

func fromZstd(stored []byte, limit int) ([]byte, error) {
	d, err := zstd.NewReader(bytes.NewReader(stored), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return readAll(d, limit)
}
