package kept

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// Blobs is the storage of kept partials. A driver of package store implements it.
type Blobs interface {
	Get(ctx context.Context, key string) ([]byte, store.Version, error)
	Put(ctx context.Context, key string, value []byte, cond store.Condition) (store.Version, error)
	Delete(ctx context.Context, key string) error
	DeleteVersion(ctx context.Context, key string, v store.Version) error
	List(ctx context.Context, prefix string) ([]string, error)
}

// Default values of [Config].
const (
	DefaultLimit    = 1 << 30
	DefaultLifetime = 30 * 24 * time.Hour
)

// Config configures the kept partials of a family.
type Config struct {
	Blobs  Blobs
	Family engine.Key // key that all partials of the family share

	// Job, Version and Origin describe what is kept, for [List]: the name and the version of the
	// definition, and the ID of the job.
	Job, Version, Origin string
	Build                string // build of the program; only for descriptions, like Params
	Params               []byte // parameters of the job in the stored form

	Limit    int64         // most bytes of all packs in Blobs, of all families; by default DefaultLimit
	Lifetime time.Duration // time after its last use at which a pack is dropped; by default DefaultLifetime

	Logger *slog.Logger // gets a warning for each failure; nil logs nothing
}

func (c Config) withDefaults() Config {
	c.Limit, c.Lifetime = cmp.Or(c.Limit, DefaultLimit), cmp.Or(c.Lifetime, DefaultLifetime)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return c
}

// Partials are the kept partials of a family. It is an [engine.Kept].
type Partials struct {
	cfg   Config
	index index
	packs []*pack
	cache cache

	mu     sync.Mutex
	buffer []byte // beginning of the next pack
	record indexRecord

	life    context.Context // context of writes; it ends with the context of Close
	kill    context.CancelFunc
	writes  sync.WaitGroup
	writers chan struct{} // has an element for each pack that is being written
	broken  atomic.Bool   // a pack could not be written
	last    string        // ID of the last pack that was written; guarded by mu
	stats   stats

	described *Description // what Close writes; nil if Describe was not called
}

var (
	_ engine.Kept      = (*Partials)(nil)
	_ engine.Describer = (*Partials)(nil)
)

// pack is a pack whose index was read.
type pack struct {
	id      string
	family  string
	record  indexRecord // without its entries
	version store.Version

	used, lost atomic.Bool
}

// Stats counts what a job has kept, and what it could not use.
type Stats struct {
	Kept    uint64   // number of partials that were kept
	Bytes   int64    // their size
	Lost    uint64   // number of packs that were missing or damaged
	Failed  uint64   // number of writes and reads of storage that failed otherwise
	Error   error    // error of the last of them; nil if Failed is 0
	Origins []string // origins of the packs that were used
}

type stats struct {
	kept, bytes, lost, failed atomic.Int64
	last                      atomic.Pointer[error]
}

// readers is the number of indexes that are read concurrently.
const readers = 16

// New returns an empty collection, which finds nothing and keeps partials.
func New(cfg Config) *Partials {
	p := &Partials{cfg: cfg.withDefaults(), writers: make(chan struct{}, maxWriters)}
	p.life, p.kill = context.WithCancel(context.Background()) // a partition or the job may end before a write
	return p
}

// Open reads the indexes of a family. If an index cannot be read, its partials are not found. Open
// returns an error only if ctx is done.
func Open(ctx context.Context, cfg Config) (*Partials, error) {
	p := New(cfg)
	keys, err := cfg.Blobs.List(ctx, indexes+familyName(cfg.Family)+"/")
	if err != nil {
		p.fail(ctx, "list kept partials", err)
	}
	list := p.readIndexes(ctx, keys)
	var builder builder
	for _, one := range list {
		if err := builder.add(one.record); err != nil {
			p.fail(ctx, "read index of pack "+one.id, err)
			continue
		}
		one.record.Entries = nil // the index has them
		p.packs = append(p.packs, one)
	}
	p.index = builder.build()
	return p, ctx.Err()
}

