package dataset

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/local"
)

const (
	// chunkSize is the size of a piece in bytes. A piece fits in a core's second-level cache. chunks
	// is the maximum number of pieces that a transfer reads in advance.
	chunkSize = 256 << 10
	chunks    = 8
	// requestSize is the maximum size in bytes of a segment of remote storage. A slot reads several
	// segments at the same time, because a server may limit the speed of a connection. Segments are
	// as large as partitions usually are, because each request costs the server time.
	requestSize = DefaultBlock
	// maxEarly is the maximum number of transfers that a slot opens in advance.
	maxEarly = 2
	// maxRecent is the number of partitions of which a process remembers that it has begun them.
	maxRecent = 1024
)

// segment is a range of an object that is read by one request.
type segment struct {
	object   source.Object
	from, to int64
}

// isRemote reports whether an object is in remote storage. Files need no requests in advance,
// because the operating system reads ahead.
func isRemote(o source.Object) bool { return !local.Claims(o.Name) }

// segments cuts the bytes [from, to) of an object into segments. A file, and an object that cannot be read from its middle,
// are one segment.
func (r reader) segments(o source.Object, from, to int64) (list []segment) {
	n := int64(1)
	if compressionOf(o.Name) == plain && r.utf16 == "" && isRemote(o) {
		n = max(1, (to-from-1)/requestSize+1)
	}
	for i := range n {
		list = append(list, segment{o, from + border(to-from, n, i), from + border(to-from, n, i+1)})
	}
	return list
}

// piece is a part of an object's content, or the error that ended the reading.
type piece struct {
	data   []byte
	err    error
	placed bool  // true if the piece is the content of a member of bgzip
	offset int64 // offset of such a piece
}

// transfer reads a segment in a separate goroutine, some pieces ahead of the computation.
type transfer struct {
	segment
	owner  *ahead
	full   chan piece // pieces of the segment; closed at the end of the segment
	cut    bool       // set before full is closed if pieces are missing, because the transfer was cancelled
	cancel context.CancelFunc
}

var errTransfersClosed = errors.New("the job was closed while a partition was read")

// transfers are the transfers of all slots that work on a job in this process.
type transfers struct {
	reader  reader
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
	memory  sync.Pool // *[]byte of chunkSize bytes

	mu     sync.Mutex
	early  map[segment]*transfer // transfers that were opened in advance and are not used yet
	begun  map[uint64]bool       // partitions that slots have begun recently
	recent []uint64              // partitions in begun, from the oldest to the newest
}

func newTransfers(r reader) *transfers {
	t := &transfers{reader: r, early: map[segment]*transfer{}, begun: map[uint64]bool{}}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	return t
}

// close ends all transfers, and waits until their goroutines have ended.
func (t *transfers) close() {
	t.cancel()
	t.running.Wait()
}

// forget closes the transfers that were opened in advance and that nobody has used yet.
func (t *transfers) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for s, f := range t.early {
		f.cancel()
		delete(t.early, s)
	}
}

// ahead reads objects while a slot computes.
type ahead struct {
	*transfers
	mine []*transfer // transfers that this slot has opened in advance, which other slots may have taken
}

// begin notes that a slot begins a partition.
func (a *ahead) begin(partition uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.begun[partition] {
		return
	}
	if len(a.recent) == maxRecent {
		delete(a.begun, a.recent[0])
		a.recent = a.recent[1:]
	}
	a.recent, a.begun[partition] = append(a.recent, partition), true
}

// following returns the first segment of the partition that a slot of this process will probably
// begin next. It is the first partition after the given one that no slot has begun or reads in
// advance.
func (a *ahead) following(r ranges, partition uint64) []segment {
	a.mu.Lock()
	defer a.mu.Unlock()
	for next := partition + 1; next < min(r.count, partition+maxRecent); next++ {
		if a.begun[next] {
			continue
		}
		p := r.part(next)
		o, to := p.objects[0], p.to
		if len(p.objects) > 1 {
			to = p.objects[0].Size
		}
		first := a.reader.segments(o, p.from, to)[0]
		if f := a.early[first]; f == nil || f.owner == a {
			return []segment{first}
		}
	}
	return nil
}

