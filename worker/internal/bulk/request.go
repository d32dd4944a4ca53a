package bulk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

const chunkSize = 512 << 10 // smaller than the size limit of NATS messages, which is at least 1 MiB

// status is the first byte of an answer. The bytes of the partial follow the status statusOK.
const (
	statusOK byte = iota
	statusNotHeld
	statusUnreadable
	statusMalformed
)

// statusError returns the error for a status.
func statusError(status byte) error {
	switch status {
	case statusOK:
		return nil
	case statusNotHeld:
		return ErrNotHeld
	case statusUnreadable:
		return ErrUnreadable
	}
	return fmt.Errorf("%w: the worker does not understand the request", ErrUnreadable)
}

// A request contains the node's level and index, the offset, the length, and the job's ID.
const (
	requestHead = 1 + 8 + 8 + 4
	maxRequest  = requestHead + wire.MaxJobID
)

func encodeRequest(job string, node engine.Node, offset int64, n int) []byte {
	data := make([]byte, 0, requestHead+len(job))
	data = append(data, node.Level)
	data = binary.LittleEndian.AppendUint64(data, node.Index)
	data = binary.LittleEndian.AppendUint64(data, uint64(offset))
	data = binary.LittleEndian.AppendUint32(data, uint32(n))
	return append(data, job...)
}

func decodeRequest(data []byte) (job string, node engine.Node, offset int64, n int, ok bool) {
	if len(data) <= requestHead || len(data) > maxRequest {
		return "", engine.Node{}, 0, 0, false
	}
	node = engine.Node{Level: data[0], Index: binary.LittleEndian.Uint64(data[1:])}
	offset = int64(binary.LittleEndian.Uint64(data[9:]))
	n = int(binary.LittleEndian.Uint32(data[17:]))
	return string(data[requestHead:]), node, offset, n, offset >= 0 && n > 0 && n <= chunkSize
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

// wanted is a partial that is fetched in chunks.
type wanted struct {
	job  string
	node engine.Node
	to   io.WriterAt
	size int64
}

func (w wanted) chunks() int { return int((w.size + chunkSize - 1) / chunkSize) }

// place returns where a chunk begins, and its length.
func (w wanted) place(chunk int) (offset int64, length int) {
	offset = int64(chunk) * chunkSize
	return offset, int(min(chunkSize, w.size-offset))
}

// request returns the request for a chunk.
func (w wanted) request(chunk int) []byte {
	offset, length := w.place(chunk)
	return encodeRequest(w.job, w.node, offset, length)
}
