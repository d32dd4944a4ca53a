package kept

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fxamacker/cbor/v2"
	"golang.org/x/sync/errgroup"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/internal/record"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// Description says what the partials of a family depend on, and what a job of the family has read. A dry run compares it
// with another job, to say why partitions would be computed. Nothing else depends on it.
type Description struct {
	Job     string               `cbor:"1,keyasint"`
	Version string               `cbor:"2,keyasint"` // version of the job's definition
	Build   string               `cbor:"3,keyasint"`
	Params  []engine.InputObject `cbor:"4,keyasint"` // names and digests of the parameters, in order
	Made    int64                `cbor:"5,keyasint"` // time in seconds since 1970

	Objects []engine.InputObject `cbor:"6,keyasint"` // objects of the job of the family that was planned last
	Known   bool                 `cbor:"7,keyasint"` // false if the job does not name its objects or has too many
}

// families is the prefix of the keys of descriptions.
const families = "families/"

func descriptionKey(family engine.Key) string { return families + familyName(family) }

// Most objects of a description, and most bytes of their names and versions.
const (
	maxObjects     = 1 << 15
	maxObjectBytes = 4 << 20
)

var descriptionFormat = record.New(formatVersion, cbor.CoreDetEncOptions(), anyNames(record.Strict(maxObjects, 16)))

// anyNames makes a decoder accept names of files and versions that are not UTF-8.
func anyNames(o cbor.DecOptions) cbor.DecOptions {
	o.UTF8 = cbor.UTF8DecodeInvalid
	return o
}

// encode returns the stored form of a description. It ends in its SHA-256, as that of an index.
func (d Description) encode() []byte {
	data := descriptionFormat.Encode(d)
	sum := engine.Digest(data)
	return append(data, sum[:]...)
}

func decodeDescription(data []byte) (d Description, err error) {
	end := max(0, len(data)-len(engine.SHA256{}))
	if sum := engine.Digest(data[:end]); !bytes.Equal(sum[:], data[end:]) {
		return d, fmt.Errorf("%w: the digest of the description is another one", store.ErrCorrupt)
	}
	return d, descriptionFormat.Decode(data[:end], &d)
}

// differences describes what another job does not share: its version, its build, and the parameters by name.
func (d Description) differences(other Description) (names []string) {
	if d.Version != other.Version {
		names = append(names, fmt.Sprintf("version (was %s)", other.Version))
	}
	if d.Build != other.Build {
		names = append(names, fmt.Sprintf("build (was %s)", other.Build))
	}
	for _, p := range d.Params {
		if !slices.Contains(other.Params, p) {
			names = append(names, "parameter "+p.Name)
		}
	}
	return names
}

// described returns the description of the configured job, without objects.
func (c Config) described() Description {
	d := Description{Job: c.Job, Version: c.Version, Build: c.Build, Made: time.Now().Unix()}
	var params map[string]json.RawMessage
	_ = json.Unmarshal(c.Params, &params) // parameters in the stored form are an object
	for _, name := range slices.Sorted(maps.Keys(params)) {
		sum := engine.Digest(params[name])
		d.Params = append(d.Params, engine.InputObject{Name: name, Version: fmt.Sprintf("%x", sum[:8])})
	}
	return d
}

// Describe implements [engine.Describer].
func (p *Partials) Describe(objects iter.Seq[engine.InputObject]) {
	d := p.cfg.described()
	seen, size := map[string]bool{}, 0
	if objects == nil {
		p.described = &d
		return
	}
	d.Known = true
	for o := range objects {
		if seen[o.Name] {
			continue
		}
		seen[o.Name] = true
		d.Objects = append(d.Objects, o)
		if size += len(o.Name) + len(o.Version); len(d.Objects) > maxObjects || size > maxObjectBytes {
			d.Objects, d.Known = nil, false
			break
		}
	}
	p.described = &d
}

// Earlier returns the description of the family. If no job has described it, Earlier returns the most similar description of the
// job's other families, and what differs: the newest of those with the fewest differences. It returns false if there is
// none either.
func (p *Partials) Earlier(ctx context.Context) (found Description, differs []string, ok bool) {
	if own, err := p.description(ctx, descriptionKey(p.cfg.Family)); err == nil {
		return own, nil, true
	}
	keys, err := p.cfg.Blobs.List(ctx, families)
	if err != nil {
		p.fail(ctx, "list descriptions of kept partials", err)
	}
	list := make([]Description, len(keys))
	var group errgroup.Group
	group.SetLimit(readers)
	for i, key := range keys {
		group.Go(func() error {
			if one, err := p.description(ctx, key); err == nil {
				list[i] = one
			}
			return nil
		})
	}
	_ = group.Wait() // no function returns an error
	own := p.cfg.described()
	for _, one := range list {
		if one.Job != own.Job { // another job, or no description
			continue
		}
		if d := own.differences(one); !ok || cmp.Or(len(differs)-len(d), cmp.Compare(one.Made, found.Made)) > 0 {
			found, differs, ok = one, d, true
		}
	}
	return found, differs, ok
}

// description reads a description. A damaged one is like a missing one.
func (p *Partials) description(ctx context.Context, key string) (d Description, err error) {
	data, _, err := p.cfg.Blobs.Get(ctx, key)
	if err == nil {
		d, err = decodeDescription(data)
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		p.fail(ctx, "read description "+key, err)
	}
	return d, err
}

// writeDescription writes what Describe has collected. The description of the job that was planned last replaces those
// before.
func (p *Partials) writeDescription(ctx context.Context) {
	if p.described == nil {
		return
	}
	if _, err := p.cfg.Blobs.Put(ctx, descriptionKey(p.cfg.Family), p.described.encode(), store.Always); err != nil {
		p.fail(ctx, "describe what is kept", err)
	}
}

// removeDescriptions removes the old descriptions of families without packs. The parameter indexed has the names of the
// families with packs.
func (p *Partials) removeDescriptions(ctx context.Context, indexed map[string]bool) {
	keys, err := p.cfg.Blobs.List(ctx, families)
	if err != nil {
		p.fail(ctx, "list descriptions of kept partials", err)
		return
	}
	for _, key := range keys {
		if indexed[strings.TrimPrefix(key, families)] {
			continue
		}
		if d, err := p.description(ctx, key); err == nil && time.Since(time.Unix(d.Made, 0)) < p.cfg.Lifetime {
			continue
		}
		if err := p.cfg.Blobs.Delete(ctx, key); err != nil {
			p.fail(ctx, "remove description "+key, err)
		}
	}
}
