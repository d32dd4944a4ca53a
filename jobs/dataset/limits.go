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
)

// errLong is the error for a record that is too large. It always fails the job, because the rest of the
// record is not read.
var errLong = fmt.Errorf("the record has more than %d bytes, which is the limit: divide it, or check the parameters format and quote", maxRecord)

// errStopped ends a reading whose context has ended.
var errStopped = errors.New("the computation was stopped")

// checkColumns returns an error if there are too many columns.
func checkColumns(columns []string) error {
	if len(columns) > maxColumns {
		return fmt.Errorf("there are %d columns: want at most %d, as in several objects or in rows of a name and a value", len(columns), maxColumns)
	}
	return nil
}
