package scan

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/bellwether-compute/bellwether/jobs"
)

// A table of a job with an output does not grow without end. If its runs exceed spillBytes, they become one run. Unless that is
// small, it is moved to storage in pieces, and the table contains only the list of the pieces. What is moved depends on the
// content of the table alone, so each run of the job moves the same pieces.

const (
	// spillBytes is the size in bytes of the runs of a table above which the groups are moved to storage. A merge needs the
	// memory of both tables and of the merged one.
	spillBytes = 32 << 20
	// pieceBytes is about the size of a piece, which is one message of JetStream. A slot that computes a shard has a piece of
	// each run in memory.
	pieceBytes = 384 << 10
	// maxFirst is the largest number of bytes of a key that a list of pieces contains.
	maxFirst = 64
	// spillsInFlight is the number of pieces that a slot writes or reads at the same time.
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

// spill moves the runs of a table to storage if they are large.
func spill(ctx context.Context, p Params, acc **table) error {
	t := *acc
	if t.runBytes() <= bounds.spill {
		return nil
	}
	if err := t.mergeRuns(); err != nil || t.runBytes() <= bounds.spill/2 { // then most groups were in several runs
		return err
	}
	q, err := newQuery(p)
	if err != nil {
		return jobs.Permanent(err)
	}
	return t.spillRuns(ctx, q)
}

// spillRuns moves the runs of a table to storage, but not the groups of its hash table.
func (t *table) spillRuns(ctx context.Context, q query) error {
	if err := t.mergeRuns(); err != nil || len(t.runs) == 0 {
		return err
	}
	seen, err := q.notesOf(t.runs[0])
	if err != nil {
		return err
	}
	pieces, err := spillRun(ctx, t.runs[0])
	if err != nil {
		return err
	}
	t.runs, t.spilled, t.notes = nil, append(t.spilled, pieces), t.notes.merge(seen)
	return nil
}

// spillRun moves a run to storage.
func spillRun(ctx context.Context, r run) (spilled, error) {
	var pieces spilled
	var parts []run
	begin := 0
	for c := (cursor{rest: r}); begin < len(r); {
		if err := c.next(); err != nil {
			return nil, err
		}
		at := len(r) - len(c.here)
		if at-begin >= bounds.piece || c.done() {
			parts, begin = append(parts, r[begin:at]), at
		}
		if !c.done() && at == begin {
			pieces = append(pieces, piece{first: bytes.Clone(c.key[:min(len(c.key), maxFirst)])})
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(spillsInFlight)
	for i, part := range parts {
		group.Go(func() error {
			name, err := jobs.PutSpill(ctx, part)
			if err == nil {
				_, err = hex.Decode(pieces[i].name[:], []byte(name))
			}
			pieces[i].size = uint64(len(part))
			return err
		})
	}
	return pieces, group.Wait()
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
