package bulk

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

const (
	chunkSize = 512 << 10 // smaller than the size limit of NATS messages, which is at least 1 MiB
	window    = 8

	// Window is the maximum number of bytes in flight of one fetch.
	Window = window * chunkSize

	// probeAfter is the time without data after which Fetch repeats a request: if the holder has
	// died, only a new request gets the answer that there are no responders.
	probeAfter  = 200 * time.Millisecond
	resendAfter = 2 * time.Second
	stalledFor  = 10 * time.Second
)

var (
	ErrGone       = errors.New("no process serves it")
	ErrNotHeld    = errors.New("the worker does not hold it")
	ErrUnreadable = errors.New("the worker cannot read it")
	ErrStalled    = errors.New("no data came for " + stalledFor.String())
	ErrDamaged    = errors.New("the bytes are damaged")
)

// Source provides the partials that a worker serves to other workers. ReadAt fills the slice to
// with the bytes of a partial from offset on. ReadAt returns [ErrNotHeld] if the source does not
// contain the partial.
type Source interface {
	ReadAt(job string, node engine.Node, to []byte, offset int64) error
}

// status is the first byte of an answer. The bytes of the partial follow the status statusOK.
const (
	statusOK byte = iota
	statusNotHeld
	statusUnreadable
	statusMalformed
)

// A request contains the node's level and index, the offset, the length, and the job's ID.
const requestHead = 1 + 8 + 8 + 4

func encodeRequest(job string, node engine.Node, offset int64, n int) []byte {
	data := make([]byte, 0, requestHead+len(job))
	data = append(data, node.Level)
	data = binary.LittleEndian.AppendUint64(data, node.Index)
	data = binary.LittleEndian.AppendUint64(data, uint64(offset))
	data = binary.LittleEndian.AppendUint32(data, uint32(n))
	return append(data, job...)
}

func decodeRequest(data []byte) (job string, node engine.Node, offset int64, n int, ok bool) {
	if len(data) <= requestHead || len(data) > requestHead+wire.MaxJobID {
		return "", engine.Node{}, 0, 0, false
	}
	node = engine.Node{Level: data[0], Index: binary.LittleEndian.Uint64(data[1:])}
	offset = int64(binary.LittleEndian.Uint64(data[9:]))
	n = int(binary.LittleEndian.Uint32(data[17:]))
	return string(data[requestHead:]), node, offset, n, offset >= 0 && n > 0 && n <= chunkSize
}

// Server serves a worker's partials.
type Server struct {
	sub    *nats.Subscription
	closed chan struct{}
}

// Serve answers requests on a subject until Close is called.
func Serve(nc *nats.Conn, subject string, source Source) (*Server, error) {
	s := &Server{closed: make(chan struct{})}
	answered := make([]byte, 0, 1+chunkSize) // one buffer is enough, because requests are answered one after the other and Respond copies the answer
	var err error
	s.sub, err = nc.Subscribe(subject, func(m *nats.Msg) {
		_ = m.Respond(answer(source, m.Data, answered)) // if the answer is lost, the fetcher repeats the request
	})
	if err != nil {
		return nil, fmt.Errorf("serve partials on %s: %w", subject, err)
	}
	s.sub.SetClosedHandler(func(string) { close(s.closed) })
	return s, nil
}

// Close stops serving and waits until no request is being answered.
func (s *Server) Close() {
	if s.sub.Unsubscribe() == nil {
		<-s.closed
	}
}

// answer returns the answer to a request. The returned answer uses the memory of buffer.
func answer(source Source, request, buffer []byte) []byte {
	job, node, offset, n, ok := decodeRequest(request)
	if !ok {
		return []byte{statusMalformed}
	}
	data := buffer[:1+n]
	data[0] = statusOK
	switch err := source.ReadAt(job, node, data[1:], offset); {
	case errors.Is(err, ErrNotHeld):
		return []byte{statusNotHeld}
	case err != nil:
		return []byte{statusUnreadable}
	}
	return data
}

// Fetch fills data with the bytes of a partial that another worker holds. The holder of the partial
// listens on subject. The partial must have the length of data, and its CRC-32C must be sum. After
// an error the content of data is undefined.
func Fetch(ctx context.Context, nc *nats.Conn, subject, job string, node engine.Node, data []byte, sum uint32) error {
	if err := FetchTo(ctx, nc, subject, job, node, memory(data), int64(len(data))); err != nil {
		return err
	}
	if got := wire.Checksum(data); got != sum {
		return fmt.Errorf("fetch node %v of %d bytes: %w: their checksum is %08x, want %08x", node, len(data), ErrDamaged, got, sum)
	}
	return nil
}

