package dataset

import (
	"bufio"
	"errors"
	"io"
	"strings"

	gziplib "github.com/klauspost/compress/gzip"
)

// gzipReader decompresses the members of an object. Zero bytes after the last member are padding, as some
// tapes and tools write it.
type gzipReader struct {
	raw    *bufio.Reader
	member *gziplib.Reader
}

// gzipMagic is the beginning of each member.
const gzipMagic = "\x1f\x8b"

var (
	errNoGzip  = errors.New("the content is not gzip, which the ending of the name says: rename or compress the object")
	errGarbage = errors.New("the compressed content is followed by other bytes: remove them")
)

func newGzipReader(raw io.Reader) (*gzipReader, error) {
	buffered := bufio.NewReaderSize(raw, 32<<10)
	if begin, _ := buffered.Peek(len(gzipMagic)); !strings.HasPrefix(gzipMagic, string(begin)) { // NewReader returns an error of Peek again
		return nil, errNoGzip
	}
	member, err := gziplib.NewReader(buffered)
	if errors.Is(err, gziplib.ErrHeader) {
		return nil, errNoGzip
	}
	if err != nil {
		return nil, err
	}
	member.Multistream(false)
	return &gzipReader{buffered, member}, nil
}

// Read implements io.Reader.
func (g *gzipReader) Read(p []byte) (int, error) {
	n, err := g.member.Read(p)
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	return n, g.next()
}

// next moves to the next member. It returns io.EOF after the last member.
func (g *gzipReader) next() error {
	padded := false
	for {
		b, err := g.raw.ReadByte()
		if err != nil {
			return err
		}
		if b != 0 {
			break
		}
		padded = true
	}
	if err := g.raw.UnreadByte(); err != nil {
		return err
	}
	magic, err := g.raw.Peek(len(gzipMagic))
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if padded || string(magic) != gzipMagic {
		return errGarbage
	}
	if err = g.member.Reset(g.raw); errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	g.member.Multistream(false)
	return err
}