// expect opens transfers for the segments that the slot will need next. It closes other transfers
// that this slot has opened in advance.
func (a *ahead) expect(list []segment) {
	list = slices.DeleteFunc(slices.Clone(list[:min(len(list), maxEarly)]), func(s segment) bool { return s.from == s.to || !isRemote(s.object) })
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mine = slices.DeleteFunc(a.mine, func(f *transfer) bool {
		if a.early[f.segment] != f {
			return true
		}
		if slices.Contains(list, f.segment) {
			return false
		}
		f.cancel()
		delete(a.early, f.segment)
		return true
	})
	for _, s := range list {
		if a.early[s] == nil {
			a.early[s] = a.open(s)
			a.mine = append(a.mine, a.early[s])
		}
	}
}

// take returns the transfer of a segment, which expect may have opened.
func (a *ahead) take(s segment) *transfer {
	a.mu.Lock()
	defer a.mu.Unlock()
	if f := a.early[s]; f != nil {
		delete(a.early, s)
		return f
	}
	return a.open(s)
}

func (a *ahead) open(s segment) *transfer {
	f := &transfer{segment: s, owner: a, full: make(chan piece, chunks)}
	var ctx context.Context
	ctx, f.cancel = context.WithCancel(a.ctx)
	a.running.Go(func() {
		defer close(f.full)
		a.read(ctx, f)
	})
	return f
}

// each calls do with consecutive pieces of the bytes [from, to) of an object. A compressed object
// is decompressed. The slice data is valid until do returns. The segments in later are read in
// advance.
func (a *ahead) each(ctx context.Context, o source.Object, from, to int64, later []segment, do func(data []byte) error) error {
	return a.eachPiece(ctx, o, from, to, later, func(p piece) error { return do(p.data) })
}

// eachPiece is each with pieces that have offsets if the object is of bgzip.
func (a *ahead) eachPiece(ctx context.Context, o source.Object, from, to int64, later []segment, do func(p piece) error) error {
	if from == to {
		return nil
	}
	list := a.reader.segments(o, from, to)
	own := len(list)
	list = append(list, later...)
	for i := range own {
		if err := a.one(ctx, list[i], list[i+1:], do); err != nil {
			a.expect(nil)
			return err
		}
	}
	return nil
}

// one calls do with the pieces of one segment.
func (a *ahead) one(ctx context.Context, s segment, later []segment, do func(p piece) error) error {
	f := a.take(s)
	defer f.cancel()
	a.expect(later)
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case p, ok := <-f.full:
			if !ok && f.cut {
				return errTransfersClosed
			}
			if !ok {
				return nil
			}
			err := p.err
			if err == nil {
				err = do(p)
				a.put(p.data)
			}
			if err != nil {
				return err
			}
		}
	}
}

// get returns memory for a piece.
func (t *transfers) get(size int) []byte {
	if size == chunkSize {
		if data, ok := t.memory.Get().(*[]byte); ok {
			return *data
		}
	}
	return make([]byte, size)
}

// put takes back memory that get has returned.
func (t *transfers) put(data []byte) {
	if cap(data) == chunkSize {
		data = data[:chunkSize]
		t.memory.Put(&data)
	}
}

// read sends the pieces of a segment to the channel full. After an error, read sends the error and
// returns.
func (t *transfers) read(ctx context.Context, to *transfer) {
	send := func(p piece) bool {
		select {
		case to.full <- p:
			return true
		case <-ctx.Done():
			to.cut = true
			return false
		}
	}
	c, err := t.reader.content(ctx, to.object, to.from, to.to)
	if err != nil {
		send(piece{err: err})
		return
	}
	defer c.Close()
	size := chunkSize
	if compressionOf(to.object.Name) == plain {
		size = int(min(chunkSize, to.to-to.from))
	}
	for err == nil {
		var p piece
		if p, err = c.piece(t.get(size)); !send(p) {
			return
		}
	}
	if err != io.EOF {
		send(piece{err: err})
	}
}

// piece reads the next piece of the content to the given memory.
func (c *content) piece(memory []byte) (p piece, err error) {
	if c.members == nil {
		n, err := c.fill(memory)
		return piece{data: memory[:n]}, err
	}
	data, member, err := c.members.next(memory)
	return piece{data: memory[:len(data)], placed: err == nil, offset: offsetOf(member)}, err
}
