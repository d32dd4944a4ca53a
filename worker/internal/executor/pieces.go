package executor

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/internal/bulk"
	"github.com/bellwether-compute/bellwether/worker/internal/holdings"
	"github.com/bellwether-compute/bellwether/worker/session"
)

// This file contains how a worker merges two partials that together exceed its memory. One of them stays in memory and
// becomes the merged partial. The other one is read piece by piece:
//
//	in the memory or in a file of this worker    from there
//	held by another worker                       from a file in the spill folder, to which it is fetched first
//	in storage                                   from a file in the spill folder, if both are in storage

// pieceBytes is about the size in bytes of a piece.
const pieceBytes = 4 << 20

// exceedsMemory reports whether the operands of a merge together exceed the memory of this worker, and may be merged
// in pieces.
func (c *call) exceedsMemory(job jobs.Job) bool {
	made, size := c.held.Call(), job.Engine().PieceSize()
	if c.partials.held == nil || c.cfg.SpillDir == "" || made.Function != wire.Merge || size == 0 {
		return false
	}
	left, right := made.Operands[0], made.Operands[1]
	return left.Size == right.Size && left.Size%uint64(size) == 0 && left.Size+right.Size > uint64(c.cfg.Memory)
}

// mergeInPieces merges the operands of the call.
func (c *call) mergeInPieces(job jobs.Job, params jobs.Params) (wire.Item, error) {
	made := c.held.Call()
	c.operands = make([]operand, len(made.Operands))
	stays := c.stays()
	other, err := c.openPieces(made.Operands[1-stays])
	if err != nil {
		return wire.Item{}, fmt.Errorf("operand of %v: %w", made.Function, err)
	}
	defer other.close()
	if err := c.reserveFor(made.Operands[stays]); err != nil {
		return wire.Item{}, err
	}
	base := &c.operands[stays]
	if err := c.readOperand(made.Operands[stays], base); err != nil {
		return wire.Item{}, fmt.Errorf("operand of %v: %w", made.Function, err)
	}
	if !base.own {
		base.data = append(c.partials.held.Buffer(int64(len(base.data)))[:0], base.data...)
	}
	err = c.guarded(job, func(ctx context.Context) error {
		return mergePieces(ctx, job, params, base.data, other, stays == 0)
	})
	if err != nil {
		return wire.Item{}, err
	}
	c.unreserve()
	return c.moveLarge(session.Merged(made, base.data, c.held.Epoch()))
}

// stays returns the index of the operand that stays in memory. An operand in storage is read as a whole. An operand
// that this worker holds in memory need not be read, and the merge takes over its memory. Otherwise an operand of another
// worker is fetched into memory, because the one in a file of this worker can be read in pieces.
func (c *call) stays() int {
	operands := c.held.Call().Operands
	for _, fits := range []func(wire.Partial) bool{
		func(p wire.Partial) bool { return p.Holder == "" },
		func(p wire.Partial) bool {
			_, inFile := c.partials.held.Size(c.opening.Job, p.Node)
			return p.Holder == c.cfg.ID && !inFile
		},
		func(p wire.Partial) bool { return p.Holder != c.cfg.ID },
	} {
		for i, p := range operands {
			if fits(p) {
				return i
			}
		}
	}
	return 0
}

// reserveFor waits until there is memory for an operand that stays in memory.
func (c *call) reserveFor(p wire.Partial) (err error) {
	if c.mayTake() && p.Holder == c.cfg.ID {
		if f, ok := c.partials.held.Keep(c.opening.Job, p.Node); ok {
			c.keeps = append(c.keeps, f)
			return nil
		}
	}
	c.reserved, err = c.partials.held.Reserve(c.ctx, int64(p.Size))
	return err
}

// pieces is a partial that is read in pieces.
type pieces struct {
	read   func(to []byte, offset int64) error
	holder string   // worker that holds the partial; empty if it is in storage
	file   *os.File // nil if this worker holds the partial
}

