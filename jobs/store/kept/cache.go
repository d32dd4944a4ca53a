package kept

import (
	"slices"
	"sync"
)

// cacheBytes is the size of the packs in memory, without the packs that are being read. Neighbouring partials
// are in one pack, so the slots of a process need few packs at a time.
const cacheBytes = 32 << 20

// cache has the packs that were used last.
type cache struct {
	mu    sync.Mutex
	list  []*cached // the pack that was used last is the last
	bytes int
}

// cached is a pack in memory, or one that is being read.
type cached struct {
	id   string
	once sync.Once
	data []byte
	err  error
}

// get returns a pack. If several goroutines need the same pack, one of them reads it.
func (c *cache) get(id string, read func() ([]byte, error)) ([]byte, error) {
	c.mu.Lock()
	i := slices.IndexFunc(c.list, func(one *cached) bool { return one.id == id })
	var one *cached
	if i >= 0 {
		one = c.list[i]
		c.list = append(slices.Delete(c.list, i, i+1), one)
	} else {
		one = &cached{id: id}
		c.list = append(c.list, one)
	}
	c.mu.Unlock()
	one.once.Do(func() {
		one.data, one.err = read()
		c.note(one)
	})
	return one.data, one.err
}

// note counts a pack that was read, and drops others if the packs take too much memory. A pack with an error
// is dropped.
func (c *cache) note(one *cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if one.err != nil {
		c.list = slices.DeleteFunc(c.list, func(other *cached) bool { return other == one })
		return
	}
	c.bytes += len(one.data)
	for i := 0; i < len(c.list) && c.bytes > cacheBytes; {
		if old := c.list[i]; old != one && old.data != nil {
			c.bytes -= len(old.data)
			c.list = slices.Delete(c.list, i, i+1)
			continue
		}
		i++
	}
}