// readIndexes reads indexes. It leaves out those that cannot be read, and drops the damaged ones.
func (p *Partials) readIndexes(ctx context.Context, keys []string) []*pack {
	list := make([]*pack, len(keys))
	var group errgroup.Group
	group.SetLimit(readers)
	for i, key := range keys {
		group.Go(func() error {
			family, id, ok := parseIndexKey(key)
			if !ok {
				return nil
			}
			data, version, err := p.cfg.Blobs.Get(ctx, key)
			var r indexRecord
			if err == nil {
				r, err = decodeIndex(data)
			}
			switch {
			case errors.Is(err, store.ErrNotFound): // it was dropped after the listing
			case errors.Is(err, store.ErrCorrupt):
				err = errors.Join(err, p.cfg.drop(ctx, key, version))
				fallthrough
			case err != nil:
				p.fail(ctx, "read index of pack "+id, err)
			default:
				list[i] = &pack{id: id, family: family, record: r, version: version}
			}
			return nil
		})
	}
	_ = group.Wait() // no function returns an error
	return slices.DeleteFunc(list, func(one *pack) bool { return one == nil })
}

// fail counts and logs a failure. If the job has ended, the failure does not matter.
func (p *Partials) fail(ctx context.Context, doing string, err error) {
	if ctx.Err() != nil {
		return
	}
	err = fmt.Errorf("%s: %w", doing, err)
	p.stats.failed.Add(1)
	p.stats.last.Store(&err)
	p.cfg.Logger.Warn("A partial could not be kept or reused", "error", err)
}

// Has implements engine.Kept.
func (p *Partials) Has(key engine.Key) bool {
	e, ok := p.index.find(prefixOf(key))
	return ok && !p.packs[e.pack].lost.Load()
}

// Get implements engine.Kept.
func (p *Partials) Get(ctx context.Context, key engine.Key) (engine.KeptPartial, bool) {
	e, ok := p.index.find(prefixOf(key))
	if !ok || p.packs[e.pack].lost.Load() {
		return engine.KeptPartial{}, false
	}
	one := p.packs[e.pack]
	data, err := p.cache.get(one.id, func() ([]byte, error) { return p.read(ctx, one) })
	begin := int(e.offset) + keySize
	if err == nil && engine.Key(data[e.offset:begin]) != key {
		err = fmt.Errorf("%w: the key at byte %d is another one", store.ErrCorrupt, e.offset)
	}
	if err != nil {
		p.lose(ctx, one, err)
		return engine.KeptPartial{}, false
	}
	one.used.Store(true)
	return engine.KeptPartial{Data: data[begin : begin+int(e.length)], Partitions: e.partitions, Work: e.work}, true
}

// read reads a pack and checks its digest.
func (p *Partials) read(ctx context.Context, one *pack) ([]byte, error) {
	data, _, err := p.cfg.Blobs.Get(ctx, packs+one.id)
	if err == nil && (uint64(len(data)) != one.record.Bytes || engine.Digest(data) != engine.SHA256(one.record.Sum)) {
		err = fmt.Errorf("%w: the digest of its %d bytes differs from the index", store.ErrCorrupt, len(data))
	}
	return data, err
}

// lose makes the partials of a pack be computed again.
func (p *Partials) lose(ctx context.Context, one *pack, err error) {
	if one.lost.Swap(true) || ctx.Err() != nil {
		return
	}
	p.stats.lost.Add(1)
	p.cfg.Logger.Warn("A pack of kept partials is missing or damaged, its partials are computed again", "pack", one.id, "error", err)
	if errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrNotFound) {
		_ = p.cfg.drop(ctx, indexKey(one.family, one.id), one.version) // otherwise the next job loses it too, and drops it
	}
}

// packBytes is the size from which on a pack is written. Partials that were computed one after the other
// are in the same pack.
const packBytes = 8 << 20

// smallPack is the size from which on the memory of a whole pack is allocated.
const smallPack = packBytes / 16

// Packs are written beside the job's code, because storage may be slow. If maxWriters packs are being written, Keep
// waits for at most writeWait. After a failed write nothing more is kept.
const (
	maxWriters = 4
	writeWait  = time.Second
)

var errSlow = errors.New("storage is slower than the job")

