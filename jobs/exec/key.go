package exec

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"

	"github.com/bellwether-compute/bellwether/jobs"
)

var (
	_ jobs.Keyer  = mapper{}
	_ jobs.Inputs = mapper{}
)

// noReuse returns why a job cannot reuse partials of other jobs, or an empty text.
func (p Params) noReuse() string {
	if p.Output != "" {
		return "the files of its calls are in objects that belong to the job that has written them; leave out the parameter output"
	}
	return ""
}

// Key implements jobs.Keyer. A call depends on the program, on its lines, and on the number of its partition
// and of all partitions, which are in its environment. The files of the job and its items are in its
// parameters.
func (m mapper) Key(_ context.Context, partition uint64) []byte {
	program := m.digest()
	if program == nil {
		return nil
	}
	b := binary.BigEndian.AppendUint64(program, partition)
	b = binary.BigEndian.AppendUint64(b, m.partitions)
	if m.input.lines == nil {
		return b
	}
	lines := m.input.lines.Key(partition)
	if lines == nil {
		return nil
	}
	return append(b, lines...)
}

// Inputs implements jobs.Inputs. An installed program is like an object that each call reads.
func (m mapper) Inputs(partition uint64) (list []jobs.InputObject) {
	if path := m.runner.program.installed(); path != "" {
		list = append(list, jobs.InputObject{Name: "program " + path, Version: hex.EncodeToString(m.digest())})
	}
	if m.input.lines != nil {
		list = append(list, m.input.lines.Inputs(partition)...)
	}
	return list
}

// installed returns the path of the program if it is installed on this machine, or an empty path.
func (p program) installed() string {
	if p.path == "" && filepath.IsAbs(p.args[0]) {
		return p.args[0]
	}
	return p.path
}

// digest returns the SHA-256 of the program if it is installed on this machine, zeros if it is a file of the
// job, and nil if it cannot be read.
func (p program) digest() []byte {
	path, h := p.installed(), sha256.New()
	if path == "" {
		return make([]byte, h.Size())
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	if _, err := io.Copy(h, f); err != nil {
		return nil
	}
	return h.Sum(nil)
}
