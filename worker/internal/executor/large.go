package executor

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/internal/bulk"
	"github.com/bellwether-compute/bellwether/worker/internal/holdings"
	"github.com/bellwether-compute/bellwether/worker/session"
)

// This file contains how a worker merges and finishes partials that exceed its memory. It reads them as streams:
//
//	in the memory or in a file of this worker    from there
//	held by another worker                       from a file in the spill folder, to which it is fetched first
//	in storage                                   likewise
//
// The merged partial is written to a file, which the worker then holds as if it had moved the partial there. If the spill
// folder is full, the call is made in memory.

// errSpillFolder is the error of a file in the spill folder.
var errSpillFolder = errors.New("use spill folder")

// makeOfStreams makes the call with large.Merge or large.Finish, one of which is nil.
func (c *call) makeOfStreams(job jobs.Job, large engine.Large) (wire.Item, error) {
	if large.Merge != nil {
		return c.mergeStreams(job, large)
	}
	return c.finishStream(job, large)
}

// large returns the job's function for this call in the field Merge or Finish. Both fields are nil if the operands and the
// result fit into memory, or if the job has no such function.
func (c *call) large(job jobs.Job, params jobs.Params) (large engine.Large) {
	if c.partials.held == nil || c.cfg.SpillDir == "" {
		return large
	}
	all, need := job.Engine().Large(params), uint64(0)
	for _, o := range c.held.Call().Operands {
		need += o.Size
	}
	if all.Grows {
		need *= 2
	}
	switch made := c.held.Call(); {
	case need <= uint64(c.cfg.Memory):
	case made.Function == wire.Merge:
		large.Merge = all.Merge
	case made.Function == wire.Finish && len(made.Operands) == 1:
		large.Finish = all.Finish
	}
	return large
}

// mergeStreams merges the operands of the call.
func (c *call) mergeStreams(job jobs.Job, large engine.Large) (wire.Item, error) {
	made := c.held.Call()
	left, err := c.openStream(made.Operands[0])
	if err != nil {
		return wire.Item{}, err
	}
	defer left.close()
	right, err := c.openStream(made.Operands[1])
	if err != nil {
		return wire.Item{}, err
	}
	defer right.close()
	merged, err := holdings.NewSpool(c.cfg.SpillDir)
	if err != nil {
		return wire.Item{}, fmt.Errorf("%w: %w", errSpillFolder, err)
	}
	out := bufio.NewWriterSize(merged, 1<<20)
	err = c.guarded(job, func(ctx context.Context) error {
		left.ctx, right.ctx = ctx, ctx
		err := large.Merge(ctx, left, right, out)
		if failed := out.Flush(); failed != nil {
			return fmt.Errorf("%w: %w", errSpillFolder, failed)
		}
		return err
	})
	if !errors.Is(err, errLost) {
		left.ctx, right.ctx = c.ctx, c.ctx
		err = cmp.Or(left.verify(), right.verify(), err) // the error of a merge of damaged operands says nothing
	}
	if err != nil {
		_ = merged.Close() // nobody reads the file
		return wire.Item{}, err
	}
	return c.holdSpool(merged)
}

// holdSpool makes the worker hold a merged partial. If the worker may not hold another one, the partial is moved to storage.
func (c *call) holdSpool(merged *holdings.Spool) (wire.Item, error) {
	made := c.held.Call()
	if c.partials.mayHold() {
		c.result = &heldPartial{HeldNode: wire.HeldNode{Node: made.Node, Size: uint64(merged.Size()), Sum: merged.Sum(), Lacking: made.Lacking}, spool: merged}
		return wire.Item{}, nil
	}
	defer func() { _ = merged.Close() }() // nobody reads the file again
	reserved, err := c.partials.held.Reserve(c.ctx, merged.Size())
	if err != nil {
		return wire.Item{}, err
	}
	defer reserved.Release()
	data := make([]byte, merged.Size())
	if _, err := merged.ReadAt(data, 0); err != nil {
		return wire.Item{}, fmt.Errorf("read from the spill folder: %w", err)
	}
	return c.moveLarge(session.Merged(made, data, c.held.Epoch()))
}

