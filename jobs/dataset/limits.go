package dataset

import (
	"errors"
	"fmt"
)

// The following limits are for objects that need much more memory or time than their size suggests, such
// as an object of one megabyte that is decompressed to a line of a gigabyte.
const (
	// maxColumns is the maximum number of columns of an object. Each partial contains the names.
	maxColumns = 100_000
	// maxRecord is the maximum size in bytes of a record. A slot needs several times this size in memory.
	maxRecord = 64 << 20
	// maxWindow is the maximum size in bytes of the window of zstd, which a decoder keeps in memory. The
	// program zstd has the same limit unless it is called with --long or --ultra.
	maxWindow = 128 << 20
	// The content of a compressed object has at most maxExpanded bytes, and maxZstdRatio for each stored
	// byte. The format of gzip has a limit of about 1000.
	maxExpanded  = 1 << 30
	maxZstdRatio = 2000
)

// errLong is the error for a record that is too large. It always fails the job, because the rest of the
// record is not read.
var errLong = fmt.Errorf("the record has more than %d bytes, which is the limit: divide it, or check the parameters format and quote", maxRecord)

var (
	errWindow   = fmt.Errorf("the window of zstd is larger than %d bytes, which is the limit: compress the object with another option, such as --long=27", maxWindow)
	errExpanded = fmt.Errorf("the content is more than %d bytes and %d times the compressed size, which is the limit: decompress the object", maxExpanded, maxZstdRatio)
)

// errStopped ends a reading whose context has ended.
var errStopped = errors.New("the computation was stopped")

// checkColumns returns an error if there are too many columns.
func checkColumns(columns []string) error {
	if len(columns) > maxColumns {
		return fmt.Errorf("there are %d columns: want at most %d, as in several objects or in rows of a name and a value", len(columns), maxColumns)
	}
	return nil
}
