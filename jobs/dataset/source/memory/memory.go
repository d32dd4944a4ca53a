// Package memory is a driver that keeps objects in memory, for tests. Names begin with mem://.
package memory

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
)

// Driver is a driver that keeps objects in memory. The zero Driver is empty.
type Driver struct {
	mu      sync.Mutex
	version int
	objects map[string]object
}

type object struct {
	content []byte
	tag     string
}

var (
	_ source.Driver   = (*Driver)(nil)
	_ source.Creator  = (*Driver)(nil)
	_ source.Remover  = (*Driver)(nil)
	_ source.Replacer = (*Driver)(nil)
)

// Put writes or replaces an object. The caller must not change content afterwards.
func (d *Driver) Put(name string, content []byte) source.Object {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.put(name, content)
}

func (d *Driver) put(name string, content []byte) source.Object {
	if d.objects == nil {
		d.objects = map[string]object{}
	}
	d.version++
	o := object{content, strconv.Itoa(d.version)}
	d.objects[name] = o
	return source.Object{Name: name, Size: int64(len(content)), Tag: o.tag}
}

// List implements source.Lister.
func (d *Driver) List(ctx context.Context, pattern string) iter.Seq2[source.Object, error] {
	d.mu.Lock()
	objects := maps.Clone(d.objects)
	d.mu.Unlock()
	return func(yield func(source.Object, error) bool) {
		found := false
		for _, name := range slices.Sorted(maps.Keys(objects)) {
			ok := name == pattern
			if source.IsGlob(pattern) || strings.HasSuffix(pattern, "/") {
				var err error
				if ok, err = source.Match(pattern, name); err != nil {
					yield(source.Object{}, err)
					return
				}
			}
			found = found || ok
			o := objects[name]
			if ok && (ctx.Err() != nil || !yield(source.Object{Name: name, Size: int64(len(o.content)), Tag: o.tag}, nil)) {
				break
			}
		}
		switch {
		case ctx.Err() != nil:
			yield(source.Object{}, ctx.Err())
		case !found && !source.IsGlob(pattern) && !strings.HasSuffix(pattern, "/"):
			yield(source.Object{}, fmt.Errorf("%s: %w", pattern, source.ErrNotFound))
		}
	}
}

// Read implements source.Reader.
func (d *Driver) Read(_ context.Context, o source.Object, from, to int64) (io.ReadCloser, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	have, ok := d.objects[o.Name]
	switch {
	case !ok:
		return nil, fmt.Errorf("%s: %w", o.Name, source.ErrNotFound)
	case have.tag != o.Tag:
		return nil, fmt.Errorf("%s: %w", o.Name, source.ErrChanged)
	}
	return io.NopCloser(bytes.NewReader(have.content[from:to])), nil
}

// Create implements source.Creator.
func (d *Driver) Create(_ context.Context, name string, content []byte) (source.Object, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, exists := d.objects[name]; exists {
		return source.Object{}, fmt.Errorf("%s: %w", name, source.ErrExists)
	}
	return d.put(name, bytes.Clone(content)), nil
}

// Replace implements source.Replacer.
func (d *Driver) Replace(_ context.Context, o source.Object, content []byte) (source.Object, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	have, ok := d.objects[o.Name]
	switch {
	case !ok:
		return source.Object{}, fmt.Errorf("%s: %w", o.Name, source.ErrNotFound)
	case have.tag != o.Tag:
		return source.Object{}, fmt.Errorf("%s: %w", o.Name, source.ErrChanged)
	}
	return d.put(o.Name, bytes.Clone(content)), nil
}

// Delete deletes an object. If the object does not exist, Delete does nothing.
func (d *Driver) Delete(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.objects, name)
}

// Remove implements source.Remover.
func (d *Driver) Remove(_ context.Context, name string) error {
	d.Delete(name)
	return nil
}
