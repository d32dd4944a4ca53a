package dataset

import (
	"context"
	"io"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
)

// chunks is the maximum number of pieces that are read in advance while a slot computes, and
// chunkSize is the size of a piece in bytes. A piece fits in a core's second-level cache.
const (
	chunkSize = 256 << 10
	chunks    = 8
)

// ahead reads objects while a slot computes. A separate goroutine reads each object, some pieces
// ahead of the computation. The memory of the pieces is reused for the next object.
type ahead struct {
	reader reader
	free   chan []byte
}

func newAhead(r reader) *ahead {
	a := &ahead{reader: r, free: make(chan []byte, chunks)}
	for range chunks {
		a.free <- nil // a nil piece, whose memory is allocated when it is first needed
	}
	return a
}

// piece is a part of an object's content, or the error that ended the reading.
type piece struct {
	data []byte
	err  error
}

// each calls do with consecutive pieces of the bytes [from, to) of an object. A compressed object
// is decompressed. The slice data is valid until do returns.
func (a *ahead) each(ctx context.Context, o source.Object, from, to int64, do func(data []byte) error) error {
	if from == to {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	full := make(chan piece, chunks+1) // has room for all pieces and one error, so that sending never blocks
	go func() {
		defer close(full)
		a.read(ctx, o, from, to, full)
	}()
	defer func() {
		cancel()
		for p := range full { // the loop ends when the reading goroutine has ended
			a.put(p.data)
		}
	}()
	for p := range full {
		err := p.err
		if err == nil {
			err = do(p.data)
			a.put(p.data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *ahead) put(data []byte) {
	if data != nil { // data is nil if the piece contained an error
		a.free <- data
	}
}

// read sends the pieces of an object to the channel full. After an error, read sends the error
// and returns.
func (a *ahead) read(ctx context.Context, o source.Object, from, to int64, full chan<- piece) {
	c, err := a.reader.content(ctx, o, from, to)
	if err != nil {
		full <- piece{err: err}
		return
	}
	defer c.Close()
	size := chunkSize
	if compressionOf(o.Name) == plain {
		size = int(min(chunkSize, to-from))
	}
	for err == nil {
		var data []byte
		select {
		case <-ctx.Done():
			full <- piece{err: context.Cause(ctx)}
			return
		case data = <-a.free:
		}
		if cap(data) < size {
			data = make([]byte, size)
		}
		var n int
		n, err = c.fill(data[:size])
		full <- piece{data: data[:n]}
	}
	if err != io.EOF {
		full <- piece{err: err}
	}
}
