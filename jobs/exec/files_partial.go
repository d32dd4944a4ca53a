package exec

import (
	"encoding/binary"
	"encoding/hex"
	"slices"

	"github.com/bellwether-compute/bellwether/jobs/dataset/output"
)

// files describes the files that the calls of a partial have written, in the order of the partitions.
type files struct {
	output string // ID of the output; empty if the job has none
	// items contains for each call the number of its files, the item if there are files, and for each
	// file the name of its object, the path, the number of bytes and the SHA-256.
	items []byte
}

// newFiles describes the files of one call.
func newFiles(id, item string, parts []output.Part) files {
	b := binary.AppendUvarint(nil, uint64(len(parts)))
	if len(parts) > 0 {
		b = appendText(b, item)
	}
	for _, p := range parts {
		b = appendText(appendText(b, p.Name), p.Path)
		b = binary.AppendUvarint(b, uint64(p.Bytes))
		sum, _ := hex.DecodeString(p.SHA256) // package output has encoded the sum
		b = append(b, sum...)
	}
	return files{id, b}
}

// and returns the files of neighbouring partials. It changes neither operand.
func (f files) and(right files) files { return files{f.output, slices.Concat(f.items, right.items)} }

// parts returns the files, and the number of calls.
func (f files) parts() (calls uint64, parts []output.Part, err error) {
	r := fieldReader{rest: f.items}
	for len(r.rest) > 0 {
		n := r.number()
		item := ""
		if n > 0 {
			item = r.text()
		}
		for ; n > 0 && !r.bad; n-- {
			p := output.Part{Name: r.text(), Path: r.text(), Bytes: int64(r.number()), Item: item}
			p.SHA256 = hex.EncodeToString(r.bytes(32))
			parts = append(parts, p)
		}
		if r.bad {
			return 0, nil, errPartial
		}
		calls++
	}
	return calls, parts, nil
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// fieldReader reads fields. After the first damaged field it sets bad and returns zero values.
type fieldReader struct {
	rest []byte
	bad  bool
}

func (r *fieldReader) number() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || n > 1<<62 {
		r.rest, r.bad = nil, true
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *fieldReader) text() string { return string(r.bytes(r.number())) }

func (r *fieldReader) bytes(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.rest, r.bad = nil, true
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}
