package exec

import "slices"

// chunks collects data whose size is not known before, with less memory than a slice that grows.
type chunks struct {
	full [][]byte
	last []byte
	size int64 // number of bytes in all
}

const chunkSize = 1 << 20

func (c *chunks) Write(data []byte) (int, error) {
	if len(c.last) > 0 && len(c.last)+len(data) > chunkSize {
		c.full, c.last = append(c.full, c.last), make([]byte, 0, chunkSize)
	}
	c.last = append(c.last, data...)
	c.size += int64(len(data))
	return len(data), nil
}

// bytes returns the data. The caller must not use c again.
func (c *chunks) bytes() []byte {
	if len(c.full) == 0 {
		return c.last
	}
	return slices.Concat(append(c.full, c.last)...)
}
