package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// Get implements store.Blobs.
func (d *Driver) Get(ctx context.Context, key string) ([]byte, store.Version, error) {
	token, err := keyToken(key)
	if err != nil {
		return nil, "", err
	}
	ctx, end, err := d.begin(ctx)
	if err != nil {
		return nil, "", translate(ctx, err)
	}
	defer end()
	var seen uint64
	for {
		e, err := d.entry(ctx, token)
		if err != nil {
			return nil, "", translate(ctx, err)
		}
		if e.large == nil {
			return e.value, e.version(), nil
		}
		value, err := d.getLarge(ctx, token, *e.large)
		switch {
		case err == nil:
			return value, e.version(), nil
		case !errors.Is(err, errChunkGone):
			return nil, "", translate(ctx, err)
		case e.revision == seen:
			return nil, "", fmt.Errorf("%w: %w", store.ErrCorrupt, err)
		}
		seen = e.revision // the value was replaced or is damaged, so read it again
	}
}

// entry is the newest revision of a key.
type entry struct {
	revision uint64
	value    []byte
	large    *pointer // pointer to the chunks of the value; nil if the entry contains the value
}

func (e entry) version() store.Version { return makeVersion(e.revision, e.large) }

func (d *Driver) entry(ctx context.Context, token string) (entry, error) {
	got, err := d.last(ctx, d.bucket, d.names.value(token))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		got, err = d.unlessUnreadable(ctx, token)
	}
	if errors.Is(err, jetstream.ErrMsgNotFound) || err == nil && got.Header.Get("KV-Operation") != "" { // a NATS tool has deleted the message
		return entry{}, jetstream.ErrKeyNotFound
	}
	if err != nil {
		return entry{}, err
	}
	value, large, err := decodeValue(got.Data)
	return entry{got.Sequence, value, large}, err
}

// unlessUnreadable reads a key again that was not found, and returns store.ErrCorrupt if the stream
// lists the key although its message cannot be read. JetStream answers "not found" for a message
// whose bytes on the disk do not match their checksum. Such a value must not count as absent,
// because a missing manifest means that no leader has begun the job.
func (d *Driver) unlessUnreadable(ctx context.Context, token string) (*jetstream.RawStreamMsg, error) {
	subject := d.names.value(token)
	for range 2 { // the key may be written between the read and the look at the list
		info, err := d.bucket.Info(ctx, jetstream.WithSubjectFilter(subject))
		if err != nil {
			return nil, err
		}
		if info.State.Subjects[subject] == 0 {
			return nil, jetstream.ErrMsgNotFound
		}
		if got, err := d.last(ctx, d.bucket, subject); !errors.Is(err, jetstream.ErrMsgNotFound) {
			return got, err
		}
	}
	return nil, fmt.Errorf("%w: a file of stream %s is damaged: see \"Damaged and lost files\" in deploy/nats/README.md", store.ErrCorrupt, d.names.bucketStream)
}

// Put implements store.Blobs.
func (d *Driver) Put(ctx context.Context, key string, value []byte, cond store.Condition) (store.Version, error) {
	token, err := keyToken(key)
	if err != nil {
		return "", err
	}
	ctx, end, err := d.begin(ctx)
	if err != nil {
		return "", translate(ctx, err)
	}
	defer end()
	_, replaces := cond.Version()
	if !replaces && len(value) > smallValue {
		if err := d.room(ctx, len(value)); err != nil {
			return "", translate(ctx, err)
		}
	}
	if len(value) < d.maxMessage {
		body := bodies.Get().(*[]byte)
		defer bodies.Put(body) // the connection has copied what it sends
		*body = appendInline(slices.Grow((*body)[:0], 1+len(value)), value)
		return d.putBody(ctx, token, *body, nil, cond)
	}
	p, err := d.putLarge(ctx, token, value, !replaces)
	if err = translate(ctx, err); errors.Is(err, store.ErrFull) {
		err = d.tooLarge(ctx, len(value), err)
	}
	if err != nil {
		return "", err
	}
	if err := ctx.Err(); err != nil {
		d.dropLarge(ctx, p.Name)
		return "", translate(ctx, err)
	}
	pointerCtx, cancel := d.uncancelled(ctx) // a cancelled write might have stored the pointer to the chunks
	defer cancel()
	version, err := d.putBody(pointerCtx, token, encodePointer(p), &p, cond)
	if errors.Is(err, store.ErrConflict) { // only a conflict proves that the pointer to the chunks was not stored
		d.dropLarge(ctx, p.Name)
	}
	return version, err
}

