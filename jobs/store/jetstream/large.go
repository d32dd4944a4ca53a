package jetstream

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
	"golang.org/x/sync/errgroup"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

const (
	// maxMessage is the largest number of bytes of a value in one message. A larger
	// message would delay the messages behind it on the connection.
	maxMessage = 512 << 10
	// messageOverhead is the space for a message's headers.
	messageOverhead = 4 << 10
	// chunksInFlight is the number of chunks that are sent before the first chunk is acknowledged.
	// chunksInFlight bounds memory, and lets the driver send chunks while the server syncs earlier
	// chunks to disk.
	chunksInFlight = 4
)

// errChunkGone is the error if a value was replaced or deleted while it was being read.
var errChunkGone = errors.New("chunk of a large value is missing")

// putLarge writes the chunks of a value under a new name. A value that replaces another value may
// use the reserved space. If ctx ends, putLarge waits for the chunks in flight before it removes all
// chunks, because the server may execute a later purge before an earlier publication. The value is hashed while its chunks are
// on their way.
func (d *Driver) putLarge(ctx context.Context, token string, value []byte, isNew bool) (pointer, error) {
	p := pointer{Name: nuid.Next(), Size: uint64(len(value)), Chunk: uint64(d.maxMessage)}
	hashed := make(chan engine.SHA256, 1)
	go func() { hashed <- engine.Digest(value) }()
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(chunksInFlight)
	for i := range p.chunks() {
		group.Go(func() error {
			lo, hi := p.bounds(i)
			if isNew {
				if err := d.room(groupCtx, int(hi-lo)); err != nil { // checked before each chunk, because other writers use the same space
					return err
				}
			}
			if err := groupCtx.Err(); err != nil {
				return err
			}
			publishCtx, cancel := d.uncancelled(ctx)
			defer cancel()
			_, err := d.js.Publish(publishCtx, d.names.chunk(token, p.Name, i), value[lo:hi])
			return err
		})
	}
	err := group.Wait()
	p.SHA256 = <-hashed
	if err != nil {
		d.dropLarge(ctx, p.Name)
		return pointer{}, err
	}
	return p, nil
}

// tooLarge returns store.ErrTooLarge if size exceeds the limit of an empty stream, and otherwise full.
func (d *Driver) tooLarge(ctx context.Context, size int, full error) error {
	info, err := d.chunks.Info(ctx)
	if err != nil {
		return full
	}
	if limit := info.Config.MaxBytes; limit > 0 && int64(size) > limit {
		return fmt.Errorf("%w: %d bytes, but stream %s keeps at most %d", store.ErrTooLarge, size, d.names.chunksStream, limit)
	}
	return full
}

// getLarge reads the chunks of a value. The error is errChunkGone if a chunk is missing.
func (d *Driver) getLarge(ctx context.Context, token string, p pointer) ([]byte, error) {
	// The first chunk is read before memory for all chunks is allocated, because the pointer may be
	// damaged.
	first, err := d.chunk(ctx, token, p, 0)
	if err != nil {
		return nil, err
	}
	value := make([]byte, p.Size)
	copy(value, first)
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(chunksInFlight)
	for i := 1; i < p.chunks(); i++ {
		group.Go(func() error {
			data, err := d.chunk(groupCtx, token, p, i)
			if err != nil {
				return err
			}
			lo, _ := p.bounds(i)
			copy(value[lo:], data)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if engine.Digest(value) != p.SHA256 {
		return nil, fmt.Errorf("%w: its %d bytes have another digest", store.ErrCorrupt, p.Size)
	}
	return value, nil
}

func (d *Driver) chunk(ctx context.Context, token string, p pointer, i int) ([]byte, error) {
	msg, err := d.last(ctx, d.chunks, d.names.chunk(token, p.Name, i))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, fmt.Errorf("%w: number %d of %d", errChunkGone, i, p.chunks())
	}
	if err != nil {
		return nil, err
	}
	if lo, hi := p.bounds(i); uint64(len(msg.Data)) != hi-lo {
		return nil, fmt.Errorf("%w: chunk %d has %d bytes of %d", store.ErrCorrupt, i, len(msg.Data), hi-lo)
	}
	return msg.Data, nil
}

// dropLarge removes chunks to which no pointer refers. dropLarge works even if ctx has ended,
// because the end of ctx may be the reason for the removal. dropLarge returns no error, because
// remaining chunks only take space until DeletePrefix or DeleteRemains removes them.
func (d *Driver) dropLarge(ctx context.Context, name string) {
	ctx, cancel := d.uncancelled(ctx)
	defer cancel()
	err := d.chunks.Purge(ctx, jetstream.WithPurgeSubject(d.names.chunks(name)))
	if err != nil {
		d.cfg.Logger.Debug("Could not remove chunks of a replaced value", "name", name, "error", err)
	}
}

// uncancelled returns a context that is independent of ctx and ends after the timeout of a call.
func (d *Driver) uncancelled(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), d.cfg.CallTimeout)
}
