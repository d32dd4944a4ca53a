package scan

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/bellwether-compute/bellwether/jobs"
)

// A table of a job with an output does not grow without end. If its runs exceed spillBytes, they are merged. Unless the merged run
// is small, it is moved to storage in pieces, and the table contains only the list of the pieces. What is moved depends on the
// content of the table alone, so each run of the job moves the same pieces.

const (
	// spillBytes is the size in bytes of the runs of a whole table above which the groups are moved to storage. A merge needs the
	// memory of both tables and of the merged one. While a partition is read, the runs may be half as large again, so that the
	// groups of most partitions become one run in storage.
	spillBytes = 32 << 20
	// pieceBytes is about the size of a piece, which is one message of JetStream. A slot that computes a shard has a piece of
	// each run in memory, and maxAhead more.
	pieceBytes = 384 << 10
	// maxFirst is the largest number of bytes of a key that a list of pieces contains.
	maxFirst = 64
	// spillsInFlight is the number of pieces that a slot writes, or reads before it merges, at the same time.
	spillsInFlight = 4
)

// bounds are the sizes, which tests make smaller.
var bounds = struct{ spill, piece, shard int }{spillBytes, pieceBytes, shardBytes}

// spilled is a run in storage: its pieces in the order of the groups.
type spilled []piece

// piece is a part of a run in storage.
type piece struct {
	first []byte // key of the first group, or its first bytes if it is longer than maxFirst
	size  uint64
	name  [32]byte // SHA-256 of the piece, which is its name for jobs.GetSpill in hexadecimal
}

// mayPass reports whether a job may have a second pass, which writes the groups to the output.
func mayPass(p Params) bool { return p.Output != "" && len(list(p.By)) > 0 }

// spill moves the groups of a table to storage if they are large. The parameter whole says that all records of a partition, or
// of more, are in the table.
func spill(ctx context.Context, p Params, acc **table, whole bool) error {
	t, most := *acc, bounds.spill+bounds.spill/2
	if whole {
		most = bounds.spill
		if err := t.flush(); err != nil {
			return err
		}
	}
	if t.runBytes() <= most {
		return nil
	}
	q, err := newQuery(p)
	if err != nil {
		return jobs.Permanent(err)
	}
	return t.spillRuns(ctx, q, bounds.spill/2)
}

// spillRuns merges the runs of a table, and moves the merged run to storage while it grows. If it has at most least bytes, since most
// groups were in several runs, it stays in memory.
func (t *table) spillRuns(ctx context.Context, q query, least int) error {
	streams, _, err := streamsOf(t.runs)
	if err != nil || len(streams) == 0 {
		return err
	}
	merged, to := startMerging(t.functions, streams), newMover(ctx, least)
	seen, one, noted := make(notes, len(q.aggregates)), newScratch(q.aggregates), q.noted()
	for {
		ok, err := merged.next(ctx, nil)
		if err == nil && ok && noted {
			err = seen.read(q.aggregates, one, merged.states)
		}
		if err != nil {
			return errors.Join(err, to.moving.Wait())
		}
		if !ok {
			break
		}
		to.add(merged.key, merged.group)
	}
	pieces, kept, err := to.end()
	switch {
	case err != nil:
		return err
	case kept != nil:
		t.runs = []run{kept}
	default:
		t.runs, t.spilled, t.notes = nil, append(t.spilled, pieces), t.notes.merge(seen)
	}
	return nil
}

// spillRun moves a run to storage.
func spillRun(ctx context.Context, r run) (spilled, error) {
	to := newMover(ctx, 0)
	for c := (cursor{rest: r}); ; {
		if err := c.next(); err != nil {
			return nil, errors.Join(err, to.moving.Wait())
		}
		if c.done() {
			break
		}
		to.add(c.key, c.here[:c.size()])
	}
	pieces, _, err := to.end()
	return pieces, err
}

// mover moves a run to storage in pieces while groups are added.
type mover struct {
	ctx    context.Context
	moving *errgroup.Group
	least  int      // number of bytes of the run above which pieces are moved
	size   int      // number of bytes of the run
	pieces []*piece // the last one is not yet full
	full   []run    // content of the pieces that are not moved, without the last one
	last   run      // content of the last piece
}

func newMover(ctx context.Context, least int) *mover {
	m := &mover{least: least}
	m.moving, m.ctx = errgroup.WithContext(ctx)
	m.moving.SetLimit(spillsInFlight)
	return m
}

// add adds a group after all others.
func (m *mover) add(key []byte, group run) {
	if len(m.last) >= bounds.piece {
		m.cut()
	}
	if len(m.last) == 0 {
		m.pieces = append(m.pieces, &piece{first: bytes.Clone(key[:min(len(key), maxFirst)])})
		m.last = make(run, 0, bounds.piece+len(group))
	}
	m.last = append(m.last, group...)
	m.size += len(group)
}

// cut ends the last piece, and begins to move what is full if the run is large enough.
func (m *mover) cut() {
	m.full, m.last = append(m.full, m.last), nil
	if m.size <= m.least {
		return
	}
	for i, content := range m.full {
		p := m.pieces[len(m.pieces)-len(m.full)+i]
		m.moving.Go(func() error {
			name, err := jobs.PutSpill(m.ctx, content)
			if err == nil {
				_, err = hex.Decode(p.name[:], []byte(name))
			}
			p.size = uint64(len(content))
			return err
		})
	}
	m.full = nil
}

// end returns the pieces of the run, or the run itself if it is not moved.
func (m *mover) end() (pieces spilled, kept run, err error) {
	if m.size > 0 {
		m.cut()
	}
	if err := m.moving.Wait(); err != nil {
		return nil, nil, err
	}
	if m.size <= m.least {
		kept = make(run, 0, m.size+minSlack)
		for _, content := range m.full {
			kept = append(kept, content...)
		}
		return nil, kept, nil
	}
	for _, p := range m.pieces {
		pieces = append(pieces, *p)
	}
	return pieces, nil, nil
}

// load reads a piece from storage.
func (p piece) load(ctx context.Context) (run, error) {
	return jobs.GetSpill(ctx, hex.EncodeToString(p.name[:]))
}

func appendSpilled(b []byte, list []spilled) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, pieces := range list {
		b = binary.AppendUvarint(b, uint64(len(pieces)))
		for _, p := range pieces {
			b = appendText(b, p.first)
			b = append(binary.AppendUvarint(b, p.size), p.name[:]...)
		}
	}
	return b
}

func readSpilled(b []byte) (list []spilled, rest []byte, err error) {
	count := func() int {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			err = errStates
			return 0
		}
		b = b[size:]
		return int(n)
	}
	for range count() {
		var pieces spilled
		for range count() {
			var p piece
			var first []byte
			if first, b, err = readText(b); err != nil {
				return nil, nil, err
			}
			n, size := binary.Uvarint(b)
			if size <= 0 || len(b) < size+len(p.name) {
				return nil, nil, errStates
			}
			p.first, p.size = bytes.Clone(first), n
			b = b[size+copy(p.name[:], b[size:]):]
			pieces = append(pieces, p)
		}
		list = append(list, pieces)
	}
	return slices.Clip(list), b, err
}
