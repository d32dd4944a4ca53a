package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
)

// rowsFile is a CSV file with columns x1, x2, …, and its numbers, one row after the other.
type rowsFile struct {
	name    string
	numbers []float64
}

// write writes a file whose numbers have three decimals. Each run writes the same rows.
func (c RoundsConfig) write(ctx context.Context, name string, rows, columns int, fill func(row []float64, random *rand.Rand)) (f rowsFile, err error) {
	f.name = filepath.Join(c.Dir, name)
	file, err := os.OpenFile(f.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return rowsFile{}, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	w := bufio.NewWriterSize(file, 1<<20)
	var line []byte
	for j := range columns {
		line = fmt.Appendf(line, "x%d,", j+1)
	}
	line[len(line)-1] = '\n'
	random := rand.New(rand.NewPCG(1, 2))
	f.numbers = make([]float64, rows*columns)
	for i := range rows {
		if _, err := w.Write(line); err != nil {
			return f, err
		}
		if i%(1<<16) == 0 {
			if ctx.Err() != nil {
				return f, context.Cause(ctx)
			}
			c.Progress("writing "+name, uint64(i), uint64(rows))
		}
		row := f.numbers[i*columns:][:columns]
		fill(row, random)
		line = line[:0]
		for j, x := range row {
			row[j] = math.Round(1000*x) / 1000
			line = append(strconv.AppendFloat(line, row[j], 'f', 3, 64), ',')
		}
		line[len(line)-1] = '\n'
	}
	if _, err := w.Write(line); err != nil {
		return f, err
	}
	return f, w.Flush()
}

// remove removes a file, if there is one.
func remove(name string) error {
	if err := os.Remove(name); name != "" && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
