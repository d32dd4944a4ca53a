package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/parquet-go/parquet-go/format"
)

const (
	// maxDecoded is the number of bytes of memory that the decoded pages of a row group may need, which are
	// the dictionary and one other page of each column. maxRatio is the number of bytes that they may need
	// beside for each stored byte of the columns.
	maxDecoded = 512 << 20
	maxRatio   = 16
	// bytesOfValue and bytesOfEntry are the numbers of bytes of memory for a value of a page, and of a
	// dictionary, beside the bytes of the page.
	bytesOfValue = 9
	bytesOfEntry = 64
)

// budget bounds the memory for the decoded pages of a row group.
type budget struct{ limit, used int64 }

func newBudget(stored int64) *budget { return &budget{limit: maxDecoded + maxRatio*stored} }

// replace replaces the cost of a page by that of the next page.
func (b *budget) replace(cost *int64, by int64) error {
	b.used += by - *cost
	*cost = by
	if b.used > b.limit {
		return &UnreadableError{fmt.Sprintf("the pages of the columns in the row group need more than %d bytes of memory, which is the limit of %d and %d times the stored size: leave columns out, or write smaller pages", b.limit, maxDecoded, maxRatio)}
	}
	return nil
}

// codes and oldCodes are the encodings of pages whose values are in a dictionary.
const (
	codes    = format.RLEDictionary
	oldCodes = format.Encoding(2) // PLAIN_DICTIONARY, which is deprecated, and which old writers use
)

// errValues is the error for a page that would be decoded to more values than its header says.
var errValues = errors.New("a page has more values than its header says")

// claims are what a page says about its content. A few bytes can claim billions of values, and the library
// would allocate memory for them.
type claims struct {
	leaf     *leaf
	encoding format.Encoding
	values   int   // number of values, including nulls
	most     int64 // number of bytes to which texts may be decoded
}

// check returns an error if the content of a page claims more than its header.
func (c claims) check(p page, levels, content []byte) error {
	ok := true
	if c.leaf.level > 0 {
		width := bits.Len(uint(c.leaf.level))
		var lists []byte // repetition levels
		if p.header.Type == format.DataPage {
			if c.leaf.deep > 0 {
				lists, content = prefixed(content)
			}
			levels, content = prefixed(content)
		} else {
			n := p.header.DataPageHeaderV2.V.RepetitionLevelsByteLength
			lists, levels = levels[:n], levels[n:]
		}
		ok = c.runs(levels, width) && c.runs(lists, bits.Len(uint(c.leaf.deep)))
	}
	switch c.encoding {
	case codes, oldCodes:
		ok = ok && (len(content) == 0 || c.runs(content[1:], int(content[0])))
	case format.RLE:
		bits, _ := prefixed(content)
		ok = ok && c.runs(bits, 1)
	case format.DeltaBinaryPacked, format.DeltaLengthByteArray:
		_, n := delta(content)
		ok = ok && n <= uint64(c.values)
	case format.DeltaByteArray:
		return c.prefixes(content, ok)
	}
	if !ok {
		return errValues
	}
	return nil
}

// prefixed returns the bytes after a length of four bytes, and the rest.
func prefixed(content []byte) (bytes, rest []byte) {
	if len(content) < 4 {
		return nil, content
	}
	n := binary.LittleEndian.Uint32(content)
	content = content[4:]
	end := min(int64(n), int64(len(content)))
	return content[:end], content[end:]
}

// runs reports whether content of the encoding RLE, whose values have a number of bits, has about as many
// values as the page. Writers round up the number of values at the end.
func (c claims) runs(content []byte, width int) bool {
	left := 2*uint64(c.values) + 1024
	for len(content) > 0 {
		header, n := binary.Uvarint(content)
		if n <= 0 {
			return true // the library returns an error
		}
		count, size := header>>1, uint64(width+7)/8
		if count > left {
			return false
		}
		if header&1 == 1 {
			count, size = 8*count, count*uint64(width)
		}
		if count > left {
			return false
		}
		left -= count
		content = content[uint64(n)+min(size, uint64(len(content)-n)):]
	}
	return true
}

// delta returns the number of bytes that numbers of the encoding DELTA_BINARY_PACKED need at the beginning
// of content, and the number of numbers.
func delta(content []byte) (size int, count uint64) {
	rest := content
	number := func() uint64 {
		n, used := binary.Uvarint(rest)
		rest = rest[max(used, 0):]
		return n
	}
	block, minis, count := number(), number(), number()
	number() // first value
	if block == 0 || minis == 0 || minis > block {
		return len(content), count // the library returns an error
	}
	for left := count; left > 1 && len(rest) > 0; left -= min(left-1, block) {
		number() // smallest difference
		widths := rest[:min(minis, uint64(len(rest)))]
		rest = rest[len(widths):]
		for i, width := range widths {
			if uint64(i)*(block/minis) >= left-1 {
				break // mini blocks without values have no bytes
			}
			rest = rest[min(block/minis*uint64(width)/8, uint64(len(rest))):]
		}
	}
	return len(content) - len(rest), count
}

// prefixes checks content of the encoding DELTA_BYTE_ARRAY. Each text is a part of the text before it and a
// suffix, so a few bytes can be decoded to a long text again and again.
func (c claims) prefixes(content []byte, ok bool) error {
	size, count := delta(content)
	_, suffixes := delta(content[size:])
	if !ok || count > uint64(c.values) || suffixes > uint64(c.values) {
		return errValues
	}
	lengths, err := encodings[format.DeltaBinaryPacked].DecodeInt32(nil, content[:size])
	if err != nil {
		return err
	}
	total := int64(len(content))
	for _, n := range lengths {
		total += int64(n)
	}
	if total > c.most {
		return &UnreadableError{fmt.Sprintf("a page has texts of %d bytes in %d stored bytes, more than the limit of %d: leave the column out, or write smaller pages", total, len(content), c.most)}
	}
	return nil
}
