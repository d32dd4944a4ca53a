package bench

import (
	"bytes"
	"errors"
	"io"
	"os"

	"golang.org/x/sync/errgroup"
)

// handRow summarizes the temperatures of one station, in tenths of a degree.
type handRow struct {
	key      []byte
	count    int64
	sum      int64
	min, max int64
}

// handTable is a hash table with open addressing. The size of the table is fixed, because the
// number of stations is known.
type handTable [4 * 1024]handRow

// scanByHand reads a file whose lines are KEY;NUMBER, with one digit after the point and a number of
// other columns in between, and computes the minimum, mean and maximum by key. scanByHand does not
// check its input and works only for files of this form.
func scanByHand(name string, size int64, between, slots int) (map[string]measured, error) {
	tables := make([]handTable, slots)
	group := errgroup.Group{}
	for i := range slots {
		group.Go(func() error {
			return tables[i].read(name, size*int64(i)/int64(slots), size*int64(i+1)/int64(slots), between)
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return handResult(tables), nil
}

// scanTextByHand is like scanByHand for a text in memory.
func scanTextByHand(text []byte, between int) map[string]measured {
	tables := make([]handTable, 1)
	text = text[bytes.IndexByte(text, '\n')+1:]
	tables[0].lines(text, int64(len(text)), between)
	return handResult(tables)
}

func handResult(tables []handTable) map[string]measured {
	all := map[string]*handRow{}
	for i := range tables {
		for j := range tables[i] {
			row := &tables[i][j]
			if row.key == nil {
				continue
			}
			into := all[string(row.key)]
			if into == nil {
				all[string(row.key)] = row
				continue
			}
			into.count += row.count
			into.sum += row.sum
			into.min, into.max = min(into.min, row.min), max(into.max, row.max)
		}
	}
	result := map[string]measured{}
	for key, row := range all {
		result[key] = measured{float64(row.min) / 10, float64(row.sum) / float64(10*row.count), float64(row.max) / 10}
	}
	return result
}

// read adds the lines that begin in the range [from, to) of a file, except the header.
func (t *handTable) read(name string, from, to int64, between int) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	at := max(0, from-1) // a line begins at from if the byte before is a newline
	buffer, kept := make([]byte, 1<<20), 0
	skip := true // skips the rest of a line of the range before, or the header
	for at-int64(kept) < to {
		n, err := f.ReadAt(buffer[kept:], at)
		if n == 0 || err != nil && !errors.Is(err, io.EOF) {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		text, begin := buffer[:kept+n], at-int64(kept)
		at += int64(n)
		if skip {
			end := bytes.IndexByte(text, '\n') + 1
			text, begin, skip = text[end:], begin+int64(end), false
		}
		used := t.lines(text, to-begin, between)
		kept = copy(buffer, text[used:])
		if int64(used) >= to-begin {
			return nil
		}
	}
	return nil
}

// lines adds the complete lines that begin before limit, and returns the offset of the next line.
func (t *handTable) lines(text []byte, limit int64, between int) (used int) {
	for int64(used) < limit {
		line := text[used:]
		separator, h := 0, uint64(14695981039346656037)
		for ; separator < len(line) && line[separator] != ';'; separator++ {
			h = (h ^ uint64(line[separator])) * 1099511628211
		}
		i := separator + 1
		for range between {
			n := bytes.IndexByte(line[min(i, len(line)):], ';')
			if n < 0 {
				return used
			}
			i += n + 1
		}
		negative := i < len(line) && line[i] == '-'
		if negative {
			i++
		}
		number := int64(0)
		for ; i < len(line) && line[i] != '\n'; i++ {
			if c := line[i]; c != '.' {
				number = number*10 + int64(c-'0')
			}
		}
		if i >= len(line) {
			return used
		}
		if negative {
			number = -number
		}
		t.add(h, line[:separator], number)
		used += i + 1
	}
	return used
}

func (t *handTable) add(h uint64, key []byte, number int64) {
	for at := h % uint64(len(t)); ; at = (at + 1) % uint64(len(t)) {
		row := &t[at]
		switch {
		case row.key == nil:
			*row = handRow{bytes.Clone(key), 1, number, number, number}
			return
		case bytes.Equal(row.key, key):
			row.count++
			row.sum += number
			row.min, row.max = min(row.min, number), max(row.max, number)
			return
		}
	}
}