// failed returns the error for a partial that cannot be read, which is no failure of the job's code.
func (p pieces) failed(err error) error {
	if p.holder == "" {
		return err
	}
	return &fetchError{p.holder, err}
}

func (p pieces) close() {
	if p.file != nil {
		_ = p.file.Close() // nobody reads the file again
	}
}

// openPieces makes an operand readable in pieces, and verifies its checksum before the merge changes the other operand.
func (c *call) openPieces(p wire.Partial) (from pieces, err error) {
	from.holder = p.Holder
	if p.Holder == c.cfg.ID {
		from.read = func(to []byte, offset int64) error {
			return c.partials.checkRead(c.opening.Job, p.Node, c.partials.held.ReadAt(c.opening.Job, p.Node, to, offset))
		}
	} else {
		if from.file, err = holdings.NewFile(c.cfg.SpillDir); err != nil {
			return from, fmt.Errorf("use spill folder: %w", err)
		}
		from.read = func(to []byte, offset int64) error {
			_, err := from.file.ReadAt(to, offset)
			return err
		}
		err = c.writeOperand(p, from.file)
	}
	if err == nil {
		err = c.verify(p, from)
	}
	if err != nil {
		from.close()
		return from, from.failed(err)
	}
	return from, nil
}

// writeOperand writes an operand that another worker holds, or that is in storage, to a file.
func (c *call) writeOperand(p wire.Partial, file io.WriterAt) error {
	if p.Holder != "" {
		return c.bulk.FetchTo(c.ctx, c.cfg.Subjects.Bulk(p.Holder), c.opening.Job, p.Node, file, int64(p.Size))
	}
	reserved, err := c.partials.held.Reserve(c.ctx, int64(p.Size))
	if err != nil {
		return err
	}
	defer reserved.Release()
	var o operand
	if err := c.readOperand(p, &o); err != nil {
		return err
	}
	_, err = file.WriteAt(o.data, 0)
	return err
}

// verify compares the checksum of an operand that a worker holds. Storage has verified any other operand.
func (c *call) verify(p wire.Partial, from pieces) error {
	if p.Holder == "" {
		return nil
	}
	sum, buffer := uint32(0), make([]byte, min(pieceBytes, p.Size))
	for at := uint64(0); at < p.Size; at += uint64(len(buffer)) {
		buffer = buffer[:min(uint64(len(buffer)), p.Size-at)]
		if err := cmp.Or(c.ctx.Err(), from.read(buffer, int64(at))); err != nil {
			return err
		}
		sum = wire.UpdateChecksum(sum, buffer)
	}
	if sum != p.Sum {
		return fmt.Errorf("node %v of %d bytes: %w: their checksum is %08x, want %08x", p.Node, p.Size, bulk.ErrDamaged, sum, p.Sum)
	}
	return nil
}

// mergePieces merges the pieces of a partial into base, which is the left operand if left is true. The pieces are the
// shards into which jobs.Vector splits the partial.
func mergePieces(ctx context.Context, job jobs.Job, params jobs.Params, base []byte, other pieces, left bool) error {
	unit := job.Engine().PieceSize()
	numbers, n := len(base)/unit, (len(base)+pieceBytes-1)/pieceBytes
	at := func(i int) int { return (numbers/n*i + numbers%n*i/n) * unit }
	buffer := make([]byte, pieceBytes)
	for i := range n {
		piece := base[at(i):at(i+1):at(i+1)]
		read := buffer[:len(piece)]
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := other.read(read, int64(at(i))); err != nil {
			return other.failed(err)
		}
		l, r := piece, read
		if !left {
			l, r = r, l
		}
		merged, err := job.Engine().Merge(ctx, params, engine.Operand{Data: l, Own: true}, engine.Operand{Data: r, Own: true})
		if err != nil {
			return err
		}
		if len(merged) != len(piece) {
			return jobs.Permanent(fmt.Errorf("Merge of two shards of %d bytes returned %d bytes: want the same number", len(piece), len(merged)))
		}
		if !overlap(piece, merged) {
			copy(piece, merged)
		}
	}
	return nil
}