// bodies is memory for the stored forms of small values, each of at most the size of a message.
var bodies = sync.Pool{New: func() any { return new([]byte) }}

// putBody writes the stored value of a key and removes the chunks of the replaced value.
func (d *Driver) putBody(ctx context.Context, token string, body []byte, large *pointer, cond store.Condition) (store.Version, error) {
	if cond == store.Always {
		return d.overwrite(ctx, token, body, large)
	}
	if cond.Absent() {
		revision, err := d.values.Create(ctx, token, body)
		if err != nil {
			return "", translate(ctx, err)
		}
		return makeVersion(revision, large), nil
	}
	version, _ := cond.Version()
	expected, replaced, ok := parseVersion(version)
	if !ok {
		return "", fmt.Errorf("version %q: %w", version, store.ErrConflict)
	}
	return d.swap(ctx, token, body, large, expected, replaced)
}

func (d *Driver) swap(ctx context.Context, token string, body []byte, large *pointer, expected uint64, replaced string) (store.Version, error) {
	revision, err := d.values.Update(ctx, token, body, expected)
	if err != nil {
		return "", translate(ctx, err)
	}
	if replaced != "" {
		d.dropLarge(ctx, replaced)
	}
	return makeVersion(revision, large), nil
}

// overwrite writes a value without a condition. overwrite uses compare-and-swap internally to learn
// which chunks the write has replaced.
func (d *Driver) overwrite(ctx context.Context, token string, body []byte, large *pointer) (store.Version, error) {
	for {
		var version store.Version
		e, err := d.entry(ctx, token)
		switch {
		case errors.Is(err, jetstream.ErrKeyNotFound):
			version, err = d.putBody(ctx, token, body, large, store.IfAbsent)
		case err == nil || errors.Is(err, store.ErrCorrupt):
			_, replaced, _ := parseVersion(e.version())
			version, err = d.swap(ctx, token, body, large, e.revision, replaced)
		default:
			return "", translate(ctx, err)
		}
		if !errors.Is(err, store.ErrConflict) {
			return version, err
		}
		// Retries are bounded in practice, because each conflict means that a concurrent writer has
		// succeeded.
	}
}

// Delete implements store.Blobs. Delete removes the key entirely, unlike the delete of
// NATS's key-value API, which leaves a marker.
func (d *Driver) Delete(ctx context.Context, key string) error {
	token, err := keyToken(key)
	if err != nil {
		return err
	}
	return d.call(ctx, func(ctx context.Context) error {
		e, err := d.entry(ctx, token)
		switch {
		case errors.Is(err, jetstream.ErrKeyNotFound):
			return nil
		case err != nil && !errors.Is(err, store.ErrCorrupt):
			return err
		case e.revision == 0: // the server answers a purge of a message that it cannot read, and keeps the message
			return err
		}
		large := ""
		if e.large != nil {
			large = e.large.Name
		}
		return d.deleteRevision(ctx, token, e.revision, large)
	})
}

// DeleteVersion implements store.Blobs.
func (d *Driver) DeleteVersion(ctx context.Context, key string, v store.Version) error {
	token, err := keyToken(key)
	if err != nil {
		return err
	}
	revision, large, ok := parseVersion(v)
	if !ok {
		return nil // no value has such a version
	}
	return d.call(ctx, func(ctx context.Context) error { return d.deleteRevision(ctx, token, revision, large) })
}

// deleteRevision removes a revision of a key and its chunks. Later revisions of the key are kept.
// The parameter large is the name of the chunks, or empty.
func (d *Driver) deleteRevision(ctx context.Context, token string, revision uint64, large string) error {
	err := d.bucket.Purge(ctx, jetstream.WithPurgeSubject(d.names.value(token)), jetstream.WithPurgeSequence(revision+1))
	if err == nil && large != "" {
		d.dropLarge(ctx, large)
	}
	return err
}

