// Package avrotest writes Avro object containers for tests.
package avrotest

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"hash/crc32"
	"math"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

// Marker is the sync marker of the objects.
const Marker = "0123456789abcdef"

// Long returns an int or a long.
func Long(n int64) []byte { return binary.AppendVarint(nil, n) }

// Text returns a string or bytes.
func Text(text string) []byte { return append(Long(int64(len(text))), text...) }

// Double returns a double.
func Double(f float64) []byte { return binary.LittleEndian.AppendUint64(nil, math.Float64bits(f)) }

// Record returns a record of fields.
func Record(fields ...[]byte) []byte { return bytes.Join(fields, nil) }

// Header returns the beginning of an object.
func Header(schema, codec string) []byte {
	return Record([]byte("Obj\x01"), Long(2), Text("avro.schema"), Text(schema), Text("avro.codec"), Text(codec), Long(0), []byte(Marker))
}

// Block returns a block of records.
func Block(codec string, records ...[]byte) []byte {
	content := compress(codec, bytes.Join(records, nil))
	return Record(Long(int64(len(records))), Long(int64(len(content))), content, []byte(Marker))
}

// Object returns an object with blocks of a number of records.
func Object(schema, codec string, size int, records ...[]byte) []byte {
	object := Header(schema, codec)
	for len(records) > 0 {
		n := min(size, len(records))
		object = append(object, Block(codec, records[:n]...)...)
		records = records[n:]
	}
	return object
}

// compress compresses the content of a block. Writing to memory does not fail.
func compress(codec string, content []byte) []byte {
	switch codec {
	case "deflate":
		var out bytes.Buffer
		w, _ := flate.NewWriter(&out, flate.DefaultCompression)
		_, _ = w.Write(content)
		_ = w.Close()
		return out.Bytes()
	case "snappy":
		return binary.BigEndian.AppendUint32(snappy.Encode(nil, content), crc32.ChecksumIEEE(content))
	case "zstandard":
		w, _ := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
		defer w.Close()
		return w.EncodeAll(content, nil)
	}
	return content
}