// finishStream calls Finish with the root, and writes the attachment of the result.
func (c *call) finishStream(job jobs.Job, large engine.Large) (wire.Item, error) {
	made := c.held.Call()
	root, err := c.openStream(made.Operands[0])
	if err != nil {
		return wire.Item{}, err
	}
	defer root.close()
	if err := root.verify(); err != nil {
		return wire.Item{}, err
	}
	var output wire.Output
	err = c.guarded(job, func(ctx context.Context) (err error) {
		root.ctx = ctx
		var result json.RawMessage
		result, c.attachment, err = large.Finish(ctx, io.NewSectionReader(root, 0, int64(root.Size)))
		output = wire.NewOutput(wire.Finish, 0, result)
		return err
	})
	if err != nil {
		return wire.Item{}, err
	}
	root.ctx = c.ctx // the write of the attachment reads the root
	output.Epoch, output.Lacking = c.held.Epoch(), made.Lacking
	return c.moveLarge(wire.Item{Output: &output})
}

// stream is an operand that is read in pieces, from its beginning or anywhere.
type stream struct {
	wire.Partial
	ctx  context.Context // after its end, reads fail; that of the job's code during the code, because the code has a time limit
	read func(to []byte, offset int64) error
	file io.Closer // nil if this worker holds the partial
	next int64     // number of bytes that Read has returned
	sum  uint32    // CRC-32C of these bytes
	err  error     // first error of read
}

// openStream makes an operand readable as a stream.
func (c *call) openStream(p wire.Partial) (*stream, error) {
	s := &stream{Partial: p, ctx: c.ctx}
	if p.Holder == c.cfg.ID {
		s.read = func(to []byte, offset int64) error {
			return c.partials.checkRead(c.opening.Job, p.Node, c.partials.held.ReadAt(c.opening.Job, p.Node, to, offset))
		}
		return s, nil
	}
	file, err := holdings.NewFile(c.cfg.SpillDir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errSpillFolder, err)
	}
	s.file = file
	s.read = func(to []byte, offset int64) error {
		_, err := file.ReadAt(to, offset)
		return err
	}
	switch s.Size, err = c.writeOperand(p, file); {
	case errors.Is(err, syscall.ENOSPC):
		s.close()
		return nil, fmt.Errorf("%w: %w", errSpillFolder, err)
	case err != nil:
		s.close()
		return nil, fmt.Errorf("operand of %v: %w", c.held.Call().Function, s.blame(err))
	}
	return s, nil
}

// writeOperand writes an operand that another worker holds, or that is in storage, to a file. It returns the size of the
// operand: that of an operand in storage is an estimate if an earlier version has written it.
func (c *call) writeOperand(p wire.Partial, file io.WriterAt) (size uint64, err error) {
	if p.Holder != "" {
		return p.Size, c.bulk.FetchTo(c.ctx, c.cfg.Subjects.Bulk(p.Holder), c.opening.Job, p.Node, file, int64(p.Size))
	}
	reserved, err := c.partials.held.Reserve(c.ctx, int64(p.Size))
	if err != nil {
		return 0, err
	}
	defer reserved.Release()
	var o operand
	if err := c.readOperand(p, &o); err != nil {
		return 0, err
	}
	_, err = file.WriteAt(o.data, 0)
	return uint64(len(o.data)), err
}

// blame returns the error for an operand that cannot be read, which is no failure of the job's code.
func (s *stream) blame(err error) error {
	if s.Holder == "" {
		return err
	}
	return &fetchError{s.Holder, err}
}

// Read implements [io.Reader].
func (s *stream) Read(to []byte) (int, error) {
	n, err := s.ReadAt(to, s.next)
	s.sum = wire.UpdateChecksum(s.sum, to[:n])
	s.next += int64(n)
	if n > 0 && errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// ReadAt implements [io.ReaderAt].
func (s *stream) ReadAt(to []byte, offset int64) (int, error) {
	n := int(max(0, min(int64(len(to)), int64(s.Size)-offset)))
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	if s.err == nil && n > 0 {
		if err := s.read(to[:n], offset); err != nil {
			s.err = s.blame(err)
		}
	}
	switch {
	case s.err != nil:
		return 0, s.err
	case n < len(to):
		return n, io.EOF
	}
	return n, nil
}

// verify reads what Read has not returned, and compares the checksum of an operand that a worker holds. Storage has
// verified any other operand.
func (s *stream) verify() error {
	if s.Holder == "" {
		return s.err
	}
	if _, err := io.CopyBuffer(io.Discard, struct{ io.Reader }{s}, make([]byte, 1<<20)); err != nil {
		return fmt.Errorf("operand: %w", err)
	}
	if s.sum != s.Sum {
		return s.blame(fmt.Errorf("operand: node %v of %d bytes: %w: their checksum is %08x, want %08x", s.Node, s.Size, bulk.ErrDamaged, s.sum, s.Sum))
	}
	return nil
}

func (s *stream) close() {
	if s.file != nil {
		_ = s.file.Close() // nobody reads the file again
	}
}