// List implements store.Blobs.
func (d *Driver) List(ctx context.Context, prefix string) ([]string, error) {
	token, err := prefixToken(prefix)
	if err != nil {
		return nil, err
	}
	return d.keys(ctx, d.bucket, d.names.value(token)+".>", func(subject string) string {
		return strings.TrimPrefix(subject, d.names.valueSubjects)
	})
}

// DeletePrefix implements store.PrefixDeleter. DeletePrefix may damage a large value that is being
// written under the prefix at the same time.
func (d *Driver) DeletePrefix(ctx context.Context, prefix string) error {
	token, err := prefixToken(prefix)
	if err != nil {
		return err
	}
	if err := d.purge(ctx, d.bucket, d.names.value(token)+".>"); err != nil {
		return err
	}
	return d.purge(ctx, d.chunks, d.names.chunksUnder(token))
}

// purgeStep is the number of messages that one request removes. The server blocks other requests to the stream during a removal,
// which takes about half a millisecond for a message of 400 KB.
const purgeStep = 128

// purge removes the messages with the given subjects, from the oldest to the newest.
func (d *Driver) purge(ctx context.Context, stream jetstream.Stream, subjects string) error {
	count := 0
	err := d.call(ctx, func(ctx context.Context) error {
		info, err := stream.Info(ctx, jetstream.WithSubjectFilter(subjects))
		if err == nil {
			for _, messages := range info.State.Subjects {
				count += int(messages)
			}
		}
		return err
	})
	for keep := count - purgeStep; keep > 0 && err == nil; keep -= purgeStep {
		err = d.call(ctx, func(ctx context.Context) error {
			return stream.Purge(ctx, jetstream.WithPurgeSubject(subjects), jetstream.WithPurgeKeep(uint64(keep)))
		})
	}
	if err != nil {
		return err
	}
	return d.call(ctx, func(ctx context.Context) error { return stream.Purge(ctx, jetstream.WithPurgeSubject(subjects)) })
}

// Writes implements store.WriteCounter for the stream of values. Chunks and submissions are not
// counted: a lost chunk is noticed when its value is read, and the leader searches for lost
// submissions. The server forgets lost bytes when it is restarted.
func (d *Driver) Writes(ctx context.Context) (counts store.Writes, err error) {
	err = d.call(ctx, func(ctx context.Context) error {
		info, err := d.bucket.Info(ctx)
		if err != nil {
			return err
		}
		counts.Count = info.State.LastSeq
		if lost := info.State.Lost; lost != nil {
			counts.Lost = lost.Bytes
		}
		return nil
	})
	return counts, err
}

// ListRemains implements store.RemainsDeleter. ListRemains returns the keys of all chunks.
func (d *Driver) ListRemains(ctx context.Context) ([]string, error) {
	return d.keys(ctx, d.chunks, d.names.chunkSubjects+">", d.names.chunkToken)
}

// keys returns the keys of the messages with the given subjects in a stream, sorted.
func (d *Driver) keys(ctx context.Context, stream jetstream.Stream, subjects string, token func(subject string) string) (keys []string, err error) {
	err = d.call(ctx, func(ctx context.Context) error {
		info, err := stream.Info(ctx, jetstream.WithSubjectFilter(subjects))
		if err != nil {
			return err
		}
		for subject := range info.State.Subjects {
			keys = append(keys, fromToken.Replace(token(subject)))
		}
		slices.Sort(keys)
		keys = slices.Compact(keys)
		return nil
	})
	return keys, err
}

// DeleteRemains implements store.RemainsDeleter.
func (d *Driver) DeleteRemains(ctx context.Context, key string) error {
	token, err := keyToken(key)
	if err != nil {
		return err
	}
	return d.call(ctx, func(ctx context.Context) error {
		return d.chunks.Purge(ctx, jetstream.WithPurgeSubject(d.names.chunksOf(token)))
	})
}