// Keep implements engine.Kept.
func (p *Partials) Keep(ctx context.Context, key engine.Key, partial engine.KeptPartial) {
	if len(partial.Data) > maxPack/2 || p.broken.Load() {
		return
	}
	p.mu.Lock()
	if len(p.buffer) > smallPack && cap(p.buffer) < packBytes { // append alone would copy the pack about five times
		p.buffer = slices.Grow(p.buffer, packBytes+smallPack-len(p.buffer))
	}
	p.buffer = append(append(p.buffer, key[:]...), partial.Data...)
	p.record.Entries = appendEntry(p.record.Entries, entry{
		prefix: prefixOf(key), length: uint32(len(partial.Data)), partitions: partial.Partitions, work: partial.Work,
	})
	p.record.Count++
	data, record := p.buffer, p.record
	if len(data) >= packBytes {
		p.buffer, p.record = nil, indexRecord{}
	}
	p.mu.Unlock()
	if len(data) < packBytes {
		return
	}
	timer := time.NewTimer(writeWait)
	defer timer.Stop()
	select {
	case p.writers <- struct{}{}:
	case <-timer.C:
		p.broken.Store(true)
		p.fail(ctx, "keep a pack", errSlow)
		return
	}
	p.writes.Go(func() {
		defer func() { <-p.writers }()
		p.write(p.life, data, record)
	})
}

// write writes a pack and its index.
func (p *Partials) write(ctx context.Context, data []byte, r indexRecord) {
	id, sum := store.NewID(time.Now()), engine.Digest(data)
	r.Job, r.Version, r.Origin = p.cfg.Job, p.cfg.Version, p.cfg.Origin
	r.Used, r.Bytes, r.Sum = time.Now().Unix(), uint64(len(data)), sum[:]
	_, err := p.cfg.Blobs.Put(ctx, packs+id, data, store.IfAbsent)
	if err == nil {
		_, err = p.cfg.Blobs.Put(ctx, indexKey(familyName(p.cfg.Family), id), r.encode(), store.IfAbsent)
	}
	if err != nil {
		p.broken.Store(true)
		p.fail(ctx, "keep a pack", err)
		return
	}
	p.stats.kept.Add(int64(r.Count))
	p.stats.bytes.Add(int64(len(data)))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = max(p.last, id)
}

// Close writes what was kept since the last pack and what Describe has collected, notes which packs were used, and drops
// packs if the job has kept something. Close must be called after the last call of another method.
func (p *Partials) Close(ctx context.Context) {
	defer p.kill()
	defer context.AfterFunc(ctx, p.kill)()
	p.writes.Wait()
	if len(p.buffer) > 0 && !p.broken.Load() {
		p.write(ctx, p.buffer, p.record)
		p.buffer, p.record = nil, indexRecord{}
	}
	for _, one := range p.packs {
		if one.used.Load() && !one.lost.Load() {
			p.noteUse(ctx, one)
		}
	}
	p.writeDescription(ctx)
	if p.last != "" {
		p.sweep(ctx)
	}
}

// noteEvery is the time for which a noted use of a pack is good enough.
const noteEvery = time.Hour

// noteUse writes the time into the index of a pack that was used. If another job has changed the index in
// between, it has noted a use or dropped the pack.
func (p *Partials) noteUse(ctx context.Context, one *pack) {
	now := time.Now()
	if now.Sub(time.Unix(one.record.Used, 0)) < noteEvery {
		return
	}
	key := indexKey(one.family, one.id)
	data, version, err := p.cfg.Blobs.Get(ctx, key)
	var r indexRecord
	if err == nil {
		r, err = decodeIndex(data)
	}
	if err == nil {
		r.Used = now.Unix()
		_, err = p.cfg.Blobs.Put(ctx, key, r.encode(), store.IfVersion(version))
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrConflict) {
		p.fail(ctx, "note the use of a pack", err)
	}
}

// Newest returns the origin of the newest pack of the family, or an empty text if none was found.
func (p *Partials) Newest() string {
	newest := &pack{}
	for _, one := range p.packs {
		if one.id > newest.id {
			newest = one
		}
	}
	return newest.record.Origin
}

// Stats returns what was counted so far.
func (p *Partials) Stats() Stats {
	s := Stats{Kept: uint64(p.stats.kept.Load()), Bytes: p.stats.bytes.Load(), Lost: uint64(p.stats.lost.Load()), Failed: uint64(p.stats.failed.Load())}
	if last := p.stats.last.Load(); last != nil {
		s.Error = *last
	}
	for _, one := range p.packs {
		if one.used.Load() {
			s.Origins = append(s.Origins, one.record.Origin)
		}
	}
	slices.Sort(s.Origins)
	s.Origins = slices.Compact(s.Origins)
	return s
}
