package holdings

import (
	"errors"
	"os"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Spool is a partial that is written to a file in the spill folder, without being in memory. It implements [io.Writer].
type Spool struct {
	file *os.File
	size int64
	sum  uint32 // CRC-32C of the bytes so far
	step int64  // bytes that were written since the last call of writeBack
}

// NewSpool returns an empty spool. The caller must pass the spool to [Holdings.PutSpool] or close it.
func NewSpool(dir string) (*Spool, error) {
	f, err := NewFile(dir)
	if err != nil {
		return nil, err
	}
	return &Spool{file: f}, nil
}

func (s *Spool) Write(data []byte) (int, error) {
	n, err := s.file.Write(data)
	s.sum = wire.UpdateChecksum(s.sum, data[:n])
	s.size += int64(n)
	if s.step += int64(n); s.step >= writeStep {
		writeBack(s.file, s.size-s.step-writeStep)
		s.step = 0
	}
	return n, err
}

// ReadAt implements [io.ReaderAt].
func (s *Spool) ReadAt(to []byte, offset int64) (int, error) { return s.file.ReadAt(to, offset) }

// Size returns the number of bytes.
func (s *Spool) Size() int64 { return s.size }

// Sum returns the CRC-32C of the bytes.
func (s *Spool) Sum() uint32 { return s.sum }

// Close removes the file.
func (s *Spool) Close() error { return s.file.Close() }

// write writes the data of a partial to a new file. It stops with errUnwanted when the file is no
// longer needed.
func (h *Holdings) write(p *part, data []byte) (*os.File, error) {
	s, err := NewSpool(h.cfg.Dir)
	if err != nil {
		return nil, err
	}
	for at := 0; at < len(data); at += writeStep {
		h.mu.Lock()
		unwanted := p.unwanted()
		h.mu.Unlock()
		if unwanted {
			return nil, errors.Join(errUnwanted, s.Close())
		}
		if _, err := s.Write(data[at:min(at+writeStep, len(data))]); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s.file, nil
}

// writeStep is the number of bytes of a file that are written before the system must begin to move
// them to the disk. At most two steps wait in memory at a time: memory is short during a spill, and
// if it is full of bytes that wait for the disk, the system stops all processes that need memory.
const writeStep = 16 << 20

// PutSpool is like [Holdings.Put] for a partial that was written to a spool.
func (h *Holdings) PutSpool(job string, node engine.Node, s *Spool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.replace(&part{key: key{job, node}, file: s.file, size: s.size, sum: s.sum}) {
		_ = s.Close() // nobody reads the file again
	}
}