// memory is an [io.WriterAt] of fixed size.
type memory []byte

func (m memory) WriteAt(data []byte, offset int64) (int, error) { return copy(m[offset:], data), nil }

// FetchTo is like [Fetch] and writes the bytes to a writer, in pieces and in any order. It does not verify them.
func FetchTo(ctx context.Context, nc *nats.Conn, subject, job string, node engine.Node, to io.WriterAt, size int64) error {
	f := &fetch{
		nc: nc, subject: subject, job: job, node: node, inbox: nc.NewInbox(),
		to: to, size: size, asked: map[int]time.Time{}, answers: make(chan *nats.Msg, 4*window),
	}
	sub, err := nc.ChanSubscribe(f.inbox+".*", f.answers)
	if err != nil {
		return fmt.Errorf("fetch node %v: %w", node, err)
	}
	defer func() { _ = sub.Unsubscribe() }() // Unsubscribe fails only if the connection is closed
	if err := f.run(ctx); err != nil {
		return fmt.Errorf("fetch node %v of %d bytes: %w", node, size, err)
	}
	return nil
}

// fetch is the state of a running [Fetch].
type fetch struct {
	nc      *nats.Conn
	subject string
	job     string
	node    engine.Node
	inbox   string
	to      io.WriterAt
	size    int64
	next    int               // first chunk that was not requested yet
	asked   map[int]time.Time // request times of the chunks in flight
	answers chan *nats.Msg
}

func (f *fetch) chunks() int { return int((f.size + chunkSize - 1) / chunkSize) }

func (f *fetch) run(ctx context.Context) error {
	heard := time.Now()
	tick := time.NewTicker(probeAfter)
	defer tick.Stop()
	for f.next < f.chunks() || len(f.asked) > 0 {
		for ; f.next < f.chunks() && len(f.asked) < window; f.next++ {
			if err := f.ask(f.next); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case m := <-f.answers:
			took, err := f.take(m)
			if err != nil {
				return err
			}
			if took {
				heard = time.Now()
			}
		case now := <-tick.C:
			if now.Sub(heard) > stalledFor {
				return ErrStalled
			}
			probe := now.Sub(heard) > probeAfter
			for _, chunk := range slices.Sorted(maps.Keys(f.asked)) {
				if again := now.Sub(f.asked[chunk]) > resendAfter; again || probe {
					probe = false
					if err := f.ask(chunk); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// place returns where a chunk begins, and its length.
func (f *fetch) place(chunk int) (offset int64, length int) {
	offset = int64(chunk) * chunkSize
	return offset, int(min(chunkSize, f.size-offset))
}

func (f *fetch) ask(chunk int) error {
	f.asked[chunk] = time.Now()
	offset, length := f.place(chunk)
	return f.nc.PublishRequest(f.subject, f.inbox+"."+strconv.Itoa(chunk), encodeRequest(f.job, f.node, offset, length))
}

// take processes an answer. It returns false if the chunk has already arrived.
func (f *fetch) take(m *nats.Msg) (took bool, err error) {
	if m.Header.Get("Status") == "503" { // NATS replies with status 503 if the subject has no responders
		return false, ErrGone
	}
	chunk, err := strconv.Atoi(strings.TrimPrefix(m.Subject, f.inbox+"."))
	if _, waits := f.asked[chunk]; err != nil || !waits || len(m.Data) == 0 {
		return false, nil
	}
	switch m.Data[0] {
	case statusOK:
	case statusNotHeld:
		return false, ErrNotHeld
	case statusUnreadable:
		return false, ErrUnreadable
	default:
		return false, fmt.Errorf("%w: the worker does not understand the request", ErrUnreadable)
	}
	offset, length := f.place(chunk)
	if len(m.Data)-1 != length {
		return false, fmt.Errorf("%w: a chunk has %d bytes, want %d", ErrDamaged, len(m.Data)-1, length)
	}
	if _, err := f.to.WriteAt(m.Data[1:], offset); err != nil {
		return false, err
	}
	delete(f.asked, chunk)
	garbage.add(len(m.Data))
	return true, nil
}
