// Package manykeys has the files of benchmarks that compute the count and the sum for each of many keys.
package manykeys

import (
	"bufio"
	"errors"
	"hash/fnv"
	"os"
	"path/filepath"
	"strconv"
)

// Write writes a CSV file with the columns key and n, in which each key is in one row, in mixed order. It returns the size of
// the file in bytes.
func Write(name string, keys uint64) (size int64, err error) {
	f, err := os.Create(name)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriterSize(f, 1<<20)
	line := []byte("key,n\n")
	for i := uint64(0); ; i++ {
		size += int64(len(line))
		if _, err := w.Write(line); err != nil {
			return size, err
		}
		if i == keys {
			return size, w.Flush()
		}
		const prime = 1_000_000_007
		line = strconv.AppendUint(line[:0], i*prime%keys, 10)
		line = append(strconv.AppendUint(append(line, ','), i%1000, 10), '\n')
	}
}

// Lines describes lines in any order.
type Lines struct {
	Count uint64
	Sum   uint64 // sum of the lines' hashes
}

// header is the first line of each file with results.
const header = "key,count,sum(n)"

// Read describes the lines of a CSV file with results, or of all CSV files in a folder, without their first lines.
func Read(name string) (l Lines, err error) {
	files := []string{name}
	if info, err := os.Stat(name); err != nil {
		return l, err
	} else if info.IsDir() {
		if files, err = filepath.Glob(filepath.Join(name, "*.csv")); err != nil {
			return l, err
		}
	}
	first := hash([]byte(header))
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			return l, err
		}
		scanner := bufio.NewScanner(f)
		for scanner.Scan() {
			l.Count++
			l.Sum += hash(scanner.Bytes())
		}
		l.Count--
		l.Sum -= first
		if err := errors.Join(scanner.Err(), f.Close()); err != nil {
			return l, err
		}
	}
	return l, nil
}

func hash(line []byte) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(line) // never fails
	return h.Sum64()
}
